"""Lemmas of verbs, made on demand.

The pipeline's lemmatizer needs coarse tags from its attribute ruler, and the
two are a fifth of the cost of a message. Claims need the lemmas of a few verbs
only; so the lemmatizer's own tables are read, and its rules applied, here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from spacy.language import Language
from spacy.tokens import Token

_CONTRACTED = {
    "'m": "be", "\u2019m": "be", "m": "be", "am": "be", "is": "be", "are": "be", "was": "be", "were": "be",
    "been": "be",
    "'re": "be", "\u2019re": "be", "'ve": "have", "\u2019ve": "have", "'ll": "will", "\u2019ll": "will",
    "ll": "will", "wo": "will",
    "ca": "can", "sha": "shall", "does": "do", "did": "do", "has": "have", "had": "have", "'": "will",
}  # fmt: skip
_BARE = {"have", "'ve", "\u2019ve", "be"}


class Lemmas:
    """Verb lemmas by the tables of spaCy's rule lemmatizer (exceptions, index, suffix rules)."""

    def __init__(self, nlp: Language) -> None:
        lookups = nlp.get_pipe("lemmatizer").lookups  # type: ignore[attr-defined]
        self._exceptions: dict[str, Any] = lookups.get_table("lemma_exc").get("verb", {})
        self._index = frozenset(lookups.get_table("lemma_index").get("verb", ()))
        self._rules: list[tuple[str, str]] = [tuple(rule) for rule in lookups.get_table("lemma_rules").get("verb", ())]
        self._by_rule = lru_cache(maxsize=10_000)(self._look_up)

    def of(self, token: Token) -> str:
        """The lemma of a verb, in lower case. 's and 'd are told apart by what follows, as in "I'd (have) moved"."""
        word = token.lower_
        if word in {"'s", "\u2019s", "s"}:
            return "have" if token.dep_ == "aux" and token.head.tag_ == "VBN" else "be"
        if word in {"'d", "\u2019d", "d"}:
            done = token.head.tag_ == "VBN" and not any(
                child.lower_ in _BARE and child.dep_ in {"aux", "auxpass"} for child in token.head.children
            )
            return "have" if done else "would"
        if word in _CONTRACTED:
            return _CONTRACTED[word]
        if token.tag_ in {"VB", "VBP", "MD"}:
            return word
        return self._by_rule(word)

    def _look_up(self, word: str) -> str:
        if word in self._exceptions:
            return str(self._exceptions[word][0])
        made = [
            word[: len(word) - len(old)] + new
            for old, new in self._rules
            if word.endswith(old) and len(word) > len(old)
        ]
        return next((form for form in made if form in self._index), word)
