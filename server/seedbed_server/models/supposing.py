"""Words that may be a name, though nothing in their message says so: "ask bill", in lower case.

Whether they are depends on whom the memory knows, and a message is read without
it. So such words are handed on beside what is sure, with what the message says if
they are names; the projection counts them where it knows somebody so called.

A word that no dictionary knows needs no more than the place of a noun without an
article. One that it knows ("will", "mark", "rose", "hope") must stand where only people do: as the
subject of what people do, as the one who is asked or told, or the tagger must take
it for a name by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from spacy.tokens import Doc, Token

from .entities import Name, Names
from .lexicon import is_word
from .vocabulary import NOT_NAMES, TIME_NOUNS, relation

SHORTEST = 2
"""Letters of the shortest word that may be a name."""

LIMIT = 20
"""Words of one piece that are handed on."""

_MONTHS = {"april", "june", "may"}
_STOPPED = {"will", "may"}
"""Months and stop words that are given as names."""

_ACTING = {"nsubj", "nsubjpass", "poss"}
_PLACES = {"nsubj", "nsubjpass", "dobj", "pobj", "poss", "conj", "appos", "dative", "attr"}

# What only people do: the word before one of these, and behind none but `_OPENING`, is somebody.
_DOING = {
    "called", "calls", "said", "says", "told", "tells", "asked", "asks", "texted", "texts", "phoned", "emailed",
    "messaged", "replied", "lives", "lived", "works", "worked", "moved", "moves", "thinks", "wants", "wanted", "knows",
    "loves", "loved", "likes", "liked", "hates", "hated", "married", "visited", "visits", "cooked", "invited",
    "adopted", "bought", "studies", "teaches", "plays", "speaks", "met",
}  # fmt: skip
_OPENING = {"CC", "IN", ",", ".", ":", "UH", "VBP", "VBZ", "VBD", "RB", "WRB", "_SP", "-LRB-"}

# Whom one of these leads to is somebody, unless it leads to a noun behind the word: "called bill collectors".
_ADDRESSING = {
    "ask", "asks", "asked", "asking", "tell", "tells", "told", "telling", "call", "calls", "called", "calling", "text",
    "texted", "phone", "phoned", "email", "emailed", "message", "messaged", "meet", "met", "meeting", "marry",
    "married", "marrying", "invite", "invited", "thank", "thanked", "dating",
}  # fmt: skip
_TALKING = {
    "to": {"talk", "talked", "talking", "spoke", "speak", "speaking", "married", "engaged", "listened"},
    "with": {"lunch", "dinner", "breakfast", "brunch", "coffee", "drinks", "chatted", "chatting", "dancing"},
    "from": {"heard", "hear"},
}
_GOES_ON = ("NN", "CD", "VB", "PRP", "JJ", "DT")
"""Tags behind a word that is the first of a phrase, or an auxiliary, rather than somebody who is addressed."""

_TAGS = {"NN", "NNP", "MD", "VB", "VBD", "VBP", "JJ"}
_DESCRIBING = {"det", "amod", "poss", "nummod", "compound", "predet"}


def supposed(doc: Doc, names: Names) -> list[Name]:
    """The single words of a doc that may be names beside ``names``, in order; their type is "other"."""
    may_be = (token for token in doc if token.is_lower and names.at(token) is None and _may_name(token))
    return [Name(token.i, token.i, "other") for token in islice(may_be, LIMIT)]


def acts(doc: Doc, name: Name) -> bool:
    """Whether a supposed name is in a place where no claim is read of a word that is none: it acts, or owns."""
    token = doc[name.first]
    return token.dep_ in _ACTING or not token.tag_.startswith("NN")


def capitalised(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text as it is read once more: with a capital at the start of each span, and as long as before."""
    for start, _ in spans:
        text = text[:start] + text[start].upper() + text[start + 1 :]
    return text


def _may_name(token: Token) -> bool:
    word = token.text
    if (
        len(word) < SHORTEST
        or not word.isalpha()
        or len(word[0].upper()) != 1
        or token.tag_ not in _TAGS
        or word in NOT_NAMES
    ):
        return False
    if token.i > 0 and token.nbor(-1).text in {"@", "#"}:
        return False
    if not is_word(token):
        return token.tag_ in {"NN", "NNP"} and token.dep_ in _PLACES and _is_bare(token)
    if relation(word) is not None or (word in TIME_NOUNS and word not in _MONTHS):
        return False
    if token.is_stop and word not in _STOPPED:
        return False
    return (token.tag_ == "NNP" and _is_bare(token)) or any(_evidence(token))


def _is_bare(noun: Token) -> bool:
    return not any(child.dep_ in _DESCRIBING for child in noun.lefts)


def _evidence(token: Token) -> Iterator[bool]:
    """Whether a word of the dictionary stands where only people do."""
    doc, at = token.doc, token.i
    behind = doc[at + 1] if at + 1 < len(doc) else None
    # No auxiliary stands before "called", so "will called" is somebody wherever it stands.
    opens = at == 0 or doc[at - 1].tag_ in _OPENING or token.tag_ == "MD"
    yield behind is not None and behind.text in _DOING and opens
    alone = behind is None or not behind.tag_.startswith(_GOES_ON)
    yield at > 0 and alone and doc[at - 1].lower_ in _ADDRESSING and doc[at - 1].tag_.startswith("VB")
    yield at > 1 and alone and doc[at - 2].lower_ in _TALKING.get(doc[at - 1].text, ())
