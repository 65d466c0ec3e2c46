"""What a clause says with a second verb: what somebody likes doing, and the post that the parser took for a verb."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Token

from .clauses import Clause, Said, canonical, objects_of
from .lemmas import Lemmas
from .phrases import LONGEST_OBJECT, Node, Scene
from .relations import is_name
from .vocabulary import IDLE_ACTIVITIES


def activities(clause: Clause, lemmas: Lemmas) -> Iterator[Said]:
    """What one likes doing, or leaves off: "love hiking in the Alps", "quit smoking"."""
    if any(child.dep_ == "aux" and lemmas.of(child) == "would" for child in clause.verb.children):
        return
    for child in clause.verb.children:
        if child.dep_ != "xcomp":
            continue
        for each in [child, *(joined for joined in child.conjuncts if joined.i > child.i)]:
            if words := _activity(each, clause.scene):
                yield Said(canonical(clause.base), Node(words, "other"), each.right_edge)


def _activity(verb: Token, scene: Scene) -> str:
    """An activity as a phrase; empty if it is too long, says nothing, or holds a pronoun."""
    objects = [child for child in verb.rights if child.dep_ == "dobj"]
    if (verb.lower_ in IDLE_ACTIVITIES and not objects) or not verb.text.isalpha():
        return ""
    if any(child.dep_ in {"nsubj", "nsubjpass", "auxpass"} for child in verb.children):
        return ""
    words = [verb.text]
    for child in verb.rights:
        if child.dep_ == "dobj" and not (said := scene.phrase(child)):
            return ""
        if child.dep_ == "dobj":
            words.append(said)
        elif child.dep_ == "prt":
            words.append(child.text)
        elif child.dep_ == "prep" and child.lower_ in {"in", "to", "with", "on", "for", "at", "by", "near"}:
            noun = next((scene.phrase(each) for each in objects_of(child)), "")
            words += [child.lower_, noun] if noun else []
    text = " ".join(words)
    return text if len(text.split()) <= LONGEST_OBJECT else ""


_OF_A_POST = {"of", "at", "in", "on"}


def new_post(clause: Clause) -> Iterator[Said]:
    """The post that one is promoted to, where the parser took its first word for a verb: "promoted to head nurse"."""
    first = clause.verb.i + 2
    for child in clause.verb.children if clause.base == "be promoted" else ():
        if child.dep_ not in {"xcomp", "advcl"} or child.i < first:
            continue
        to = clause.scene.doc[first - 1]
        if to.lower_ != "to" or to.head != child:
            continue
        last = next((noun for noun in child.rights if noun.dep_ == "dobj"), child)
        if last == child and any(word.dep_ == "prep" and word.lower_ not in _OF_A_POST for word in child.rights):
            continue  # "to work with Tom"
        if is_name(last) or any(word.dep_ in {"det", "poss"} for word in last.children):
            continue  # "to lead the team"
        where = [prep.i for prep in (*child.rights, *last.rights) if prep.lower_ in {"at", "in", "on"}]
        words = clause.scene.doc[first : min([last.right_edge.i + 1, *where])]
        if len(words) <= LONGEST_OBJECT and last.tag_ != "NNS":  # "to cut costs"
            yield Said("be promoted to", Node(words.text, "other"), words[-1])
