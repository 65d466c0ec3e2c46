"""What goes into the models and what comes out: plain values, no model library.

Both sides of the pipe to a child process import this module. Values cross as
plain dicts, made and read here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

ENTITY_TYPES = ("person", "location", "organisation", "work", "product", "event", "other")
"""Types that an entity may have. A span may also be a "date", which is no entity."""

MODALITIES = ("asserted", "planned", "possible")
"""How a claim is meant: as a fact, as an intention, or as something that may be."""

SURFACE_LIMIT = 300
"""Code points of the longest surface of a claim."""

RULES = "extraction-10"
"""Version of the rules that read a parse: part of a fingerprint, so raise it when other claims come out."""


def _time_to_wire(time: datetime | None) -> str:
    return time.isoformat() if time else ""


def _time_from_wire(wire: str | None) -> datetime | None:
    return datetime.fromisoformat(wire) if wire else None


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to encode; ``header`` is repeated before every chunk of it."""

    header: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as the tagger reads it: who said it to whom, and when.

    An empty ``speaker`` or ``listener`` is unknown: claims about "I" or "you"
    are then dropped. ``present`` are others who have spoken shortly before.
    """

    text: str
    speaker: str
    listener: str
    time: datetime | None
    present: tuple[str, ...] = ()

    @property
    def persons(self) -> list[str]:
        """The names of all persons that are known to take part."""
        return [name for name in dict.fromkeys((self.speaker, self.listener, *self.present)) if name]

    def to_wire(self) -> dict[str, Any]:
        """As a dict of strings, and a list of them; the time in ISO 8601, or empty."""
        return {
            "text": self.text,
            "speaker": self.speaker,
            "listener": self.listener,
            "time": _time_to_wire(self.time),
            "present": list(self.present),
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Turn:
        """Reads `to_wire` back. Raises KeyError, TypeError or ValueError on anything else."""
        text = wire["text"]
        if not isinstance(text, str):
            raise TypeError("text")
        return cls(
            text=text,
            speaker=str(wire.get("speaker") or ""),
            listener=str(wire.get("listener") or ""),
            time=_time_from_wire(wire.get("time")),
            present=tuple(map(str, wire.get("present") or ())),
        )


@dataclass(frozen=True, slots=True)
class Span:
    """Something named in a text: ``text == message[start:end]``, in code points.

    ``type`` is one of `ENTITY_TYPES`, or "date". A ``certain`` one is written as a
    name, and not for its place: it tells that a word written otherwise is that name.
    """

    text: str
    type: str
    start: int
    end: int
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a message says: who, what, whom.

    ``predicate`` is canonical (see `vocabulary`), ``surface`` the words of the
    clause. The types are those of `Span`, "other" where nothing names one.
    ``valid_from`` and ``valid_to`` say when it holds in the world, where the
    words do: a time with a zone, or None. Without the first it holds from when
    it was said. ``rests_on`` are the supposed names without which it was not said.
    """

    subject: str
    predicate: str
    object: str
    negated: bool
    modality: str
    surface: str
    subject_type: str = "other"
    object_type: str = "other"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    rests_on: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """As a dict; times in ISO 8601, or empty."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        times = {name: _time_to_wire(plain[name]) for name in ("valid_from", "valid_to")}
        return plain | times | {"rests_on": list(self.rests_on)}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Claim:
        """Reads `to_wire` back. Raises TypeError or ValueError on anything else."""
        times = {name: _time_from_wire(wire.get(name)) for name in ("valid_from", "valid_to")}
        return cls(**(dict(wire) | times | {"rests_on": tuple(map(str, wire.get("rests_on") or ()))}))


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one message names and says, both in the order of the text.

    ``supposed`` are words that are names if the memory knows somebody so called,
    and ``supposing`` what the message says besides, if they are.
    """

    entities: tuple[Span, ...]
    claims: tuple[Claim, ...]
    supposed: tuple[Span, ...] = ()
    supposing: tuple[Claim, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """As a dict of lists of dicts."""
        return {
            "entities": [_span_to_wire(span) for span in self.entities],
            "claims": [claim.to_wire() for claim in self.claims],
            "supposed": [_span_to_wire(span) for span in self.supposed],
            "supposing": [claim.to_wire() for claim in self.supposing],
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Extraction:
        """Reads `to_wire` back. Raises KeyError, TypeError or ValueError on anything else."""
        return cls(
            entities=tuple(Span(**span) for span in wire["entities"]),
            claims=tuple(Claim.from_wire(claim) for claim in wire["claims"]),
            supposed=tuple(Span(**span) for span in wire["supposed"]),
            supposing=tuple(Claim.from_wire(claim) for claim in wire["supposing"]),
        )


def _span_to_wire(span: Span) -> dict[str, Any]:
    return {name: getattr(span, name) for name in span.__slots__}


class Reader(Protocol):
    """Who reads turns: the tagger, or a language model with the tagger behind it."""

    @property
    def fingerprint(self) -> str:
        """Names weights and rules."""
        ...

    @property
    def at_once(self) -> int:
        """How many turns it reads in moments, or in the time of one."""
        ...

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        """Read turns; None for one that could not be read."""
        ...

    async def probe(self) -> None:
        """Let the part that reads what nothing else could read something harmless. PartUnavailableError."""
        ...
