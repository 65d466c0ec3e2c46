"""What somebody wants to be called, or goes by: "call me Kate", "Ana goes by Nan", "Liz is short for Elizabeth"."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Token

from .claiming import claim_of
from .clauses import Clause, Said, objects_of
from .contract import Claim
from .phrases import Node, Scene
from .stance import Stance


def nicknames(scene: Scene) -> Iterator[Claim]:
    """(Maya, be called, May) of every such clause whose name is read as a person's."""
    for verb in scene.doc:
        if verb.lower_ not in _READERS or verb.i in scene.quoted or verb.sent[-1].text == "?":
            continue
        if any(child.dep_ == "neg" for child in verb.children):
            continue
        for owner, name in _READERS[verb.lower_](scene, verb):
            node = _person(scene, name)
            if owner is not None and node is not None and owner.text.casefold() != node.text.casefold():
                yield claim_of(Clause(scene, verb, "", Stance(), owner), Said("be called", node, name), verb)


def _wished(scene: Scene, verb: Token) -> Iterator[tuple[Node | None, Token]]:
    """As in "call me Kate" and "you can call me Kate"; what others do is read with their clause."""
    subjects = [child for child in verb.children if child.dep_ == "nsubj"]
    if verb.tag_ != "VB" or any(subject.lower_ != "you" for subject in subjects):
        return
    for me in (child for child in verb.children if child.dep_ == "dobj" and child.lower_ == "me"):
        yield from ((scene.person(me), child) for child in verb.children if child.dep_ == "oprd")


def _gone_by(scene: Scene, verb: Token) -> Iterator[tuple[Node | None, Token]]:
    for by in (child for child in verb.children if child.dep_ == "prep" and child.lower_ == "by"):
        for subject in (child for child in verb.children if child.dep_ == "nsubj"):
            yield from ((scene.agent(subject), name) for name in objects_of(by))


def _short_for(scene: Scene, verb: Token) -> Iterator[tuple[Node | None, Token]]:
    for short in (child for child in verb.children if child.dep_ == "acomp" and child.lower_ == "short"):
        full = [name for prep in short.children if prep.lower_ == "for" for name in objects_of(prep)]
        for subject in (child for child in verb.children if child.dep_ == "nsubj"):
            yield from ((_person(scene, name), subject) for name in full)


def _person(scene: Scene, token: Token) -> Node | None:
    name = scene.names.at(token)
    named = name is not None and name.type == "person" and token.text[:1].isupper()
    return scene.named(name) if named and name is not None else None


_READERS = {"call": _wished, "go": _gone_by, "goes": _gone_by, "is": _short_for, "'s": _short_for}
