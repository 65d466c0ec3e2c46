"""What somebody's something is: "my favourite colour is blue", "my birthday is on the 3rd of May", "my name is Bo"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from spacy.tokens import Token

from .claiming import claim_of
from .clauses import Clause, Said, is_passive, objects_of
from .contract import Claim
from .dates import Time, times
from .phrases import Node, Scene
from .relations import holder_of, is_name
from .stance import Stance
from .trees import each_of
from .vocabulary import ANNIVERSARIES, INSTITUTIONS, LASTING, PRAISE, VAGUE_NOUNS, relation

_IS = {"is", "'s", "\u2019s", "are", "was"}
_TODAY = next(times("today"))
_ATTENDED = {"school", "university", "college", "kindergarten", "nursery", "gym", "church", "class", "grade", "year"}
_VISITED = {"hotel", "hostel", "resort", "inn", "airbnb", "beach", "festival"}
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def own_name(scene: Scene, verb: Token) -> Iterator[Claim]:
    """(Maya, be called, May) of "my name is May"; the name of a relative is a relation."""
    subject = next((child for child in verb.children if child.dep_ == "nsubj" and child.lower_ == "name"), None)
    holder = holder_of(subject) if subject is not None else None
    owner = scene.person(holder) if holder is not None and verb.lower_ in _IS else None
    for child in verb.children if owner is not None else ():
        if child.dep_ == "attr" and (name := scene.agent(child)) is not None and owner is not None:
            yield claim_of(Clause(scene, verb, "", Stance(), owner), Said("be called", name, child), child)


def owned_subject(verb: Token) -> Token | None:
    """The "color" of "my favorite color is blue"; None where a person is the subject."""
    if verb.lower_ not in _IS or is_passive(verb):
        return None
    subject = next((child for child in verb.children if child.dep_ == "nsubj"), None)
    if subject is None or holder_of(subject) is None or subject.tag_ not in {"NN", "NNS"}:
        return None
    compounds = [child for child in subject.lefts if child.dep_ == "compound"]
    if any(relation(child.text) for child in compounds):
        return None  # "my sister elena is ...": somebody, written low
    alone = not compounds  # "phone number" is not vague
    dated = subject.lower_ in ANNIVERSARIES and any(child.lower_ in {"on", "in"} for child in verb.rights)
    if not dated and not any(child.dep_ in {"attr", "acomp"} for child in verb.children):
        return None
    return None if relation(subject.text) or (alone and subject.lower_ in VAGUE_NOUNS | {"name"}) else subject


def owned_value(scene: Scene, verb: Token, noun: Token, stance: Stance) -> Iterator[Claim]:
    """(Maya, favorite color, blue): what somebody's something is."""
    holder = holder_of(noun)
    owner = scene.owner(holder) if holder is not None else None
    words = [child.lower_ for child in noun.lefts if child.dep_ in {"amod", "compound"}]
    if owner is None or len(words) > 2:
        return
    predicate = " ".join([*words, noun.lower_]).replace("favourite", "favorite")
    clause = Clause(scene, verb, "", stance, owner)
    for child in verb.children:
        for each in each_of(child) if child.dep_ in {"attr", "acomp"} else ():
            if (node := _value(clause, each, adjective=child.dep_ == "acomp")) is not None:
                born = predicate == "birthday" and node.type == "date" and _YEAR.search(node.text)
                yield claim_of(clause, Said("be born on" if born else predicate, node, each), noun)
        if child.dep_ == "prep" and child.lower_ in {"on", "in"} and noun.lower_ in ANNIVERSARIES:
            for day in objects_of(child):
                said = scene.doc[day.left_edge.i : day.right_edge.i + 1].text.removeprefix("the ")
                yield claim_of(clause, Said(predicate, Node(said, "date"), day.right_edge), noun)


def first_or_last_day(scene: Scene, verb: Token) -> Iterator[Claim]:
    """(Maya, work at, Tidepost) until 26 June, of "my last day at Tidepost is 26 June"; from then on, of a first."""
    now = scene.time
    if now is None or verb.lower_ not in _IS | {"be", "had"} or verb.dep_ == "xcomp":
        return  # "was going to be my last day"
    for day in verb.children:
        joined = {"nsubj", "npadvmod"} if day.i < verb.i else {"attr", "dobj"}
        if day.lower_ != "day" or day.dep_ not in joined or (holder := holder_of(day)) is None:
            continue
        near = (*day.children, *([day.nbor()] if day.i + 1 < len(day.doc) else []))
        side = {child.lower_ for child in near} & {"first", "last", "off", "back"}
        owner, when = scene.owner(holder), _time_of(verb)
        interval = when.interval(now, ahead=verb.lower_ not in {"was", "had"}) if when is not None else None
        if side not in ({"first"}, {"last"}) or owner is None or when is None or interval is None:
            continue
        if verb.idx < when.start < day.idx:
            continue  # "is today my first day"
        clause = Clause(scene, verb, "", Stance(), owner)
        for noun, node in _workplaces(clause, day):
            claim = claim_of(clause, Said("work at", Node(node.text, "organisation"), noun), day)
            begun, ended = interval
            if side == {"last"}:
                yield replace(claim, valid_to=ended)
            else:
                yield replace(claim, valid_from=begun, modality="planned" if begun > now else "asserted")


def _workplaces(clause: Clause, day: Token) -> Iterator[tuple[Token, Node]]:
    """Where a day is somebody's first or last; the parser may hang the place on the verb before it.

    A place of work has a name, or is one as a bakery is, and no school; who is at Tom's is a guest.
    """
    verb = clause.verb
    for prep in (*day.children, *(verb.rights if verb.i < day.i else ())):
        for noun in objects_of(prep) if prep.lower_ in {"at", "with"} else ():
            node = clause.thing(noun) if is_name(noun) or noun.lower_ in INSTITUTIONS else None
            if node is None or noun.lower_ in _ATTENDED or node.type in {"event", "location"}:
                continue
            if any(word.lower_ in _VISITED for word in noun.subtree):
                continue
            guest = prep.lower_ == "with" or any(child.dep_ == "case" for child in noun.children)
            if node.type != "person" or not guest:
                yield noun, node


def _time_of(verb: Token) -> Time | None:
    """The first time that a clause names, and none of a clause in it; "it's my last day" is today."""
    named = list(times(verb.doc.text))
    for time in named:
        span = verb.doc.char_span(time.start, time.end, alignment_mode="expand")
        token = span.root if span is not None else verb.doc[0]
        while token not in {token.head, verb} and not token.tag_.startswith("VB"):
            token = token.head
        if token == verb:
            return time
    said_before = any(time.start < verb.sent.end_char for time in named)
    it = any(child.dep_ == "nsubj" and child.lower_ in {"it", "this"} for child in verb.children)
    today = it and not said_before
    return _TODAY if today and verb.lower_ in {"is", "'s", "\u2019s"} else None


def _value(clause: Clause, token: Token, *, adjective: bool) -> Node | None:
    """What something is: a name, a date, a lasting property, or a plain phrase."""
    name = clause.scene.names.at(token)
    if name is not None:
        return clause.scene.named(name)
    if adjective:
        return Node(token.lower_, "other") if token.lower_ in LASTING else None
    return None if {left.lower_ for left in token.lefts} & PRAISE else clause.thing(token)
