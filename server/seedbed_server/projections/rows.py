"""What messages name and claim, as rows: what the tagger reads, and what is kept of its answer.

A message cannot have been said after it was recorded: where its time is later,
its writer's clock is wrong, and it counts as said when it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from seedbed.messages import Message
from seedbed_server.models.contract import Extraction, Turn
from seedbed_server.projections.names import canonical, entity_id

UNPLACED = -1  # start and end of a mention that is not in the text: the speaker's own name
EARLIEST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
DEATH = ("be", "dead")  # predicate and object of the claim that somebody has died
REACH = 8  # messages before one in which those who take part are looked for


class MentionRow(NamedTuple):
    """A name in a message. ``said_at`` is in seconds since 1970."""

    key: int
    seq: int
    start: int
    end: int
    entity_id: str
    form: str
    type: str
    text: str
    said_at: float


class ClaimRow(NamedTuple):
    """A claim in a message; ``place`` is its number there. Times are in seconds since 1970.

    Without ``valid_from`` it holds from ``said_at``; without ``valid_to`` it is open.
    """

    key: int
    seq: int
    place: int
    subject_id: str
    subject: str
    subject_type: str
    predicate: str
    object_id: str
    object: str
    object_type: str
    negated: int
    modality: str
    surface: str
    said_at: float
    recorded_at: float
    valid_from: float | None = None
    valid_to: float | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of a memory, up to ``applied_seq``."""

    mentions: list[MentionRow]
    claims: list[ClaimRow]
    applied_seq: int


def speaker(message: Message) -> str:
    """Who says a message: the name if there is one, else the role ("user")."""
    return message.name or message.role


def turns(messages: Sequence[Message], before: Sequence[Message] = ()) -> Iterator[Turn]:
    """The messages as the tagger reads them; who is spoken to is the last other speaker of the session.

    ``before`` are messages that stand before the first one; those further back than REACH do not matter.
    """
    earlier = list(before)
    for message in messages:
        near = [m for m in earlier[-REACH:] if m.seq >= message.seq - REACH]
        others = [speaker(m) for m in near if m.session == message.session and speaker(m) != speaker(message)]
        listener = others[-1] if others else ""
        yield Turn(message.text, speaker(message), listener, said(message), tuple(dict.fromkeys(others)))
        earlier.append(message)


def mentions_of(key: int, message: Message, extraction: Extraction | None) -> Iterator[MentionRow]:
    """The names of a message: its speaker's, and those in its text."""
    said_at = seconds(said(message))
    form = canonical(message.name)
    if form:
        here = (UNPLACED, UNPLACED, entity_id(form), form, "person", message.name)
        yield MentionRow(key, message.seq, *here, said_at)
    for span in extraction.entities if extraction else ():
        form = canonical(span.text)
        if form and span.type != "date":
            place = (span.start, span.end, entity_id(form), form, span.type, span.text)
            yield MentionRow(key, message.seq, *place, said_at)


def claims_of(key: int, message: Message, extraction: Extraction | None) -> Iterator[ClaimRow]:
    """What a message claims, but for an assistant's offers and for anybody's own death."""
    for place, claim in enumerate(extraction.claims if extraction else ()):
        subject, object_ = canonical(claim.subject), canonical(claim.object)
        # What an assistant offers to do is said in passing, many times a day, and tells nothing of anybody's life.
        offer = message.role == "assistant" and claim.modality != "asserted" and claim.subject == speaker(message)
        # Who says that they are dead, speaks in jest.
        jest = claim.subject == speaker(message) and (claim.predicate, object_) == DEATH
        if subject and object_ and claim.predicate and not offer and not jest:
            yield ClaimRow(
                *(key, message.seq, place),
                *(entity_id(subject), claim.subject, claim.subject_type or "other"),
                " ".join(claim.predicate.split()),
                *(entity_id(object_), claim.object, claim.object_type or "other"),
                *(int(claim.negated), claim.modality, claim.surface),
                *(seconds(said(message)), seconds(message.recorded_at)),
                *(seconds(time) if time else None for time in (claim.valid_from, claim.valid_to)),
            )


def said(message: Message) -> datetime | None:
    """When a message was said: its time, but not later than when it was recorded."""
    return plausible(message.time, message.recorded_at)


def plausible(said_at: datetime | None, recorded_at: datetime | None) -> datetime | None:
    """The time of a message, as far as it can be believed."""
    if said_at is None or recorded_at is None:
        return said_at
    return min(said_at, recorded_at)


def seconds(time: datetime | None) -> float:
    """Seconds since 1970; an unknown time is 0, one at an end of the calendar the last that is a time again."""
    if time is None:
        return 0.0
    return min(LATEST, max(EARLIEST, (time.replace(tzinfo=UTC) if time.tzinfo is None else time).timestamp()))
