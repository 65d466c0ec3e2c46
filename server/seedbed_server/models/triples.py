"""What a text says: who did what to whom, read from the dependency parse.

Every verb that claims something (`stance`) is joined with who acts and with what
it is about (`complements`, `phrases`). What cannot be resolved is dropped: a
graph with few claims that hold is worth more than one with many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spacy.tokens import Token

from .claiming import claim_of, dated_by
from .clauses import Clause, Said, antecedent, is_passive
from .complements import complements
from .contract import Claim
from .lemmas import Lemmas
from .nicknaming import nicknames
from .owning import first_or_last_day, own_name, owned_subject, owned_value
from .phrases import Node, Scene
from .references import resolve
from .spells import spells
from .stance import Stance, is_ironic, is_question, stance_of
from .trees import acts_next, each_of
from .turning import about_object, called_by_all, echoed, mutual, respectively
from .vocabulary import ASSISTANTS, DRAFTS, ELIDED, SKILLS, relation

CLAIMS_LIMIT = 200
"""Claims of one piece that are kept: more is a list, or noise."""

STATES = {"live", "work", "study", "be", "have", "own"}
"""Verbs whose past tense says that it is over."""

_SUBJECTS = {"nsubj", "nsubjpass"}
_PASSIVES = {"got", "been"}  # not "was", which may be told of another


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
        yield from nicknames(scene)
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
                    yield from claims if spell is None else (dated_by(claim, spell, token, scene) for claim in claims)

    def _clause(self, scene: Scene, verb: Token) -> Iterator[Claim]:
        stance = stance_of(verb, self._lemmas)
        if stance is not None and not stance.negated and stance.modality != "possible":
            yield from own_name(scene, verb)
            yield from first_or_last_day(scene, verb)
        owned = owned_subject(verb)
        subjects = [] if owned is not None else list(self._subjects(scene, verb))
        if stance is None or (not subjects and owned is None):
            return
        if owned is not None:
            yield from owned_value(scene, verb, owned, stance)
            return
        if _is_edit(scene, verb):
            return
        if (before := echoed(verb, self._lemmas)) is not None:
            verb, denied = before
            repeated = stance_of(verb, self._lemmas)
            stance = replace(repeated, negated=denied) if repeated is not None else None
        lemma = self._lemma(verb)
        if stance is None or (stance.ability and lemma not in SKILLS):
            return
        if lemma not in STATES:
            stance = replace(stance, past=False)
        yield from self._said(Clause(scene, verb, lemma, stance, subjects[0][0]), subjects)

    def _said(self, shared: Clause, subjects: Sequence[tuple[Node, Token]]) -> Iterator[Claim]:
        """What a clause says of each of its subjects, or of its object."""
        verb = shared.verb
        whose = respectively(verb, subjects)
        for subject, source in subjects:
            clause = replace(shared, subject=subject)
            turned = list(about_object(clause))
            for other, said in turned:
                yield claim_of(replace(clause, subject=other), said, source)
            joined = None if turned else mutual(clause, [node for node, _ in subjects if node != subject])
            if joined is not None and subject == subjects[0][0]:
                yield claim_of(clause, joined, source)
            if turned or joined is not None:
                continue
            for said in complements(clause, self._lemmas):
                if whose is None or whose.get(said.last.i, subject) == subject:
                    yield claim_of(clause, said, source)

    def _lemma(self, verb: Token) -> str:
        """The verb's lemma; "have got" is "have", but "have got married" is not."""
        lemma = self._lemmas.of(verb)
        held = verb.lower_ == "got" and verb.tag_ == "VBN" and any(self._lemmas.of(aux) == "have" for aux in verb.lefts)
        held = held and not any(child.dep_ == "acomp" for child in verb.children)
        return "have" if held else lemma

    def _subjects(self, scene: Scene, verb: Token) -> Iterator[tuple[Node, Token]]:
        """(node, token) of everyone who acts in a clause, borrowed from an outer one if it must."""
        got = [child for child in verb.children if child.dep_ == "auxpass"]  # the parser may hang a subject on it
        own = [child for head in (verb, *got) for child in head.children if child.dep_ in _SUBJECTS]
        if len(own) > 1 and own[0].nbor().text == "," and own[0].sent.start == own[0].left_edge.i:
            # "Ana, from 2014 on I lived in Rome": she is called. "My boss, Mr. Li, lives ...": he is named.
            own = own[:1] if relation(own[0].text) else own[1:]
        for subject in own:
            for each in each_of(antecedent(subject, verb)):
                yield from ((node, each) for node in scene.agents(each))
        if not own and verb.i > 0 and acts_next(verb.nbor(-1)) == verb:
            own = [verb.nbor(-1)]
            yield from ((node, own[0]) for node in scene.agents(own[0]))
        if own and not any(scene.agents(each) for each in own):
            yield from called_by_all(verb, self._lemmas)
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
    """Whether a verb opens its sentence, and so leaves "I" out: "Moved to Berlin last week!", "Finally got married"."""
    if verb.dep_ != "ROOT" or verb.tag_ not in {"VBD", "VBN", "VBG"}:
        return False
    if is_passive(verb) and verb.doc[max(verb.i - 1, 0)].lower_ not in _PASSIVES:
        return False
    if verb.tag_ == "VBG" and verb.lower_ not in ELIDED:
        return False
    return all(
        token.tag_ in {"RB", "UH", ",", "_SP"} or token.dep_ == "auxpass" for token in verb.sent if token.i < verb.i
    )


def _relations(scene: Scene) -> Iterator[Claim]:
    """(Maya, sister, Elena) of every relation whose holder is known."""
    for found in scene.relations:
        left_out = found.holder == found.noun and scene.speaker and found.noun.i not in scene.quoted
        owner = Node(scene.speaker, "person") if left_out else scene.owner(found.holder)
        name = scene.names.at(found.name)
        if owner is None or name is None:
            continue
        clause = Clause(scene, found.noun, "", Stance(negated=found.negated), owner)
        said = Said(found.predicate, scene.named(name), found.name)
        yield claim_of(clause, said, found.holder)
