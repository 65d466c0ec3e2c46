"""A fact as a line that a model reads well: "Maya lives in Porto", "Maya does not eat shellfish"."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from seedbed.frame import clean_name
from seedbed_server.models.vocabulary import relation
from seedbed_server.projections.calendar import day, month
from seedbed_server.projections.entities import ROLES
from seedbed_server.projections.timeline import Spell
from seedbed_server.projections.triples import Fact

# Predicates that are said in the past already, by their first word.
_PAST = frozenset({"moved", "used", "had"})
_PLAIN = {"moved": "move", "used": "use", "had": "have"}
_NOUNS = frozenset({"favorite", "birthday"})
_IRREGULAR = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_SIBILANT = ("s", "x", "z", "ch", "sh")
_MODAL = {"planned": "plans to", "possible": "may"}


def sentence(fact: Fact, *, over: bool = False) -> str:
    """Return the fact as a clause in the third person, without a full stop; ``over`` is a plan whose day has passed."""
    fact = replace(fact, subject=_spoken(fact.subject), object=_spoken(fact.object))
    first, _, rest = fact.predicate.partition(" ")
    if relation(fact.predicate) or first in _NOUNS:
        return _belonging(fact)
    tail = " ".join(part for part in (rest, fact.object) if part)
    verb = _verb(first, fact)
    return f"{fact.subject} {verb.replace('plans', 'planned', 1) if over else verb} {tail}"


def dated(fact: Fact, spell: Spell, before: Fact | None, at: float) -> str:
    """Return the clause with what it needs in time: "Maya lives in Porto (since March 2026; before: Lisbon)".

    Since when is left out where it is the day of the message that the line is dated by. A plan is for a day, and is
    one of the past when, at the moment ``at``, that has come: "Maya planned to move to Porto (for March 2026)".
    """
    asides, planned = [], fact.modality == "planned"
    if _day(spell.valid_from) != _day(fact.last_said):
        asides.append(f"{'for' if planned else 'since'} {_day(spell.valid_from)}")
    if spell.valid_to is not None:
        asides.append(f"until {_day(spell.valid_to)}")
    if before is not None:
        asides.append(f"before: {clean_name(before.object)}")
    said = sentence(fact, over=planned and bool(asides) and spell.valid_from <= at)
    return f"{said} ({'; '.join(asides)})" if asides else said


def _spoken(name: str) -> str:
    return f"the {name}" if name in ROLES else clean_name(name)


def _day(seconds: float) -> str:
    """The day, or the month alone where a time is the very beginning of it: so "in May" is kept."""
    time = datetime.fromtimestamp(seconds, UTC)
    return month(time) if (time.day, time.hour, time.minute, time.second) == (1, 0, 0, 0) else day(time)


def _belonging(fact: Fact) -> str:
    """Say what belongs to whom: "Maya's sister is Elena"."""
    verb = {"planned": "is to be", "possible": "may be"}.get(fact.modality, "is")
    return f"{fact.subject}'s {fact.predicate} {verb}{' not' if fact.negated else ''} {fact.object}"


def _verb(verb: str, fact: Fact) -> str:
    if fact.modality in _MODAL:
        modal, verb = _MODAL[fact.modality], _PLAIN.get(verb, verb)
        if not fact.negated:
            return f"{modal} {verb}"
        return f"plans not to {verb}" if fact.modality == "planned" else f"may not {verb}"
    if verb in _PAST:
        return f"never {verb}" if fact.negated else verb
    if verb in ("be", "can"):
        return ("is" if verb == "be" else verb) + (" not" if fact.negated else "")
    return f"does not {verb}" if fact.negated else _third_person(verb)


def _third_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(_SIBILANT):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
