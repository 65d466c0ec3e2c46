"""What somebody is: a calling, a lasting quality, where one is, belongs or comes from."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Token

from .clauses import Clause, Said, canonical, hanging, is_none, objects_of
from .phrases import Node
from .predicates import MUTUAL_STATES
from .relations import holder_of, is_name
from .stance import is_nearly
from .trees import each_of
from .vocabulary import BECOMING, DISPOSITIONS, DWELLINGS, INSTITUTIONS, LASTING, PRAISE, WHEREABOUTS, relation

_NEWLY = {"now", "officially", "legally"}
"""Adverbs of a new name: "I'm Priya Clarke now". One is "basically" or "practically" somebody else."""

_BECOME = {"be", *MUTUAL_STATES.values()}


def copula(clause: Clause) -> Iterator[Said]:
    """What somebody is: "is a nurse", "is vegan", "is allergic to nuts", "is from Rome"."""
    for child in clause.verb.children:
        if child.dep_ == "attr" and not child.tag_.startswith("JJ"):
            for each in each_of(child):
                yield from _attribute(clause, each)
        elif child.dep_ in {"acomp", "attr"}:
            for each in each_of(child):
                yield from _quality(clause, each)
        elif child.dep_ == "prep" and child.lower_ in WHEREABOUTS:
            for noun in objects_of(child):
                node = clause.thing(noun)
                if node is not None and _is_whereabouts(
                    child.lower_, noun, node, clause.subject, negated=clause.stance.negated
                ):
                    employed = child.lower_ == "at" and _is_employer(clause, noun, node)
                    yield Said("work at" if employed else canonical(f"be {child.lower_}"), node, noun)
                if child.lower_ == "in" and noun.lower_ in DWELLINGS and clause.subject.type == "person":
                    yield from _home(clause, noun)


def became(clause: Clause) -> Iterator[Said]:
    """What somebody is from then on: "got married", "got engaged to Tom"; not what one gets at times, as in "I get"."""
    if clause.lemma == "get" and clause.verb.tag_ not in {"VBP", "VBZ"}:
        for child in clause.verb.children:
            if child.dep_ == "acomp" and child.lower_ in BECOMING:
                yield from (said for said in _quality(clause, child) if said.predicate in _BECOME)


def _is_employer(clause: Clause, noun: Token, node: Node) -> bool:
    """Whether "is at" a company says that one works there: "he's at Bosch in Stuttgart"."""
    if clause.subject.type != "person" or node.type != "organisation":
        return False
    lasts = clause.verb.lower_ == "been" or any(child.lower_ == "now" for child in clause.verb.children)
    calling = any(child.dep_ == "attr" for child in clause.verb.children)
    return lasts or calling or any(prep.lower_ == "in" for prep in (*hanging(noun), *clause.verb.rights))


def _home(clause: Clause, dwelling: Token) -> Iterator[Said]:
    """Where one lives who is in "the new house in Harrogate"; in a house of others one may only be."""
    if not any(child.dep_ in {"det", "poss"} and child.lower_ in {"the", "our", "my"} for child in dwelling.lefts):
        return
    for prep in hanging(dwelling):
        for noun in objects_of(prep) if prep.lower_ == "in" else ():
            if is_name(noun) and (node := clause.thing(noun)) is not None:
                yield Said("live in", node, noun)


def _is_whereabouts(word: str, noun: Token, node: Node, subject: Node, *, negated: bool) -> bool:
    """Whether a preposition after "is" leads to where somebody is, belongs or comes from."""
    if word in {"from", "into"} or (word == "in" and subject.type == "other"):
        return True
    if word in {"near", "outside"}:
        return is_name(noun) or node.type == "location"
    if word == "with":
        return node.type == "organisation" or (is_name(noun) and (node.type != "person" or negated))
    named = node.type == "location" or is_name(noun)
    settled = noun.lower_ in INSTITUTIONS
    return (
        settled
        if word in {"at", "on"} and not named
        else (word not in {"on", "to"} and (named or settled)) or (word == "to" and node.type == "location")
    )


def _attribute(clause: Clause, noun: Token) -> Iterator[Said]:
    """A calling or a kind; no opinion, and no relative (that is a relation)."""
    if not noun.tag_.startswith("N") or (relation(noun.text) is not None and holder_of(noun) is not None):
        return
    if noun.lower_ == "fan":
        liked = [each for prep in noun.children if prep.lower_ == "of" for each in objects_of(prep)]
        yield from (Said("like", node, each) for each in liked if (node := clause.thing(each)) is not None)
        return
    if {token.lower_ for token in noun.lefts} & PRAISE or noun.lower_ in PRAISE:
        return
    if any(token.tag_ in {"JJS", "PRP$", "WP", "WDT"} for token in noun.lefts):
        return
    node = clause.thing(noun)
    if node is None or (node.type == "person" and noun.dep_ == "conj"):
        return
    yield Said("be called" if _is_own_name(clause, noun, node) else "be", node, noun, is_none(noun))
    yield from _employer(clause, noun)


def _is_own_name(clause: Clause, noun: Token, name: Node) -> bool:
    """Whether the speaker says a full name that shares one with theirs: "I'm Priya Clarke now"; nobody is Batman.

    Who has said one name so far may say the whole without such a word: "Hi, I'm Priya Clarke." Not "In the play I'm
    Priya Clarke", nor "I'm Tom Holland, basically".
    """
    if name.type != "person" or clause.subject.text != clause.scene.speaker or not is_name(noun):
        return False
    if clause.stance.past or any(child.dep_ == "det" for child in noun.lefts):
        return False
    how = {token.lower_ for token in clause.verb.sent if token.tag_ in {"RB", "RBR", "RBS"}}
    own, said = clause.subject.text.casefold().split(), name.text.casefold().split()
    if len(said) == 1 or any(child.dep_ == "prep" for child in clause.verb.children):
        return False
    if how and how <= _NEWLY:
        return said[0] == own[0] or own[1:][-1:] == said[-1:]
    return not how and len(own) == 1 and said[0] == own[0]


def _employer(clause: Clause, calling: Token) -> Iterator[Said]:
    """Whom one with a calling works for, and where one is from: "an engineer at Siemens", "a postman from Galway"."""
    of = [noun for prep in calling.children if prep.lower_ == "of" for noun in objects_of(prep)]
    for prep in (prep for noun in (calling, *of) for prep in hanging(noun)):
        for noun in objects_of(prep) if prep.lower_ in {"at", "for", "with", "from"} else ():
            if (node := clause.thing(noun)) is None:
                continue
            if prep.lower_ == "from":
                if is_name(noun) and node.type != "organisation":
                    yield Said("be from", node, noun)
            elif node.type == "organisation" or (
                prep.lower_ == "at" and (is_name(noun) or noun.lower_ in INSTITUTIONS)
            ):
                yield Said("work at", node, noun)


def _quality(clause: Clause, adjective: Token) -> Iterator[Said]:
    """A lasting property, alone or with what it is about."""
    if any(map(is_nearly, adjective.children)):
        return
    word = adjective.lower_
    preps = [child for child in adjective.children if child.dep_ == "prep"]
    for prep in preps if word in DISPOSITIONS else ():
        for noun in objects_of(prep) if prep.lower_ in {"to", "of", "in", "with", "from", "on", "at", "about"} else ():
            if (node := clause.thing(noun)) is not None:
                yield Said(canonical(f"be {word} {prep.lower_}"), node, noun)
    name = clause.scene.names.at(adjective)
    if name is not None and name.type == "organisation":
        yield Said("be", Node(name.text(clause.scene.doc), name.type), adjective)
    elif word in LASTING and not preps:
        yield Said("be", Node(word, "other"), adjective)
    elif word == "old" and (age := _age(adjective)):
        yield Said("be", Node(f"{age} years old", "other"), adjective)


def _age(adjective: Token) -> str:
    years = next((child for child in adjective.children if child.lower_ in {"years", "year"}), None)
    return next((child.text for child in years.children if child.dep_ == "nummod"), "") if years else ""
