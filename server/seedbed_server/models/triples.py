"""What a text says: who did what to whom, read from the dependency parse.

Every verb that claims something (`stance`) is joined with who acts and with what
it is about (`complements`, `phrases`). What cannot be resolved is dropped: a
graph with few claims that hold is worth more than one with many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spacy.tokens import Token

from .complements import Clause, Said, antecedent, complements, is_none, is_passive, objects_of
from .contract import Claim
from .lemmas import Lemmas
from .phrases import LONGEST_OBJECT, Node, Scene, acts_next, each_of
from .references import resolve
from .relations import holder_of
from .spells import Spell, spells
from .stance import Stance, is_ironic, is_question, stance_of
from .turning import about_object, called_by_all, echoed, mutual, respectively
from .vocabulary import (
    ANNIVERSARIES,
    ASSISTANTS,
    DRAFTS,
    ELIDED,
    LASTING,
    LASTS,
    PAST_STATES,
    PRAISE,
    SKILLS,
    VAGUE_NOUNS,
    relation,
)

SURFACE_LIMIT = 300
"""Code points of the longest surface that is kept."""

CLAIMS_LIMIT = 200
"""Claims of one piece that are kept: more is a list, or noise."""

STATES = {"live", "work", "study", "be", "have", "own"}
"""Verbs whose past tense says that it is over."""

_IS = {"is", "'s", "are", "was"}
_SUBJECTS = {"nsubj", "nsubjpass"}


class Triples:
    """Reads the claims of scenes. Holds nothing but the tables of the model."""

    def __init__(self, lemmas: Lemmas) -> None:
        self._lemmas = lemmas

    def of(self, scene: Scene) -> list[Claim]:
        """The claims of one scene, relations first, each once."""
        resolve(scene)
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
        dated = spells(scene.doc) if scene.time is not None else {}
        for sentence in scene.doc.sents:
            tokens = list(sentence)
            if is_ironic(sentence):
                return
            if is_question(tokens):
                continue
            for token in tokens:
                if _may_claim(token):
                    claims = self._clause(scene, token)
                    spell = dated.get(token.i) if dated else None
                    yield from claims if spell is None else (_when(claim, spell, token, scene) for claim in claims)

    def _clause(self, scene: Scene, verb: Token) -> Iterator[Claim]:
        yield from _own_name(scene, verb)
        owned = _owned_subject(verb)
        subjects = [] if owned is not None else list(self._subjects(scene, verb))
        if not subjects and owned is None:
            return
        stance = stance_of(verb, self._lemmas)
        if stance is None:
            return
        if owned is not None:
            yield from _owned(scene, verb, owned, stance)
            return
        said_before = echoed(verb, self._lemmas)
        if _is_edit(scene, verb):
            return
        if said_before is not None:
            verb, denied = said_before
            repeated = stance_of(verb, self._lemmas)
            if repeated is None:
                return
            stance = replace(repeated, negated=denied)
        lemma = self._lemma(verb)
        if stance.ability and lemma not in SKILLS:
            return
        if lemma not in STATES:
            stance = replace(stance, past=False)
        whose = respectively(verb, subjects)
        for subject, source in subjects:
            clause = Clause(scene, verb, lemma, stance, subject)
            turned = list(about_object(clause))
            for other, said in turned:
                yield _claim(replace(clause, subject=other), said, source)
            if turned:
                continue
            if (joined := mutual(clause, [node for node, _ in subjects if node != subject])) is not None:
                if subject == subjects[0][0]:
                    yield _claim(clause, joined, source)
                continue
            for said in complements(clause, self._lemmas):
                if whose is None or whose.get(said.last.i, subject) == subject:
                    yield _claim(clause, said, source)

    def _lemma(self, verb: Token) -> str:
        """The verb's lemma; "have got" is "have"."""
        lemma = self._lemmas.of(verb)
        held = verb.lower_ == "got" and verb.tag_ == "VBN" and any(self._lemmas.of(aux) == "have" for aux in verb.lefts)
        return "have" if held else lemma

    def _subjects(self, scene: Scene, verb: Token) -> Iterator[tuple[Node, Token]]:
        """(node, token) of everyone who acts in a clause, borrowed from an outer one if it must."""
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if len(own) > 1 and own[0].nbor().text == "," and own[0].sent.start == own[0].left_edge.i:
            del own[0]  # "Ana, from 2014 on I lived in Rome": she is called
        for subject in own:
            for each in each_of(antecedent(subject, verb)):
                yield from ((node, each) for node in scene.agents(each))
        if not own and verb.i > 0 and acts_next(verb.nbor(-1)) == verb:
            own = [verb.nbor(-1)]
            yield from ((node, own[0]) for node in scene.agents(own[0]))
        if own and not any(scene.agents(each) for each in own):
            yield from called_by_all(scene, verb, self._lemmas)
            if _is_placed(verb, self._lemmas):
                yield from ((node, each) for each in own if (node := scene.located(each)) is not None)
        if own or any(child.dep_ == "expl" for child in verb.children):
            return
        if (outer := _lends_subject(verb)) is not None:
            yield from self._subjects(scene, outer)
        elif scene.speaker and verb.i not in scene.quoted and _is_elided(verb):
            yield Node(scene.speaker, "person"), verb


def _may_claim(token: Token) -> bool:
    """Whether a token is the head of a clause: a verb, or a participle that was taken for an adjective."""
    if token.tag_.startswith("VB"):
        return token.dep_ not in {"aux", "auxpass", "amod", "compound"}
    return token.tag_ == "JJ" and token.dep_ in {"ROOT", "conj", "ccomp"} and is_passive(token)


def _lends_subject(verb: Token) -> Token | None:
    """The verb whose subject one without its own shares: "plans to MOVE", "eats and DRINKS"."""
    head = verb.head
    if verb.dep_ == "xcomp" and head.tag_[:2] in {"VB", "JJ"}:
        if any(child.dep_ == "dobj" for child in head.children):
            return None  # "told Tom to move"
        return head if head.tag_.startswith("VB") else head.head
    if verb.dep_ == "conj" and head.tag_.startswith("VB"):
        ordered = verb.tag_ == "VB" and not any(child.dep_ in {"aux", "cc"} for child in head.children)
        return None if ordered else head  # "I'm here, call me"
    if verb.dep_ == "pcomp" and head.head.tag_.startswith("VB"):
        return head.head
    return None


def _is_edit(scene: Scene, verb: Token) -> bool:
    """Whether somebody works on a text of the conversation: "I shortened the second paragraph"."""
    if scene.speaker.casefold() in ASSISTANTS and any(child.lower_ in {"i", "we"} for child in verb.children):
        return True
    return any(child.dep_ in {"dobj", "nsubjpass"} and child.lower_ in DRAFTS for child in verb.children)


def _is_placed(verb: Token, lemmas: Lemmas) -> bool:
    """Whether a clause says nothing of its subject but where it is."""
    rest = [child for child in verb.children if child.dep_ in {"attr", "acomp", "prep", "ccomp", "advcl"}]
    return lemmas.of(verb) == "be" and [child.dep_ for child in rest] == ["prep"] and rest[0].lower_ in {"in", "near"}


def _is_elided(verb: Token) -> bool:
    """Whether a verb opens its sentence, and so leaves "I" out: "Moved to Berlin last week!", "Starting at Bosch"."""
    if verb.dep_ != "ROOT" or verb.tag_ not in {"VBD", "VBN", "VBG"} or is_passive(verb):
        return False
    if verb.tag_ == "VBG" and verb.lower_ not in ELIDED:
        return False
    return all(token.tag_ in {"RB", "UH", ",", "_SP"} for token in verb.sent if token.i < verb.i)


def _relations(scene: Scene) -> Iterator[Claim]:
    """(Maya, sister, Elena) of every relation whose holder is known."""
    for found in scene.relations:
        owner = scene.owner(found.holder)
        name = scene.names.at(found.name)
        if owner is None or name is None:
            continue
        clause = Clause(scene, found.noun, "", Stance(negated=found.negated), owner)
        said = Said(found.predicate, scene.named(name), found.name)
        yield _claim(clause, said, found.holder)


def _own_name(scene: Scene, verb: Token) -> Iterator[Claim]:
    """(Maya, be called, May) of "my name is May"; the name of a relative is a relation."""
    subject = next((child for child in verb.children if child.dep_ == "nsubj" and child.lower_ == "name"), None)
    holder = holder_of(subject) if subject is not None else None
    owner = scene.person(holder) if holder is not None and verb.lower_ in _IS else None
    for child in verb.children if owner is not None else ():
        if child.dep_ == "attr" and (name := scene.agent(child)) is not None and owner is not None:
            yield _claim(Clause(scene, verb, "", Stance(), owner), Said("be called", name, child), child)


def _owned_subject(verb: Token) -> Token | None:
    """The "color" of "my favorite color is blue"; None where a person is the subject."""
    if verb.lower_ not in _IS or is_passive(verb):
        return None
    subject = next((child for child in verb.children if child.dep_ == "nsubj"), None)
    if subject is None or holder_of(subject) is None or subject.tag_ not in {"NN", "NNS"}:
        return None
    alone = not any(child.dep_ == "compound" for child in subject.lefts)  # "phone number" is not vague
    dated = subject.lower_ in ANNIVERSARIES and any(child.lower_ in {"on", "in"} for child in verb.rights)
    if not dated and not any(child.dep_ in {"attr", "acomp"} for child in verb.children):
        return None
    return None if relation(subject.text) or (alone and subject.lower_ in VAGUE_NOUNS | {"name"}) else subject


def _owned(scene: Scene, verb: Token, noun: Token, stance: Stance) -> Iterator[Claim]:
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
                yield _claim(clause, Said(predicate, node, each), noun)
        if child.dep_ == "prep" and child.lower_ in {"on", "in"} and noun.lower_ in ANNIVERSARIES:
            for day in objects_of(child):
                words = scene.doc[day.left_edge.i : day.right_edge.i + 1].text.removeprefix("the ")
                yield _claim(clause, Said(predicate, Node(words, "date"), day.right_edge), noun)


def _value(clause: Clause, token: Token, *, adjective: bool) -> Node | None:
    """What something is: a name, a date, a lasting property, or a plain phrase."""
    name = clause.scene.names.at(token)
    if name is not None:
        return clause.scene.named(name)
    if adjective:
        return Node(token.lower_, "other") if token.lower_ in LASTING else None
    return None if {left.lower_ for left in token.lefts} & PRAISE else clause.thing(token)


def _claim(clause: Clause, said: Said, source: Token) -> Claim:
    """The claim of a clause; ``source`` is the token of its subject."""
    stance = clause.stance
    predicate = said.predicate
    if stance.used_to or (stance.past and stance.modality == "asserted" and not predicate.startswith(LASTS)):
        predicate = PAST_STATES.get(predicate, f"used to {predicate}")
    return Claim(
        subject=clause.subject.text,
        predicate=predicate,
        object=said.node.text,
        negated=stance.negated != (said.denied or _is_denied(source)),
        modality=stance.modality,
        surface=_surface(clause, source, said.last),
        subject_type=clause.subject.type,
        object_type=said.node.type,
    )


def _when(claim: Claim, spell: Spell, verb: Token, scene: Scene) -> Claim:
    """The claim with the times of its clause."""
    if scene.time is None:
        return claim
    begin, end = spell.bounds(
        scene.time,
        ahead=claim.modality != "asserted",
        over=claim.predicate.startswith(("used to", "had", "was")),
        goes_on=verb.tag_ in {"VBN", "VBG", "JJ"} and not claim.predicate.startswith("used to"),
    )
    return replace(claim, valid_from=begin, valid_to=end)


def _is_denied(subject: Token) -> bool:
    """Whether the subject denies the clause, as in "neither Tom nor Ana"."""
    while subject.dep_ == "conj":
        subject = subject.head
    return is_none(subject)


def _surface(clause: Clause, source: Token, said: Token) -> str:
    """The words from the first to the last part of the clause, with its date."""
    verb, doc = clause.verb, clause.scene.doc
    first = min(verb.i, source.left_edge.i, said.left_edge.i)
    last = max(verb.i, source.i, said.i)
    for child in verb.rights:
        if child.dep_ in {"npadvmod", "prep", "advmod"} and child.right_edge.i - last <= LONGEST_OBJECT:
            last = max(last, child.right_edge.i)
    name = clause.scene.names.at(doc[last])
    return doc[first : max(last, name.last if name else 0) + 1].text[:SURFACE_LIMIT]
