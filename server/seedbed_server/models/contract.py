"""What goes to a model and what comes back: plain values, free of any library."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be embedded, with the words that place it.

    ``header`` (``"Caroline, 8 May 2023: "``) is repeated before every chunk of
    ``text``, so that the end of a long text still says who spoke and when.
    """

    header: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as the tagger reads it: who says it to whom, and when (UTC)."""

    text: str
    speaker: str
    listener: str
    time: datetime | None


@dataclass(frozen=True, slots=True)
class Span:
    """An entity named in a text.

    ``type`` is one of person, location, organisation, work, product, event,
    date and other; ``start`` and ``end`` count code points of the text.
    """

    text: str
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a text says of somebody, with the words it was said in as ``surface``."""

    subject: str
    predicate: str
    object: str
    negated: bool
    modality: str
    surface: str
    subject_type: str = ""
    object_type: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the tagger found in one turn."""

    entities: tuple[Span, ...]
    claims: tuple[Claim, ...]
