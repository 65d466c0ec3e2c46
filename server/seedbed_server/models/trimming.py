"""From a recognised span to the name in it, and whether it is one at all.

What recognisers take in besides a name: articles, possessives, greetings, symbols.
"""

from __future__ import annotations

import re

from spacy.tokens import Doc, Token

from .vocabulary import NOT_NAMES, relation

LONGEST = 8
"""Tokens of the longest name that is believed; works have the longest titles."""

# Tags of words that no name begins or ends with.
_EDGE_TAGS = {
    "DT", "PDT", "PRP", "PRP$", "WP", "WP$", "WDT", "WRB", "IN", "TO", "CC", "UH", "POS", "MD", "EX", "RP",
    ".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "SYM", "NFP", "_SP", "#", "$", "ADD",
}  # fmt: skip
_PRONOUN_TAGS = {"PRP", "PRP$", "WP", "WP$", "EX"}
_NO_NOUNS = {"VB", "UH", "RB", "JJ"}
_ARTICLES = {"the", "a", "an", "my", "your", "his", "her", "our", "their", "its", "this", "that", "these", "those"}
_DRAWN_OUT = re.compile(r"([^\W\d_])\1\1")  # "Sooo"
_NAMELIKE = re.compile(r"[^\W\d_]")


def trim_date(doc: Doc, start: int, end: int) -> tuple[int, int] | None:
    """The first and last token of a date, without what is neither letter nor digit; None if nothing is left."""
    while start < end and not any(map(str.isalnum, doc[start].text)):
        start += 1
    while start < end and not any(map(str.isalnum, doc[end - 1].text)):
        end -= 1
    return (start, end - 1) if start < end else None


def trim(doc: Doc, start: int, end: int) -> tuple[int, int] | None:
    """The first and last token of the name in a span: no greeting, article, possessive, symbol at its ends."""
    for i in range(start, end):
        if doc[i].tag_ == "_SP" or doc[i].text in {",", ";", "!", "?", '"', "\n"}:
            # Two things in one span: the first that has a letter is the name.
            if i > start and any(_NAMELIKE.search(doc[j].text) for j in range(start, i)):
                end = i
                break
            start = i + 1
    while start < end and _is_edge(doc[start]):
        start += 1
    while start < end and (_is_edge(doc[end - 1]) or doc[end - 1].lower_ in {"'s", "\u2019s", "s'"}):
        end -= 1
    return (start, end - 1) if start < end else None


def _is_edge(token: Token) -> bool:
    word = token.lower_
    if word in _ARTICLES or word in NOT_NAMES or not any(map(str.isalnum, word)):
        return True
    return token.tag_ in _EDGE_TAGS and not token.text[:1].isupper()


def is_believable(doc: Doc, first: int, last: int) -> bool:
    """Whether trimmed tokens may be a name: no greeting, pronoun, relative, or word with a capital by its place."""
    tokens = doc[first : last + 1]
    text = tokens.text
    folded = text.casefold().strip("'\u2019")
    if last - first >= LONGEST or len(text) < 2 or not _NAMELIKE.search(text) or _DRAWN_OUT.search(folded):
        return False
    if folded in NOT_NAMES or relation(folded) is not None or all(token.tag_ in _PRONOUN_TAGS for token in tokens):
        return False
    if sum(map(str.isdigit, text)) > sum(map(str.isalpha, text)):
        return False  # the number of an order
    begins = tokens[0]
    # "Love your hair": a capital because a sentence begins.
    by_place = begins.tag_ == "VBG" or (first == last and begins.tag_[:2] in _NO_NOUNS)
    return not (begins.is_sent_start and by_place)
