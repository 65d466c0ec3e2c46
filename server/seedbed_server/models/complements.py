"""What a clause says of the one who acts: its objects, and the predicate that leads to each.

The verb's own words make the predicate: its lemma, a particle ("give up"), "can",
a preposition ("work at"). `vocabulary` joins what means the same, and names what
says too little to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Token

from .activities import activities, new_post
from .clauses import Clause, Said, antecedent, canonical, hanging, is_none, objects_of
from .copula import became, copula
from .lemmas import Lemmas
from .phrases import Node, Scene
from .predicates import PREDICATES, STATE_CHANGES
from .relations import is_name
from .trees import each_of
from .vocabulary import (
    ARGUMENT_PREPOSITIONS,
    DIRECTIONS,
    DOING,
    INSTITUTIONS,
    LASTING,
    LIKING,
    NOT_CLAIMS,
    PLACED,
    PLANNING,
    PRAISE,
    STRIVING,
    TIME_NOUNS,
    VAGUE_NOUNS,
    relation,
)

_OBJECTS = {"dobj", "obj", "oprd"}
_WORD_OF_A_NAME = {"know", "see", "show", "support", "help", "admire"}
_SETTLED = {"work", "live", "study", "up"}
_SOMEBODY = {"he", "she", "they"}
_WHERE = {"in", "at", "on", "near"}
_PAIRED = {("from", "to"), ("from", "into"), ("out", "of"), ("to", "from")}
_OWN_WORDS = {"be", "say", "tell", "look", "wait"}


def complements(clause: Clause, lemmas: Lemmas) -> Iterator[Said]:
    """All that a clause says of its subject, in the order of the text."""
    if clause.lemma == "be" and not clause.passive:
        yield from copula(clause)
    elif clause.passive and clause.verb.lower_ in {"called", "named"}:
        yield from _named(clause)
    else:
        if (state := _state(clause)) is not None:
            yield Said("be", Node(state, "other"), clause.verb)
        yield from became(clause)
        yield from new_post(clause)
        yield from _action(clause, lemmas)


def _named(clause: Clause) -> Iterator[Said]:
    """What something is called; who is somebody's by that name is a relation already.

    Not what "she" is called where a person is taken to be meant: it may be the cat, and the two would be one.
    """
    subjects = [child for child in clause.verb.children if child.dep_ == "nsubjpass"]
    if clause.subject.type == "person" and any(subject.lower_ in _SOMEBODY for subject in subjects):
        return
    for child in clause.verb.children:
        node = clause.thing(child) if child.dep_ == "oprd" and is_name(child) else None
        if node is not None and not any(relation(subject.text) for subject in subjects):
            yield Said("be called", node, child)


def _action(clause: Clause, lemmas: Lemmas) -> Iterator[Said]:
    children = list(clause.verb.children)
    if clause.lemma in PLANNING | DOING and any(child.dep_ == "xcomp" for child in children):
        return  # the claim is in "to VERB"
    wanted = _OBJECTS | ({"attr"} if clause.lemma in {"become", "remain"} else set())
    objects = [child for child in children if child.dep_ in wanted]
    objects = [noun for noun in objects if not (noun.dep_ == "oprd" and clause.lemma in {"call", "name"})]
    preps = [each for child in children if child.dep_ in {"prep", "agent"} for each in _linked(child)]
    preps += [
        inner
        for child in children
        if child.dep_ in {"advmod", "prt"} and child.lower_ in DIRECTIONS
        for inner in child.children
        if inner.dep_ == "prep"
    ]
    if clause.verb.dep_ == "relcl" and not objects and preps and not _is_relative(clause.verb):
        return  # "concerts I have had in June": what is had is not beside the verb
    if _is_kept(objects, children):
        return
    for noun in objects:
        if not _stands_for_more(clause, noun, preps):
            yield from _object(clause, noun)
    if clause.lemma in LIKING:
        yield from activities(clause, lemmas)
    for prep in preps:
        yield from _around(clause, prep, objects)
    for noun in objects:
        for prep in hanging(noun):
            yield from _around(clause, prep, [noun])


def _is_kept(objects: list[Token], children: list[Token]) -> bool:
    """Whether a clause says how a thing is for a while: "we leave the door open"."""
    return bool(objects) and any(child.dep_ in {"oprd", "ccomp"} and child.tag_ in {"JJ", "RB"} for child in children)


def _linked(prep: Token) -> Iterator[Token]:
    """A preposition and those that the parser hung on it: "from York TO Bristol", "out OF Paris and INTO Lyon"."""
    yield prep
    for child in prep.children:
        led = child.dep_ == "prep" and (prep.lower_, child.lower_) in _PAIRED
        if led or (child.dep_ == "conj" and child.tag_ in {"IN", "TO"}):
            yield from _linked(child)


def _is_relative(verb: Token) -> bool:
    """Whether "who", "which" or "that" acts in a clause."""
    return any(child.dep_ in {"nsubj", "nsubjpass"} and child.tag_ in {"WP", "WDT"} for child in verb.children)


def _stands_for_more(clause: Clause, noun: Token, preps: list[Token]) -> bool:
    """Whether object and preposition are one predicate: "got a job at" is "work at", and no getting."""
    return any(
        f"{clause.base} {noun.lower_} {prep.lower_}" in PREDICATES and any(map(clause.thing, objects_of(prep)))
        for prep in (*preps, *hanging(noun))
    )


def _state(clause: Clause) -> str | None:
    """The state that a verb without an object leaves behind: "died", "retired", "got engaged"."""
    for child in clause.verb.children:
        if child.dep_ in _OBJECTS or (child.dep_ in {"prep", "agent"} and child.lower_ in {"to", "by"}):
            return None
    if clause.subject.type == "other" and "'s " in clause.subject.text:
        return None  # "my phone died"
    if clause.passive:
        if clause.verb.lower_ == "killed":
            return "dead"
        return clause.verb.lower_ if clause.verb.lower_ in LASTING else None
    if clause.lemma == "pass" and clause.subject.text in {clause.scene.speaker, clause.scene.listener}:
        return None  # an exam
    return STATE_CHANGES.get(clause.base)


def _object(clause: Clause, noun: Token) -> Iterator[Said]:
    """What is acted on; with a verb that says little, only if it has a name."""
    if clause.lemma == "have" and PRAISE & {token.lower_ for token in noun.lefts}:
        return  # "had a great walk" is a mood
    base = clause.base
    for each in each_of(antecedent(noun, clause.verb)):
        node = clause.thing(each)
        if node is None:
            continue
        if clause.lemma == "leave" and node.text.islower() and noun.lower_ not in INSTITUTIONS | {"job"}:
            continue  # a phone on the bus
        named = node.type != "other" and clause.lemma in _WORD_OF_A_NAME
        if clause.lemma not in NOT_CLAIMS or " " in base or named:
            yield Said(canonical(base), node, each, is_none(each))


def _around(clause: Clause, prep: Token, objects: list[Token]) -> Iterator[Said]:
    """What a preposition leads to: "moved to Berlin", "got a job at Google"."""
    word = prep.lower_
    if word not in ARGUMENT_PREPOSITIONS:
        return
    if word == "of" and prep.head.lower_ == "out" and prep.head.dep_ != "prt":
        word = "out of"
    for noun in objects_of(prep):
        node = clause.thing(noun) or _birthday(clause, noun)
        if node is None or noun.lower_ in TIME_NOUNS or _is_idle(clause, word, node):
            continue
        predicate = _beside(clause, word, node, objects[0]) if objects else _led_to(clause, word, node)
        if predicate:
            yield Said(predicate, node, noun)
        if clause.base.split()[-1] in _SETTLED or predicate == "work as":
            yield from _chained(clause, noun)


def _birthday(clause: Clause, noun: Token) -> Node | None:
    """The date on which somebody was born."""
    name = clause.scene.names.at(noun)
    return clause.scene.named(name) if clause.base == "be born" and name is not None and name.type == "date" else None


def _is_idle(clause: Clause, word: str, node: Node) -> bool:
    """Whether a preposition leads to what is none of the verb's business: "fly for work", "live next door to us"."""
    if (where := PLACED.get(clause.lemma)) is not None and not clause.passive:
        return word not in where
    if clause.lemma == "work" and word == "as":
        return node.type == "person"
    return word == "for" and node.type == "other" and clause.lemma not in STRIVING


def _beside(clause: Clause, word: str, node: Node, noun: Token) -> str:
    """The predicate that leads to a name beside an object; empty if there is none."""
    if (whole := f"{clause.base} {noun.lower_} {word}") in PREDICATES:
        return PREDICATES[whole]
    if node.type == "other" and clause.lemma in {"teach", "study", "lecture"} and word == "at":
        return canonical(f"{clause.base} {word}")
    if noun.tag_ in {"PRP", "DT", "WP"} or noun.lower_ in VAGUE_NOUNS or _is_of_object(clause, word, noun):
        return ""
    if node.type == "other":
        return ""
    if clause.lemma in NOT_CLAIMS | {"have", "own"} or (node.type == "person" and word not in {"with", "to", "from"}):
        return ""
    return "" if clause.lemma == "start" else canonical(f"{clause.base} {word}")


def _is_of_object(clause: Clause, word: str, noun: Token) -> bool:
    """Whether a place is the object's, not the verb's: "bought a house in Harrogate", "took the train from Ghent"."""
    if word in {"from", "to"}:
        return clause.lemma in {"take", "get", "catch"}
    taught = clause.lemma in {"teach", "study", "lecture"}
    return word in _WHERE and not taught and noun.tag_ in {"NN", "NNS"} and clause.scene.names.at(noun) is None


def _led_to(clause: Clause, word: str, node: Node) -> str:
    if clause.passive and clause.verb.lower_ in LASTING and word in _WHERE:
        return ""  # "getting married in Kerala"
    if clause.lemma in _OWN_WORDS or (clause.lemma in NOT_CLAIMS - {"live", "stay"} and node.type == "other"):
        return ""
    parsed = f"{clause.base} {word}"
    return parsed if parsed == "be hired by" and node.type == "person" else canonical(parsed)  # nobody works at Anna


def _chained(clause: Clause, noun: Token) -> Iterator[Said]:
    """A name in a phrase that hangs on the first: "work as a nurse at Siemens"."""
    for prep in hanging(noun):
        for inner in objects_of(prep) if prep.lower_ in {"in", "at", "with"} else ():
            node = clause.thing(inner)
            named = node is not None and (node.type != "other" or _is_named(clause.scene, inner))
            if node is not None and named:
                base = clause.base if clause.base.split()[-1] in _SETTLED else "work"
                yield Said(canonical(f"{base} {prep.lower_}"), node, inner)


def _is_named(scene: Scene, noun: Token) -> bool:
    """Whether a noun for a place of work has a name before it: "St. Antonius hospital"."""
    return noun.lower_ in INSTITUTIONS and any(
        child.dep_ == "compound" and (child.tag_.startswith("NNP") or scene.names.at(child)) for child in noun.lefts
    )
