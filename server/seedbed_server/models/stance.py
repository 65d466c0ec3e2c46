"""How a clause is meant: as a fact, an intention, a possibility, or not at all.

Read from the clause's own auxiliaries and negation, and from what it hangs on:
"I think that ..." makes it possible, "plan to ..." an intention, "if ..." and a
question nothing to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spacy.tokens import Token

from .lemmas import Lemmas
from .vocabulary import (
    DOING,
    DOUBT,
    HYPOTHETICAL_MARKS,
    NEGATIONS,
    PLANNING,
    PLANNING_ADJECTIVES,
    REPORTING,
    SOON,
    SUPPOSING,
)

_PAST_TAGS = {"VBD"}
_DEPTH = 8  # clauses within clauses; deeper ones are nobody's plain statement


@dataclass(frozen=True, slots=True)
class Stance:
    """What a clause claims of itself. ``ability`` is "can"; ``past`` a tense that has ended."""

    negated: bool = False
    modality: str = "asserted"
    past: bool = False
    used_to: bool = False
    ability: bool = False


def stance_of(verb: Token, lemmas: Lemmas, depth: int = 0) -> Stance | None:
    """How a verb's clause is meant; None if it claims nothing."""
    if depth > _DEPTH or _is_hypothetical(verb):
        return None
    own = _own(verb, lemmas)
    if own is None:
        return None
    return _within(verb, own, lemmas, depth)


def is_question(sentence: list[Token]) -> bool:
    """A sentence that asks: by its mark, by inversion, or by a leading question word."""
    if any(token.text in {"?", "??", "?!", "!?"} for token in sentence[-3:]):
        return True
    words = [token for token in sentence if token.tag_ not in {"UH", "_SP", ",", ".", ":", "CC"}]
    if not words:
        return False
    first = words[0]
    if first.dep_ in {"aux", "auxpass"} and first.head.i > first.i:
        return any(c.dep_ in {"nsubj", "nsubjpass"} and c.i > first.i for c in first.head.children)
    if first.tag_ in {"WP", "WRB", "WDT", "WP$"}:
        # "When I was in Rome, ..." is no question; "when did you go" is.
        return first.head.dep_ == "ROOT" or first.dep_ in {"attr", "det"}
    return first.dep_ == "ROOT" and first.lower_ in {"is", "are", "was", "were", "am", "do", "did", "have", "has"} and any(
        child.dep_ == "nsubj" for child in first.children
    )


def _is_hypothetical(verb: Token) -> bool:
    for child in verb.children:
        if child.dep_ in {"mark", "advmod"} and child.lower_ in HYPOTHETICAL_MARKS and child.i < verb.i:
            return True
        if child.dep_ == "advcl" and any(
            mark.dep_ == "mark" and mark.lower_ in {"if", "unless"} for mark in child.children
        ):
            return True
    return verb.dep_ == "advcl" and verb.head.dep_ == "prep"


def _own(verb: Token, lemmas: Lemmas) -> Stance | None:
    """From the auxiliaries, negation and adverbs of the verb itself."""
    negated = any(child.dep_ == "neg" or child.lower_ in NEGATIONS and child.dep_ in {"advmod", "neg"} for child in verb.children)
    negated = negated != _no_longer(verb)
    stance = Stance(negated=negated, past=verb.tag_ in _PAST_TAGS)
    if any(child.dep_ == "advmod" and child.lower_ in DOUBT for child in verb.children):
        stance = replace(stance, modality="possible")
    present = False
    for aux in verb.children:
        if aux.dep_ not in {"aux", "auxpass"}:
            continue
        lemma = lemmas.of(aux)
        if lemma in {"will", "shall", "gonna", "wanna", "gotta"}:
            stance = replace(stance, modality="planned")
        elif lemma in {"might", "may", "could"}:
            stance = replace(stance, modality="possible")
        elif lemma == "can":
            stance = replace(stance, ability=True)
        elif lemma in {"would", "should", "must", "ought", "'d", "better"}:
            return None
        elif aux.tag_ == "VBD" or aux.lower_ in {"was", "were", "did"}:
            stance = replace(stance, past=True)
        elif lemma == "be":
            present = True
    if any(child.lower_ in {"wanna", "gonna", "gotta"} for child in verb.lefts):
        stance = replace(stance, modality="planned")
    if present and verb.tag_ == "VBG" and lemmas.of(verb) in SOON and stance.modality == "asserted":
        stance = replace(stance, modality="planned")
    return stance


def _no_longer(verb: Token) -> bool:
    return any(
        child.lower_ == "longer" and any(each.lower_ == "no" for each in child.children) for child in verb.children
    )


def _within(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """What the clause becomes under the one it hangs on."""
    head = verb.head
    if verb.dep_ == "ROOT" or head == verb:
        return own
    if verb.dep_ == "conj" and (head.tag_.startswith("VB") or head.dep_ == "ROOT"):
        return _joined(verb, own, lemmas, depth)
    if verb.dep_ == "xcomp":
        return _complement(verb, own, lemmas, depth)
    if verb.dep_ == "ccomp":
        return _reported(verb, own, lemmas, depth)
    if verb.dep_ == "pcomp":
        return _considered(verb, own, lemmas, depth)
    if verb.dep_ == "advcl":
        return _adverbial(verb, own, lemmas)
    if verb.dep_ in {"relcl", "parataxis", "dep"}:
        return own
    return None


def _joined(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """ "will sell it and move": a joined verb without an auxiliary of its own shares the first one's."""
    outer = stance_of(verb.head, lemmas, depth + 1)
    has_subject = any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children)
    if outer is None:
        # "If I win, I'll buy a car" says nothing; a new subject after "and" may say something.
        return own if has_subject and verb.head.dep_ == "ROOT" and not _is_hypothetical(verb.head) else None
    has_aux = any(child.dep_ in {"aux", "auxpass"} for child in verb.children)
    if has_subject or has_aux or verb.tag_ in {"VBD", "VBZ", "VBP"}:
        return own
    either = any(child.dep_ == "cc" and child.lower_ in {"or", "nor"} for child in verb.head.children)
    return replace(
        outer, negated=own.negated or (outer.negated and either), past=outer.past or own.past
    )


def _complement(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """ "plan to move", "going to move", "used to live", "started working", "would love to visit"."""
    head = verb.head
    infinitive = any(child.dep_ == "aux" and child.tag_ == "TO" for child in verb.children)
    lemma = lemmas.of(head)
    if lemma in {"love", "like", "prefer"} and infinitive and _has_would(head, lemmas):
        return replace(own, modality="planned") if not _is_hypothetical(head) else None
    outer = stance_of(head, lemmas, depth + 1)
    if outer is None:
        return None
    negated = own.negated != outer.negated
    if head.lower_ == "used" and infinitive:
        return replace(own, negated=negated, past=True, used_to=True)
    if infinitive and head.lower_ in PLANNING_ADJECTIVES:
        return replace(own, negated=negated, modality=_weaker("planned", outer.modality))
    if infinitive and lemma in PLANNING:
        # What was wanted in the past may never have come about.
        return None if outer.past and lemma not in {"decide", "go"} else replace(
            own, negated=negated, modality=_weaker("planned", outer.modality)
        )
    if lemma in DOING and lemma != "help":
        return replace(own, negated=negated, past=outer.past, modality=_weaker(own.modality, outer.modality))
    return None


def _has_would(verb: Token, lemmas: Lemmas) -> bool:
    return any(child.dep_ == "aux" and lemmas.of(child) == "would" for child in verb.children)


def _reported(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """ "I think that ...", "I heard that ...", "I wish ..."."""
    head = verb.head
    if not head.tag_.startswith("VB"):
        return own if head.tag_.startswith("JJ") and head.lower_ in {"glad", "happy", "sad", "proud", "thrilled"} else None
    lemma = lemmas.of(head)
    outer = stance_of(head, lemmas, depth + 1)
    if outer is None:
        return None
    if lemma in SUPPOSING:
        return replace(own, negated=own.negated != outer.negated, modality="possible")
    if outer.negated or outer.modality != "asserted":
        return None
    adjectives = [child.lower_ for child in head.children if child.dep_ == "acomp"]
    if lemma == "be" and adjectives and not set(adjectives) <= {"glad", "happy", "sad", "proud", "thrilled", "true"}:
        return replace(own, modality="possible") if set(adjectives) <= {"sure", "certain"} else None
    if lemma in REPORTING or (head.i > verb.i and head.tag_ != "VBN"):
        return own  # the second: "..., I heard" and clauses that a comma joins
    return None


def _considered(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """ "thinking about moving", "planning on moving", "looking forward to visiting"."""
    governor = verb.head.head
    if verb.head.lower_ not in {"about", "of", "on", "to"} or not governor.tag_.startswith("VB"):
        return None
    outer = stance_of(governor, lemmas, depth + 1)
    if outer is None or outer.negated or outer.past and governor.tag_ != "VBG":
        return None
    lemma = lemmas.of(governor)
    if lemma in {"think", "dream", "talk"}:
        return replace(own, modality="possible")
    return replace(own, modality="planned") if lemma in {"plan", "look"} else None


def _adverbial(verb: Token, own: Stance, lemmas: Lemmas) -> Stance | None:
    """ "when I was in Rome", "because she hates fish": facts, if they have a subject of their own."""
    if not any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children):
        return None
    if any(child.dep_ == "aux" and child.tag_ == "TO" for child in verb.children):
        return None
    ahead = any(child.lower_ in {"when", "once", "before", "after"} for child in verb.lefts)
    return None if ahead and stance_is_future(verb.head, lemmas) else own


def stance_is_future(verb: Token, lemmas: Lemmas) -> bool:
    """Whether a verb stands in the future: what "when ..." says of it has not happened yet."""
    return any(child.dep_ == "aux" and lemmas.of(child) in {"will", "would", "can", "should"} for child in verb.children)


def _weaker(one: str, other: str) -> str:
    order = ("asserted", "planned", "possible")
    return max(one, other, key=order.index)
