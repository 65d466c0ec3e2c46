"""The terms of a query: those that say what is asked, without those that only ask."""

from __future__ import annotations

import re
from collections.abc import Sequence

from seedbed_server.projections import analysis

# English function words. They are dropped from queries only: messages are indexed whole, and a query of nothing else
# keeps them all.
_FUNCTION_WORDS = (
    "a an and are as at be been being but by did do does doing for from had has have having he her hers him his how i "
    "if in into is it its me my of on or our she so some such than that the their them then there these they this "
    "those to too us was we were what when where which who whom why will with would you your about can could just "
    "not no am any also because should now currently"
)
STOPPED = frozenset(analysis.terms(_FUNCTION_WORDS))
# Japanese writes particles, endings and asking words in hiragana, and most of what they are about in other scripts.
_HIRAGANA = re.compile(r"[\u3041-\u309f\u30fc]{2}")
_HAS_HIRAGANA = re.compile(r"[\u3041-\u309f]")


def query_terms(query: str) -> list[str]:
    """Return the terms to look for, each once, in the order of the query; none for blanks and punctuation."""
    every = list(dict.fromkeys(analysis.terms(query)))
    return [term for term in every if term not in STOPPED and not _HIRAGANA.fullmatch(term)] or every


def is_unspaced(terms: Sequence[str]) -> bool:
    """True when at least half of the terms are of scripts without spaces: an English encoder knows nothing of these."""
    return 2 * sum(map(analysis.is_unspaced, terms)) >= len(terms) > 0


def without_hiragana(terms: Sequence[str]) -> Sequence[str]:
    """Return the terms that hold none, which stand for what is asked about; all of them if there are no others."""
    return [term for term in terms if not _HAS_HIRAGANA.search(term)] or terms
