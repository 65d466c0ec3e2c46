"""How a parse is read where it can be told that the parser went astray, or that words are nobody's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Doc, Token

from .lexicon import is_word
from .relations import holder_of
from .vocabulary import relation

LONGEST_CHAIN = 4
"""Nouns of the longest chain of owners that is followed: "my sister's husband's boss"."""


_QUOTE = re.compile("[\"“”«»]|``|''")
_TOLD = re.compile(
    r"(?<!\bI )(?<!\b[Ww]e )\b(?:said|says|wrote|texted|told (?:me|us))(?: to (?:me|us))?: ", re.IGNORECASE
)


def is_vocative(token: Token) -> bool:
    """Whether a name is called, not spoken of: "thanks, Elena!"."""
    doc = token.doc
    first, last = token.i, token.i
    while first > 0 and doc[first - 1].dep_ == "compound" and doc[first - 1].head == token:
        first -= 1
    before = doc[first - 1].text if first > 0 else ""
    after = doc[last + 1].text if last + 1 < len(doc) else "."
    if token.dep_ in {"appos", "conj"}:
        return False
    return (before == "," and after in {".", "!", "?", ",", "…", "..."} and not token.conjuncts) or (
        token.dep_ in {"npadvmod", "intj", "vocative"}
    )


def acts_next(noun: Token) -> Token | None:
    """The verb right behind a joined noun that has no other subject: "I have a dog and my mother HAS a cat"."""
    if noun.i + 1 >= len(noun.doc) or noun.dep_ != "conj":
        return None
    verb = noun.doc[noun.i + 1]
    if verb.tag_ not in {"VBZ", "VBP", "VBD"} or verb.dep_ != "conj":
        return None
    return None if any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children) else verb


def is_short_chain(noun: Token) -> bool:
    """Whether few stand between a thing and its last owner: who gets lost on the way is nobody we know."""
    for _ in range(LONGEST_CHAIN):
        holder = holder_of(noun)
        if holder is None:
            return True
        noun = holder
    return False


def stands_before(word: Token) -> bool:
    """Whether the first word of a name is none of it: "cat" Mirci, "Tell" Mia."""
    if word.is_lower:
        return relation(word.text) is not None
    return bool(word.is_sent_start) and word.tag_ in {"VB", "VBP"} and is_word(word)


def is_joined(child: Token) -> bool:
    """Whether what was parsed as a modifier is the first of two that "and" joins."""
    if child.dep_ not in {"nmod", "amod"} or not child.tag_.startswith("NN"):
        return False
    return bool(child.conjuncts) or any(each.dep_ == "cc" for each in child.children)


def parts_of(noun: Token) -> Iterator[Token]:
    """What there is some of: "French" of "a bit of French"."""
    for prep in noun.children:
        if prep.dep_ == "prep" and prep.lower_ == "of":
            yield from (child for child in prep.children if child.dep_ == "pobj")


def each_of(token: Token) -> Iterator[Token]:
    """A noun and what is joined to it by "and" or "or", without verbs."""
    for child in token.lefts:
        # "bouldering and crime novels", parsed as the modifier of the novels
        if is_joined(child):
            yield child
            if child.tag_ == "NNP" and token.tag_ == "NN" and child.conjuncts:
                return  # "in Rome and fishes cod": what the rest is cannot be told
    yield token
    for child in token.children:
        joined = child.dep_ == "conj" and not child.tag_.startswith("VB") and child.tag_ not in {"RB", "IN"}
        if joined and acts_next(child) is None:
            yield from each_of(child)


def quoted_tokens(doc: Doc, text: str) -> frozenset[int]:
    """The tokens between double quotation marks, or behind "Tom said:": their "I" is somebody else."""
    told = _TOLD.search(text)
    inside = {token.i for token in doc if told is not None and token.idx >= told.end()}
    if not _QUOTE.search(text):
        return frozenset(inside)
    opened: int | None = None
    for token in doc:
        if token.text not in {'"', "“", "”", "``", "''", "«", "»"}:
            continue
        if opened is None:
            opened = token.i
        else:
            inside.update(range(opened, token.i))
            opened = None
    return frozenset(inside)
