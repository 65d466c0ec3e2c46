"""Who is whose: "my sister Elena", "Elena is my sister", "a dog named Biscuit".

A relation names people (and pets) that a tagger overlooks, and it is a claim of
its own; so it is read before both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from .lexicon import is_word
from .vocabulary import NOT_NAMES, PETS, SOMEBODY, relation, singular

_TITLES = {"mr", "mr.", "mrs", "mrs.", "ms", "ms.", "dr", "dr."}
_NAMING = {"named", "called"}
_LIVING = {"live", "lives", "living"}
_HAVING = {"have", "has", "had", "got", "get", "adopted", "bought", "'ve"}


@dataclass(frozen=True, slots=True)
class Relation:
    """``name`` (a proper noun) is the ``predicate`` of ``holder``.

    ``holder`` is the possessor's token ("my", "Elena"), or the subject of the
    having, or the noun itself where "I have" is left out; ``noun`` the word that says the relation.
    """

    holder: Token
    predicate: str
    name: Token
    noun: Token
    type: str
    negated: bool = False


def relations(doc: Doc) -> list[Relation]:
    """All relations of a text, in order; each name once per holder and predicate."""
    found: dict[tuple[int, str, int], Relation] = {}
    for token in doc:
        described = token.tag_.startswith("JJ") and token.dep_ in {"amod", "compound"}  # "my flatmate Ivo"
        predicate = relation(token.text) if described or token.tag_.startswith("NN") else None
        if predicate is None:
            continue
        kind = "other" if token.lower_ in PETS else "person"
        for holder, name, negated in _readings(token):
            key = (holder.i, predicate, name.i)
            found.setdefault(key, Relation(holder, singular(predicate), name, token, kind, negated))
    return list(found.values())


def _readings(noun: Token) -> Iterator[tuple[Token, Token, bool]]:
    """(holder, name, negated) of every way in which a noun joins a name."""
    head = noun.head
    holder = holder_of(noun)
    if noun.dep_ in {"compound", "amod"} and is_name(head) and head.i > noun.i:
        if (owner := holder or holder_of(head)) is not None:
            yield owner, head, False  # "my sister Elena", parsed as one name
        return
    owner = holder or _haver(noun)
    if owner is None:
        return
    if holder is not None and (name := _following(noun) or _leading(noun)) is not None:
        yield owner, name, False
    yield from ((owner, name, False) for name in _named_after(noun))
    yield from ((owner, name, False) for name in _beside(noun))
    if holder is not None and noun.dep_ == "appos" and is_name(head):
        yield holder, head, False
    elif holder is not None:
        yield from _equated(noun, holder)


def _following(noun: Token) -> Token | None:
    """The last token of a name right behind a noun, or between commas: "my boss, Mr. Li, ..."; parses often miss it."""
    doc, at = noun.doc, noun.i + 1
    enclosed = at < len(doc) and doc[at].text == ","
    first = at = at + enclosed
    while at < len(doc) and (is_name(doc[at]) or doc[at].lower_ in _TITLES):
        at += 1
    if at == first or (at < len(doc) and doc[at].lower_ in {"'s", "and", "or"}):
        return None
    if enclosed and (at == len(doc) or doc[at].text != "," or doc[at + 1 :][:1].text.lower() in {"and", "or"}):
        return None
    return doc[at - 1]


def _leading(noun: Token) -> Token | None:
    """The name before a noun between commas, which opens its sentence: "Sophie, my girlfriend, ..."."""
    doc, first, last = noun.doc, noun.left_edge.i, noun.i + 1
    if first < 2 or last >= len(doc) or doc[first - 1].text != "," or doc[last].text != ",":
        return None
    name = doc[first - 2]
    while name.i > 0 and doc[name.i - 1].head == name:
        if not is_name(doc[name.i - 1]):
            return None
        name = doc[name.i - 1]
    return doc[first - 2] if name.is_sent_start and is_name(doc[first - 2]) else None


def _beside(noun: Token) -> Iterator[Token]:
    """As in "my sister Elena", "three kids: Ann, Ben and Cleo": the names."""
    for child in noun.children:
        if child.dep_ == "appos" and is_name(child):
            yield from _listed(child)


def _listed(name: Token) -> Iterator[Token]:
    """A name and those that follow it in a list."""
    yield name
    for child in name.children:
        if child.dep_ in {"appos", "conj"} and child.i > name.i and is_name(child):
            yield from _listed(child)


def _equated(noun: Token, holder: Token) -> Iterator[tuple[Token, Token, bool]]:
    """As in "Elena is my sister", "my sister is Elena", "my sister's name is Elena"."""
    subject = noun
    if noun.dep_ == "poss" and noun.head.lower_ == "name":
        subject = noun.head
    verb = subject.head
    if verb.lower_ not in {"is", "'s", "\u2019s", "was", "be", "are", "were", "called"}:
        return
    negated = any(child.dep_ == "neg" for child in verb.children)
    if subject.dep_ in {"nsubj", "nsubjpass"}:
        others = [child for child in verb.children if child.dep_ in {"attr", "oprd"} and child.i > subject.i]
    elif subject.dep_ == "attr" and subject is noun:
        others = [child for child in verb.children if child.dep_ == "nsubj"]
    else:
        return
    for other in others:
        if _asked(verb):
            continue
        if is_name(other):
            yield from ((holder, name, negated) for name in _listed(other))
        elif other.lower_ in SOMEBODY:
            yield from ((holder, name, negated) for name in _named_after(other))
        elif relation(other.text) is not None:  # "my sister Ana is Tom's boss"
            yield from ((holder, name, negated) for name in _beside(other))


def _named_after(noun: Token) -> Iterator[Token]:
    """As in "a dog named Biscuit" and "dogs called Max and Rex": the names."""
    for child in noun.children:
        if child.lower_ in _NAMING and child.dep_ in {"acl", "relcl"}:
            for name in child.children:
                if name.dep_ in {"oprd", "dobj", "attr"} and is_name(name):
                    yield from _listed(name)


def _haver(noun: Token) -> Token | None:
    """The subject of "have a NOUN"."""
    while noun.dep_ == "conj":
        noun = noun.head
    verb = noun.head
    if noun.dep_ == "ROOT":
        return noun if _is_fragment(noun) else None
    if noun.dep_ == "pobj" and verb.lower_ == "with" and verb.head.lower_ in _LIVING and not _asked(verb):
        return next((child for child in verb.head.children if child.dep_ == "nsubj"), None)
    if noun.dep_ != "dobj" or verb.lower_ not in _HAVING or _asked(verb):
        return None
    return next((child for child in verb.children if child.dep_ == "nsubj"), None)


def _is_fragment(noun: Token) -> bool:
    """Whether a noun is all that its sentence says somebody has: "and a cat called Pickle"."""
    if _asked(noun) or not any(child.lower_ in {"a", "an"} for child in noun.lefts):
        return False
    return all(token.tag_ in {"CC", "UH", ",", "DT", "JJ"} for token in noun.sent if token.i < noun.i)


def _asked(verb: Token) -> bool:
    return verb.sent[-1].text == "?"


def holder_of(noun: Token) -> Token | None:
    """The possessor of a noun: the token of "my" or of "Elena" in "Elena's"."""
    return next((child for child in noun.children if child.dep_ == "poss"), None)


def is_name(token: Token) -> bool:
    """A proper noun that is written as a name and is no interjection."""
    return (
        (token.tag_ in {"NNP", "NNPS"} or (token.tag_ in {"NN", "NNS"} and not is_word(token)))
        and token.text[:1].isupper()
        and token.lower_ not in NOT_NAMES
        and relation(token.text) is None
    )
