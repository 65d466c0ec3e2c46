"""How a clause is meant: as a fact, an intention, a possibility, or not at all.

Read from the clause's own auxiliaries and negation, and from what it hangs on:
"I think that ..." makes it possible, "plan to ..." an intention, "if ..." and a
question nothing to be remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from spacy.tokens import Span, Token

from .lemmas import Lemmas
from .vocabulary import (
    BIRTHS,
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

_PRESENT_BE = {"am", "is", "are", "'m", "'re", "'s", "\u2019m", "\u2019re", "\u2019s"}
_UNCHANGING = {"quit", "put", "cut", "hit", "let", "set", "read", "shut", "split", "bet", "cost", "hurt"}
"""Verbs whose past is written as their present."""
_NEARLY = {"almost", "nearly"}
_MOVED = {"glad", "happy", "sad", "proud", "thrilled"}
_IRONY = re.compile(
    r"(?:oh,? (?:great|wow|sure|joy|fantastic|wonderful|perfect|lovely|nice|brilliant|good)\b(?!,? (?:i|my|we|you))"
    r"|yeah,? (?:right|sure)\b|sure,? (?:because|and)\b|right,? (?:because|and|he's|she's|i'm)\b|as if\b"
    r"|because,? (?:obviously|clearly|of course)\b|of course,? because\b|obviously,? because\b|wow,? thanks\b"
    r"|(?:great|lovely|fantastic|brilliant|wonderful|perfect),? (?:another|just what)\b|just what i needed\b)",
    re.IGNORECASE,
)
_IRONIC = {
    *("oh", "yeah", "sure", "right", "as", "because", "of", "obviously", "wow", "great", "lovely", "fantastic"),
    *("brilliant", "wonderful", "perfect", "just"),
}
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


def is_ironic(sentence: Span) -> bool:
    """A sentence that opens as only irony does, after which nothing is meant as it is said: "Oh great, another ..."."""
    return sentence[0].lower_ in _IRONIC and _IRONY.match(sentence.text) is not None


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
    return (
        first.dep_ == "ROOT"
        and first.lower_ in {"is", "are", "was", "were", "am", "do", "did", "have", "has"}
        and any(child.dep_ == "nsubj" for child in first.children)
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
    objects = [child.i for child in verb.rights if child.dep_ in {"attr", "acomp", "dobj"}]
    negated = any(
        (child.dep_ == "neg" or (child.dep_ == "advmod" and child.lower_ in NEGATIONS))
        and not any(i < child.i for i in objects)  # "I'm Tom, not Tim"
        for child in verb.children
    )
    stance = Stance(negated=negated != _no_longer(verb), past=verb.tag_ == "VBD" and not _just_born(verb))
    for child in verb.children:
        if is_nearly(child):
            return None
        if child.dep_ == "advmod" and child.lower_ in DOUBT:
            stance = replace(stance, modality="possible")
        elif child.lower_ in {"wanna", "gonna", "gotta"}:
            stance = replace(stance, modality="planned")
        elif child.dep_ in {"aux", "auxpass"}:
            helped = _helped(stance, child, lemmas.of(child))
            if helped is None:
                return None
            stance = helped
    if stance.modality == "asserted" and _is_arranged(verb, lemmas):
        stance = replace(stance, modality="planned")
    return stance


def is_nearly(word: Token) -> bool:
    """Whether a word, or one that hangs on an auxiliary, says that it did not come to that: "almost (got) married"."""
    return any(
        each.lower_ in _NEARLY and each.dep_ == "advmod" and each.i + 1 < len(each.doc) and each.nbor().dep_ != "neg"
        for each in (word, *(word.children if word.dep_ == "auxpass" else ()))
    )


def _just_born(verb: Token) -> bool:
    """Whether somebody "had" a child: who has it still."""
    return verb.lower_ == "had" and any(
        each.lower_ in BIRTHS for child in verb.children if child.dep_ == "dobj" for each in (child, *child.conjuncts)
    )


def _helped(stance: Stance, aux: Token, lemma: str) -> Stance | None:
    """What an auxiliary makes of a clause; None for "would" and "should"."""
    if lemma in {"would", "should", "must", "ought", "better"}:
        return None
    if lemma in {"will", "shall"}:
        return replace(stance, modality="planned")
    if lemma in {"might", "may", "could"}:
        if _is_addressed(aux.head):
            return None  # "you could visit Rome" is advice
        return replace(stance, modality="possible")
    if lemma == "can":
        return replace(stance, ability=True)
    return replace(stance, past=True) if aux.tag_ == "VBD" or aux.lower_ in {"was", "were", "did"} else stance


def _is_arranged(verb: Token, lemmas: Lemmas) -> bool:
    """Whether a present progressive is an arrangement: "I'm moving to Berlin in May"."""
    helpers = _helpers(verb)
    if "been" in helpers or not helpers & _PRESENT_BE:
        return False
    return (verb.tag_ == "VBG" and lemmas.of(verb) in SOON) or "getting" in helpers


def is_present(verb: Token) -> bool:
    """Whether a clause speaks of now or of what is to come: "I start", "we're getting married", "starting in May"."""
    helpers = _helpers(verb)
    if helpers & {"been", "have", "has", "had", "'ve", "\u2019ve", "was", "were", "did", "got"}:
        return False
    if (verb.tag_ == "VBP" and verb.lower_ not in _UNCHANGING) or verb.tag_ == "VBZ" or helpers & _PRESENT_BE:
        return True
    return verb.tag_ == "VBG" and verb.dep_ == "ROOT" and not helpers


def _helpers(verb: Token) -> set[str]:
    """The auxiliaries of a verb, and of "getting" in "is getting married"."""
    own = [child for child in verb.children if child.dep_ in {"aux", "auxpass"}]
    return {each.lower_ for aux in own for each in (aux, *aux.children)}


def _no_longer(verb: Token) -> bool:
    return any(
        child.lower_ == "longer" and any(each.lower_ == "no" for each in child.children) for child in verb.children
    )


def _within(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """What the clause becomes under the one it hangs on."""
    head = verb.head
    if verb.dep_ == "ROOT" or head == verb:
        return own
    if verb.dep_ == "conj":
        return _joined(verb, own, lemmas, depth) if head.tag_.startswith("VB") or head.dep_ == "ROOT" else None
    if verb.dep_ in {"relcl", "parataxis", "dep"}:
        return own
    if verb.dep_ == "advcl":
        return _adverbial(verb, own)
    governed = {"xcomp": _complement, "ccomp": _reported, "pcomp": _considered}.get(verb.dep_)
    return governed(verb, own, lemmas, depth) if governed else None


def _joined(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """As in "will sell it and move": a joined verb without an auxiliary of its own shares the first one's."""
    outer = stance_of(verb.head, lemmas, depth + 1)
    has_subject = any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children)
    if outer is None:
        # "If I win, I'll buy a car" says nothing; a new subject after "and" may say something.
        return own if has_subject and verb.head.dep_ == "ROOT" and not _is_hypothetical(verb.head) else None
    has_aux = any(child.dep_ in {"aux", "auxpass"} for child in verb.children)
    if has_subject or has_aux or verb.tag_ in {"VBD", "VBZ", "VBP"}:
        return own
    either = any(child.dep_ == "cc" and child.lower_ in {"or", "nor"} for child in verb.head.children)
    return replace(outer, negated=own.negated or (outer.negated and either), past=outer.past or own.past)


def _complement(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """As in "plan to move", "going to move", "used to live", "started working", "would love to visit"."""
    head = verb.head
    infinitive = any(child.dep_ == "aux" and child.tag_ == "TO" for child in verb.children)
    lemma = lemmas.of(head)
    if lemma in {"love", "like", "prefer"} and infinitive and _has_would(head, lemmas):
        return None if _is_hypothetical(head) else replace(own, modality="possible")  # a wish is no plan
    governor = head.head if head.tag_.startswith("JJ") and head.dep_ == "acomp" else head
    outer = stance_of(governor, lemmas, depth + 1)
    if outer is None or outer.ability or (lemma in {"have", "need"} and _is_addressed(head)):
        return None
    under = replace(own, negated=own.negated != outer.negated)
    if head.lower_ == "used" and infinitive:
        return replace(under, past=True, used_to=True)
    if infinitive and (lemma in PLANNING or head.lower_ in PLANNING_ADJECTIVES):
        # What was wanted in the past may never have come about.
        wanted = outer.past and lemma not in {"decide", "go"}
        return None if wanted else replace(under, modality=_weaker("planned", outer.modality))
    if lemma in DOING and lemma != "help":
        return replace(under, past=outer.past, modality=_weaker(own.modality, outer.modality))
    return None


def _is_addressed(verb: Token) -> bool:
    return any(child.dep_ == "nsubj" and child.lower_ == "you" for child in verb.children)


def _has_would(verb: Token, lemmas: Lemmas) -> bool:
    return any(child.dep_ == "aux" and lemmas.of(child) == "would" for child in verb.children)


def _reported(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """As in "I think that ...", "I heard that ...", "I wish ..."."""
    head = verb.head
    if not head.tag_.startswith("VB"):
        return own if head.lower_ in _MOVED else None
    outer = own if _stands_apart(verb, head) else stance_of(head, lemmas, depth + 1)
    if outer is None or outer is own:
        return outer
    lemma = lemmas.of(head)
    if lemma in SUPPOSING:
        supposed = replace(own, negated=own.negated != outer.negated, modality="possible")
        return supposed if _has_subject(head) else None  # "Suppose Tom lived here"
    if outer.negated or outer.modality != "asserted":
        return None
    felt = {child.lower_ for child in head.children if child.dep_ == "acomp"}
    if lemma == "be" and felt and not felt <= _MOVED | {"true"}:
        return replace(own, modality="possible") if felt <= {"sure", "certain"} else None
    # The second: "..., I heard", and clauses that a comma joins.
    return own if lemma in REPORTING or _is_spliced(verb, head) else None


def _stands_apart(verb: Token, head: Token) -> bool:
    """As in "Got it: you live in Rome", "Guess what, I moved to Leeds!" and "I lived in Rome, would you believe"."""
    if any(token.text in {":", "-", "\u2013", "\u2014"} for token in verb.doc[head.i : verb.i]):
        return True
    if verb.doc[head.i : head.i + 3].text.lower() == "guess what,":
        return True
    return head.i > verb.i and any(child.lower_ in {"would", "d"} for child in head.lefts)


def _is_spliced(verb: Token, head: Token) -> bool:
    return head.i > verb.i and (head.tag_ != "VBN" or any(token.text == "," for token in verb.doc[verb.i : head.i]))


def _has_subject(verb: Token) -> bool:
    return any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children)


def _considered(verb: Token, own: Stance, lemmas: Lemmas, depth: int) -> Stance | None:
    """As in "thinking about moving", "planning on moving", "looking forward to visiting"."""
    governor = verb.head.head
    if verb.head.lower_ not in {"about", "of", "on", "to"} or not governor.tag_.startswith("VB"):
        return None
    outer = stance_of(governor, lemmas, depth + 1)
    if outer is None or outer.negated or (outer.past and governor.tag_ != "VBG"):
        return None
    lemma = lemmas.of(governor)
    if lemma in {"think", "dream", "talk"}:
        return replace(own, modality="possible")
    return replace(own, modality="planned") if lemma in {"plan", "look"} else None


def _adverbial(verb: Token, own: Stance) -> Stance | None:
    """As in "when I was in Rome", "because Ana hates fish": facts, if they have a subject of their own."""
    if not any(child.dep_ in {"nsubj", "nsubjpass"} for child in verb.children):
        return None
    if any(child.dep_ == "aux" and child.tag_ == "TO" for child in verb.children):
        return None
    timed = any(child.lower_ in {"when", "whenever", "once", "before", "after"} for child in verb.lefts)
    # "When I come to Boston" has not happened yet, or happens now and then.
    return None if timed and not own.past and verb.tag_ != "VBN" else own


def _weaker(one: str, other: str) -> str:
    order = ("asserted", "planned", "possible")
    return max(one, other, key=order.index)
