"""What a text says: who did what to whom, read from the dependency parse.

Every verb that claims something (`stance`) is joined with who acts and with
what it is about (`phrases`), and its words become a predicate (`vocabulary`).
What cannot be resolved is dropped: a graph with few claims that hold is worth
more than one with many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spacy.tokens import Token

from .contract import Claim
from .lemmas import Lemmas
from .phrases import LONGEST_OBJECT, Node, Scene, each_of
from .relations import holder_of
from .stance import Stance, is_question, stance_of
from .vocabulary import (
    ARGUMENT_PREPOSITIONS,
    LASTING,
    DISPOSITIONS,
    DOING,
    IDLE_ACTIVITIES,
    LIKING,
    NOT_CLAIMS,
    PAST_STATES,
    PLANNING,
    PRAISE,
    PREDICATES,
    SKILLS,
    TIME_NOUNS,
    VAGUE_NOUNS,
    relation,
)

SURFACE_LIMIT = 300
"""Code points of the longest surface that is kept."""

CLAIMS_LIMIT = 200
"""Claims of one piece that are kept: more is a list, or noise."""

_SUBJECTS = {"nsubj", "nsubjpass"}
_OBJECTS = {"dobj", "obj", "oprd"}
STATES = {"live", "work", "study", "be", "have", "own"}
"""Verbs whose past tense says that it is over."""


class Triples:
    """Reads the claims of scenes. Holds nothing but the tables of the model."""

    def __init__(self, lemmas: Lemmas) -> None:
        self._lemmas = lemmas

    def of(self, scene: Scene) -> list[Claim]:
        """The claims of one scene, in the order of the text, each once."""
        found: dict[tuple[str, str, str, bool], Claim] = {}
        for claim in self._all(scene):
            if claim.subject.casefold() == claim.object.casefold():
                continue
            found.setdefault((claim.subject, claim.predicate, claim.object, claim.negated), claim)
            if len(found) >= CLAIMS_LIMIT:
                break
        return list(found.values())

    def _all(self, scene: Scene) -> Iterator[Claim]:
        yield from _relations(scene)
        for sentence in scene.doc.sents:
            tokens = list(sentence)
            if is_question(tokens):
                continue
            for token in tokens:
                if token.tag_.startswith("VB") and token.dep_ not in {"aux", "auxpass", "amod", "compound"}:
                    yield from self._clause(scene, token)

    def _clause(self, scene: Scene, verb: Token) -> Iterator[Claim]:
        subjects = list(self._subjects(scene, verb))
        owned = None if subjects else _owned_subject(verb)
        if not subjects and owned is None:
            return
        stance = stance_of(verb, self._lemmas)
        if stance is None:
            return
        if owned is not None:
            yield from _owned(scene, verb, owned, stance)
            return
        lemma = self._lemma(verb)
        if stance.ability and lemma not in SKILLS:
            return
        if lemma not in STATES:
            stance = replace(stance, past=False)
        for subject, source in subjects:
            if lemma == "be" and not _is_passive(verb):
                said = self._copula(scene, verb, subject, source)
            else:
                said = self._action(scene, verb, lemma, subject, stance)
            for predicate, node, last, without in said:
                yield _claim(scene, verb, stance, subject, predicate, node, (source, last), without=without)

    def _lemma(self, verb: Token) -> str:
        lemma = self._lemmas.of(verb)
        held = lemma == "get" and verb.tag_ == "VBN" and any(self._lemmas.of(aux) == "have" for aux in verb.lefts)
        return "have" if held and verb.lower_ == "got" else lemma

    # --- who acts

    def _subjects(self, scene: Scene, verb: Token) -> Iterator[tuple[Node, Token]]:
        """(node, token) of everyone who acts in a clause, borrowed from an outer one if it must."""
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        for subject in own:
            for each in each_of(_antecedent(subject, verb)):
                if (node := scene.agent(each)) is not None:
                    yield node, each
        if own:
            return
        if verb.dep_ in {"conj", "xcomp"} and verb.head.tag_[:2] in {"VB", "JJ"}:
            if verb.dep_ == "xcomp" and any(child.dep_ == "dobj" for child in verb.head.children):
                return  # "told Tom to move"
            if verb.dep_ == "conj" and verb.tag_ == "VB" and verb.head.dep_ == "ROOT" and not _has_aux(verb.head):
                return  # "I'm here, call me": an order
            outer = verb.head if verb.head.tag_.startswith("VB") else verb.head.head
            yield from self._subjects(scene, outer)
        elif verb.dep_ == "pcomp" and verb.head.head.tag_.startswith("VB"):
            yield from self._subjects(scene, verb.head.head)
        elif _is_elided(verb) and (speaker := scene.speaker) and verb.i not in scene.quoted:
            yield Node(speaker, "person"), verb

    # --- "is"

    def _copula(
        self, scene: Scene, verb: Token, subject: Node, source: Token
    ) -> Iterator[tuple[str, Node, Token, bool]]:
        """ "is a nurse", "is vegan", "is allergic to nuts", "is from Rome", "is into jazz"."""
        for child in verb.children:
            if child.dep_ == "attr":
                for each in each_of(child):
                    if (node := self._attribute(scene, each, subject)) is not None:
                        yield "be", node, each, _is_none(each)
            elif child.dep_ == "acomp":
                for each in each_of(child):
                    yield from self._quality(scene, each, subject)
            elif child.dep_ == "prep" and child.lower_ in {"from", "into", "in", "at"}:
                for noun in _objects_of(child):
                    node = scene.thing(noun, subject)
                    if node is not None and (child.lower_ in {"from", "into"} or node.type == "location"):
                        yield f"be {child.lower_}", node, noun, False

    def _attribute(self, scene: Scene, noun: Token, subject: Node) -> Node | None:
        """What someone is: a calling or a kind; no opinion, and no relative (see `relations`)."""
        if not noun.tag_.startswith("N") or relation(noun.text) is not None and holder_of(noun) is not None:
            return None
        said = {token.lower_ for token in noun.lefts} | {noun.lower_}
        if said & PRAISE or any(token.tag_ in {"JJS", "PRP$", "WP", "WDT"} for token in noun.lefts):
            return None
        return scene.thing(noun, subject)

    def _quality(self, scene: Scene, adjective: Token, subject: Node) -> Iterator[tuple[str, Node, Token, bool]]:
        word = adjective.lower_
        for prep in adjective.children:
            if prep.dep_ == "prep" and prep.lower_ in {"to", "of", "in", "with", "from", "on", "at"}:
                for noun in _objects_of(prep):
                    node = scene.thing(noun, subject)
                    if node is not None and word in DISPOSITIONS:
                        yield f"be {word} {prep.lower_}", node, noun, False
        if word in LASTING and not any(child.dep_ == "prep" for child in adjective.children):
            yield "be", Node(word, "other"), adjective, False
        elif (name := scene.names.at(adjective)) is not None and name.type == "organisation":
            yield "be", Node(name.text(scene.doc), name.type), adjective, False
        elif word == "old" and (age := _age(adjective)):
            yield "be", Node(f"{age} years old", "other"), adjective, False

    # --- everything else that one does

    def _action(
        self, scene: Scene, verb: Token, lemma: str, subject: Node, stance: Stance
    ) -> Iterator[tuple[str, Node, Token, bool]]:
        base = self._base(verb, lemma, stance)
        if verb.lower_ in {"called", "named"} and _is_passive(verb):
            return  # a relation
        if (lemma in PLANNING or lemma in DOING) and any(child.dep_ == "xcomp" for child in verb.children):
            return  # the claim is in "to VERB"
        objects = [child for child in verb.children if child.dep_ in _OBJECTS]
        if verb.dep_ == "relcl" and not objects and any(child.dep_ == "prep" for child in verb.children):
            return  # "concerts I have had in June": what is had is not beside the verb
        for child in objects:
            if lemma == "have" and PRAISE & {token.lower_ for token in child.lefts}:
                continue  # "had a great walk" is a mood
            for each in each_of(_antecedent(child, verb)):
                node = scene.thing(each, subject)
                if node is not None and (_tells(lemma, node) or " " in base):
                    yield _canonical(base), node, each, _is_none(each)
        if lemma in LIKING:
            yield from self._activities(scene, verb, base)
        for prep in verb.children:
            if prep.dep_ == "prep" or prep.dep_ == "agent":
                yield from self._around(scene, base, lemma, prep, objects, subject)
        for child in objects:
            for prep in child.children:
                if prep.dep_ == "prep" and prep.lower_ != "of":
                    yield from self._around(scene, base, lemma, prep, [child], subject)

    def _base(self, verb: Token, lemma: str, stance: Stance) -> str:
        """Lemma and particle: "give up"; "be" and "get" of a passive; "can"."""
        words = [lemma, *(child.lower_ for child in verb.children if child.dep_ == "prt")]
        if _is_passive(verb):
            words[:1] = ["be", verb.lower_]
        if stance.ability:
            words.insert(0, "can")
        return " ".join(words)

    def _around(
        self, scene: Scene, base: str, lemma: str, prep: Token, objects: list[Token], subject: Node
    ) -> Iterator[tuple[str, Node, Token, bool]]:
        """ "moved to Berlin"; beside an object only a name counts: "got a job at Google"."""
        word = prep.lower_
        if word not in ARGUMENT_PREPOSITIONS:
            return
        for noun in _objects_of(prep):
            node = scene.thing(noun, subject)
            if node is None or noun.lower_ in TIME_NOUNS:
                continue
            if objects:
                head = objects[0]
                if node.type == "other" or head.tag_ in {"PRP", "DT", "WP"} or head.lower_ in VAGUE_NOUNS:
                    continue
                if (whole := f"{base} {head.lower_} {word}") in PREDICATES:
                    yield PREDICATES[whole], node, noun, False
                elif node.type in {"location", "organisation", "event"} or word == "with":
                    yield _canonical(f"{base} {word}"), node, noun, False
            elif lemma not in NOT_CLAIMS or node.type != "other" and lemma not in {"be", "say", "tell", "look", "wait"}:
                yield _canonical(f"{base} {word}"), node, noun, False
            yield from self._chained(scene, base, noun, subject)

    def _chained(self, scene: Scene, base: str, noun: Token, subject: Node) -> Iterator[tuple[str, Node, Token, bool]]:
        """ "work as a nurse at Siemens": a name in a phrase that hangs on the first."""
        for prep in noun.children:
            if prep.dep_ == "prep" and prep.lower_ in {"in", "at", "with"} and base.split()[-1] in {"work", "live", "study", "up"}:
                for inner in _objects_of(prep):
                    node = scene.thing(inner, subject)
                    if node is not None and node.type != "other":
                        yield _canonical(f"{base} {prep.lower_}"), node, inner, False

    def _activities(self, scene: Scene, verb: Token, base: str) -> Iterator[tuple[str, Node, Token, bool]]:
        """ "love hiking in the Alps", "quit smoking": what one likes or leaves off doing."""
        if any(child.dep_ == "aux" and self._lemmas.of(child) == "would" for child in verb.children):
            return
        for child in verb.children:
            if child.dep_ != "xcomp" or (base in DOING and any(True for _ in child.rights)):
                continue  # "started taking classes" is told by "take"
            for each in [child, *(c for c in child.conjuncts if c.i > child.i)]:
                words = _activity(each, scene)
                if words:
                    yield _canonical(base), Node(words, "other"), each.right_edge, False


def _activity(verb: Token, scene: Scene) -> str:
    """ "hiking in the Alps" as a phrase; empty if it is too long or holds a pronoun."""
    if any(child.dep_ in _SUBJECTS for child in verb.children):
        return ""
    if verb.lower_ in IDLE_ACTIVITIES and not any(child.dep_ == "dobj" for child in verb.rights):
        return ""
    words = [verb.text]
    for child in verb.rights:
        if child.dep_ in {"dobj", "prt"}:
            said = child.text if child.dep_ == "prt" else scene.phrase(child)
            if not said:
                return ""
            words.append(said)
        elif child.dep_ in {"prep"}:
            said = next((scene.phrase(noun) for noun in _objects_of(child)), "")
            if said and child.lower_ in {"in", "to", "with", "on", "for", "at"}:
                words += [child.lower_, said]
    text = " ".join(words)
    return text if len(text.split()) <= LONGEST_OBJECT and words[0].isalpha() and verb.tag_ != "PRP" else ""


def _relations(scene: Scene) -> Iterator[Claim]:
    """(Maya, sister, Elena) of every relation whose holder is known."""
    for found in scene.relations:
        owner = scene.owner(found.holder)
        name = scene.names.at(found.name)
        if owner is None or name is None:
            continue
        node = Node(name.text(scene.doc), name.type)
        if owner.text == node.text:
            continue
        stance = Stance(negated=found.negated)
        yield _claim(scene, found.noun, stance, owner, found.predicate, node, (found.holder, found.name))


def _owned_subject(verb: Token) -> Token | None:
    """The "color" of "my favorite color is blue"; None where a person is the subject."""
    if verb.lower_ not in {"is", "'s", "’s", "are", "was"} or _is_passive(verb):
        return None
    subject = next((child for child in verb.children if child.dep_ == "nsubj"), None)
    if subject is None or holder_of(subject) is None or not subject.tag_.startswith("NN"):
        return None
    return None if relation(subject.text) or subject.lower_ in VAGUE_NOUNS | {"name"} else subject


def _owned(scene: Scene, verb: Token, noun: Token, stance: Stance) -> Iterator[Claim]:
    """(Maya, favorite color, blue): what somebody's something is."""
    holder = holder_of(noun)
    owner = scene.owner(holder) if holder is not None else None
    words = [child.lower_ for child in noun.lefts if child.dep_ in {"amod", "compound"}]
    if owner is None or len(words) > 2:
        return
    predicate = " ".join([*words, noun.lower_]).replace("favourite", "favorite")
    for child in verb.children:
        if child.dep_ not in {"attr", "acomp"}:
            continue
        for each in each_of(child):
            name = scene.names.at(each)
            if name is not None:
                node = Node(name.text(scene.doc), name.type)
            elif child.dep_ == "acomp":
                node = Node(each.lower_, "other") if each.lower_ in LASTING else None
            else:
                node = None if {t.lower_ for t in each.lefts} & PRAISE else scene.thing(each, owner)
            if node is not None and node.text != owner.text:
                yield _claim(scene, verb, stance, owner, predicate, node, (noun, each))


def _claim(
    scene: Scene,
    verb: Token,
    stance: Stance,
    subject: Node,
    predicate: str,
    node: Node,
    ends: tuple[Token, Token],
    *,
    without: bool = False,
) -> Claim:
    if stance.used_to:
        predicate = PAST_STATES.get(predicate, f"used to {predicate}")
    elif stance.past and predicate in PAST_STATES and stance.modality == "asserted":
        predicate = PAST_STATES[predicate]
    return Claim(
        subject=subject.text,
        predicate=predicate,
        object=node.text,
        negated=stance.negated != without,
        modality=stance.modality,
        surface=_surface(scene, verb, ends),
        subject_type=subject.type,
        object_type=node.type,
    )


def _surface(scene: Scene, verb: Token, ends: tuple[Token, Token]) -> str:
    """The words from the first to the last part of the clause, with its date."""
    first = min(verb.i, *(end.left_edge.i for end in ends))
    last = max(verb.i, *(end.i for end in ends))
    for child in verb.rights:
        if child.dep_ in {"npadvmod", "prep", "advmod"} and child.right_edge.i - last <= LONGEST_OBJECT:
            last = max(last, child.right_edge.i)
    name = scene.names.at(scene.doc[last])
    return scene.doc[first : max(last, name.last if name else 0) + 1].text[:SURFACE_LIMIT]


def _canonical(parsed: str) -> str:
    return PREDICATES.get(parsed, parsed)


def _tells(lemma: str, node: Node) -> bool:
    """Whether verb and object say something worth keeping."""
    return lemma not in NOT_CLAIMS or node.type != "other" and lemma in {"know", "see", "show", "support", "help", "admire"}


def _objects_of(prep: Token) -> Iterator[Token]:
    for child in prep.children:
        if child.dep_ == "pobj":
            yield from each_of(child)


def _antecedent(subject: Token, verb: Token) -> Token:
    """The noun for which "who" or "that" stands."""
    if verb.dep_ == "relcl" and subject.tag_ in {"WP", "WDT"}:
        return verb.head
    return subject


def _is_passive(verb: Token) -> bool:
    return any(child.dep_ == "auxpass" for child in verb.children)


def _has_aux(verb: Token) -> bool:
    return any(child.dep_ in {"aux", "auxpass"} for child in verb.children)


def _is_none(noun: Token) -> bool:
    """ "no siblings", "neither Tom": the object denies the clause."""
    return any(child.lower_ in {"no", "neither"} and child.dep_ in {"det", "preconj"} for child in noun.children)


def _is_elided(verb: Token) -> bool:
    """ "Moved to Berlin last week!": a past verb that opens a sentence leaves "I" out."""
    if verb.dep_ != "ROOT" or verb.tag_ not in {"VBD", "VBN"} or _is_passive(verb):
        return False
    return all(token.tag_ in {"RB", "UH", ",", "_SP"} for token in verb.sent if token.i < verb.i)


def _age(adjective: Token) -> str:
    years = next((child for child in adjective.children if child.lower_ in {"years", "year"}), None)
    number = next((child.text for child in years.children if child.dep_ == "nummod"), "") if years else ""
    return number
