"""Whom "he", "she", "it" and "they" stand for, where a message makes it plain.

Plain is: there is one who fits, named or described before in the same message.
Whoever could be two people is nobody, and no claim is made. That costs some
claims, and keeps what one did out of the history of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spacy.tokens import Token

from .phrases import Node, Scene
from .relations import holder_of
from .trees import is_vocative
from .vocabulary import FEMALE, MALE, PLURAL_KIN, TIME_NOUNS, relation

_HE = {"he", "him", "his", "himself"}
_SHE = {"she", "her", "hers", "herself"}
_THEY = {"they", "them", "their", "theirs", "themselves"}
_PRONOUNS = _HE | _SHE | _THEY | {"it"}
_SUBJECTS = {"nsubj", "nsubjpass"}
_PEOPLE = {"person", "other", "organisation", "location"}
"""Types of names that may be people: a recogniser trained on news takes many a first name for a firm or a town."""


@dataclass(slots=True)
class _Person:
    """Somebody who was mentioned. ``gender`` is "f", "m", or empty while nothing tells."""

    node: Node
    gender: str
    sure: bool
    subject: bool


@dataclass(slots=True)
class _Mentioned:
    """Who and what was mentioned so far, in the order of the first mention."""

    people: dict[str, _Person] = field(default_factory=dict)
    groups: dict[tuple[str, ...], tuple[Node, ...]] = field(default_factory=dict)
    things: dict[str, Node] = field(default_factory=dict)


def resolve(scene: Scene) -> None:
    """Fills ``scene.referents`` with those of every pronoun of the third person that has one, in the order of the text.

    A possessive that comes first ("Her husband is ill, so Ana ...") may stand for the one who follows in its sentence.
    """
    if not any(token.lower_ in _PRONOUNS for token in scene.doc):
        return
    seen = _Mentioned()
    early: list[Token] = []
    for token in scene.doc:
        if token.i in scene.quoted:
            continue
        word = token.lower_
        if token.tag_ in {"PRP", "PRP$"} and word in _PRONOUNS:
            found = _referents(scene, token, seen)
            if found:
                scene.referents[token.i] = found
            elif word in {"his", "her"} and not seen.people:
                early.append(token)
        elif token.tag_.startswith(("NN", "JJ")) and token.dep_ != "compound":
            _note(scene, token, seen)
    for token in early:
        if (later := _later(scene, token)) is not None:
            scene.referents[token.i] = (later,)


def _referents(scene: Scene, pronoun: Token, seen: _Mentioned) -> tuple[Node, ...]:
    word = pronoun.lower_
    if word == "it":
        return tuple(seen.things.values()) if len(seen.things) == 1 and pronoun.dep_ == "dobj" else ()
    if word in _THEY:
        groups = list(seen.groups.values())
        return groups[0] if len(groups) == 1 else ()
    gender = "m" if word in _HE else "f"
    barred = {node.text for node in _acting_beside(scene, pronoun)}
    fitting = [
        person for person in seen.people.values() if person.gender in {"", gender} and person.node.text not in barred
    ]
    sure = [person for person in fitting if person.sure] or fitting
    told = [person for person in sure if person.gender == gender]
    chosen = sure if len(sure) == 1 else told if len(told) == 1 and told[0].subject else []
    if not chosen:
        return ()
    chosen[0].gender = gender
    return (chosen[0].node,)


def _acting_beside(scene: Scene, pronoun: Token) -> Iterator[Node]:
    """Whoever acts in the pronoun's own clause: "he can't stand her" is about two."""
    if pronoun.dep_ in _SUBJECTS or pronoun.tag_ == "PRP$":
        return
    verb = pronoun.head if pronoun.dep_ != "pobj" else pronoun.head.head
    for child in verb.children:
        if child.dep_ in _SUBJECTS:
            yield from scene.agents(child)


def _note(scene: Scene, token: Token, seen: _Mentioned) -> None:
    """Remembers a noun, if it is somebody or something that a pronoun may stand for."""
    nodes = [node for node in _people(scene, token) if node.text != scene.speaker]
    if nodes and relation(token.text) in PLURAL_KIN:
        seen.groups[(nodes[0].text,)] = (nodes[0],)
        return
    for node in nodes:
        person = seen.people.setdefault(node.text, _Person(node, "", sure=False, subject=False))
        person.gender = person.gender or _gender(scene, token, node)
        person.sure = person.sure or node.type == "person"
        person.subject = person.subject or token.dep_ in _SUBJECTS
    if nodes and token.dep_ != "conj" and token.conjuncts:
        every = [node for each in (token, *token.conjuncts) for node in _people(scene, each)]
        if len(every) == len(token.conjuncts) + 1 and all(node.text != scene.speaker for node in every):
            seen.groups[tuple(node.text for node in every)] = tuple(every)
    if not nodes and token.tag_ == "NN" and token.dep_ == "dobj" and token.lower_ not in TIME_NOUNS:
        thing = scene.thing(token, Node("", "other"))
        if thing is not None and thing.type not in {"person", "location"}:
            seen.things[thing.text] = thing


def _people(scene: Scene, token: Token) -> list[Node]:
    """Whom a noun names or describes, if that may be a person or a pet."""
    if is_vocative(token):
        return []
    described = relation(token.text) is not None
    if not described and holder_of(token) is not None:
        return []
    name = scene.names.at(token)
    if not described and name is None and token.is_lower:
        return []
    if name is not None and name.type == "location" and token.dep_ in {"pobj", "dobj"}:
        return []
    if name is not None and name.type == "organisation" and token.dep_ == "pobj" and token.head.lower_ in {"at", "for"}:
        return []
    return [node for node in scene.agents(token) if node.type in _PEOPLE]


def _gender(scene: Scene, token: Token, node: Node) -> str:
    """What the words of a mention tell: "Mrs. Petrov", "Uncle Ben", "my sister Elena"."""
    words = {word.strip(".").casefold() for word in node.text.split()}
    words |= {left.lower_.strip(".") for left in token.lefts} | {token.lower_}
    words |= {found.noun.lower_ for found in scene.relations if found.name == token}
    kin = {relation(word) or word for word in words}
    if kin & FEMALE:
        return "f"
    return "m" if kin & MALE else ""


def _later(scene: Scene, possessive: Token) -> Node | None:
    """The one subject behind a possessive in its sentence."""
    found = {
        node.text: node
        for token in possessive.sent
        if token.i > possessive.head.i and token.dep_ in _SUBJECTS and token.head != possessive.head.head
        for node in _people(scene, token)
        if node.text != scene.speaker
    }
    return next(iter(found.values())) if len(found) == 1 else None
