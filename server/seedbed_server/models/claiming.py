"""How a clause and what it says become a claim, with its words and its times."""

from __future__ import annotations

from dataclasses import replace

from spacy.tokens import Token

from .clauses import Clause, Said, is_none
from .contract import SURFACE_LIMIT, Claim
from .phrases import LONGEST_OBJECT, Scene
from .predicates import LASTS, PAST_STATES
from .spells import Spell
from .stance import is_present


def claim_of(clause: Clause, said: Said, source: Token) -> Claim:
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


def dated_by(claim: Claim, spell: Spell, verb: Token, scene: Scene) -> Claim:
    """The claim with the times of its clause; what is said to begin later is a plan."""
    if scene.time is None or claim.valid_from is not None or claim.valid_to is not None:
        return claim
    if claim.object_type == "date":
        return claim  # the day is what is said
    present = is_present(verb)
    begin, end = spell.bounds(
        scene.time,
        ahead=claim.modality != "asserted" or present,
        over=claim.predicate.startswith(("used to", "had", "was")),
        goes_on=verb.tag_ in {"VBN", "VBG", "JJ"} and not claim.predicate.startswith("used to"),
    )
    planned = present and claim.modality == "asserted" and begin is not None and begin > scene.time
    return replace(claim, valid_from=begin, valid_to=end, modality="planned" if planned else claim.modality)


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
