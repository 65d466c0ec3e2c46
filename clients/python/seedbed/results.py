"""What a server answers, as small immutable values. Times are in UTC; counts and seqs start at 1."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seedbed.messages import Message
from seedbed.variants import Variant


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """A memory's settings and counts; ``revision`` grows with every change of the settings."""

    namespace: str
    name: str
    variant: Variant
    system: str
    created_at: datetime
    last_seq: int
    message_count: int
    revision: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a write stored: ids in the order of the batch, whose seqs run from ``first_seq`` to ``last_seq``."""

    ids: tuple[str, ...]
    first_seq: int
    last_seq: int
    memory_created: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """How many messages an import stored, and how many were there already; and so of decisions.

    Decisions that speak of messages which the memory lacks count as skipped.
    """

    imported: int
    skipped: int
    last_seq: int
    decisions_imported: int = 0
    decisions_skipped: int = 0


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg of the search gave to a hit; ``rank`` counts from 1, and is 0 where the leg did not find it."""

    leg: str
    raw: float
    contribution: float
    rank: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled message; with ``explain`` the contributions of ``legs`` add up to ``score``."""

    message: Message
    score: float
    legs: tuple[LegScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The ranked search behind a seed, best first.

    ``below_floor`` counts the candidates that were just not good enough, and
    ``best_below_floor`` is the best score among them.
    """

    hits: tuple[Hit, ...]
    applied_seq: int = 0
    degraded_legs: tuple[str, ...] = ()
    below_floor: int = 0
    best_below_floor: float = 0.0

    @property
    def degraded(self) -> bool:
        """True when some leg could not answer in full."""
        return bool(self.degraded_legs)


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One piece of what an answer showed, and ids of the messages it stands on; ``legs`` of a recall's hit."""

    origin: str
    kind: str
    score: float
    tokens: int
    message_ids: tuple[str, ...]
    legs: tuple[LegScore, ...] = ()


@dataclass(frozen=True, slots=True)
class RecallEntry:
    """An answered Seed or Recall (``call``) from the server's recall log: what was asked, and what was shown.

    ``query_cut`` says that the query was longer; ``more_shown`` how many pieces
    came after those in ``shown``. ``messages`` are those that ``shown`` names, as
    the log has them now, if they were asked for.
    """

    time: datetime
    call: str
    request_id: str
    session: str
    query: str
    query_cut: bool
    max_tokens: int | None
    k: int
    valid_at: datetime | None
    known_at: datetime | None
    tokens: int
    truncated: bool
    degraded: tuple[str, ...]
    below_floor: int
    shown: tuple[ShownItem, ...]
    more_shown: int
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreErasure:
    """What one store erased; ``files_rewritten`` when no byte of it is left in its files."""

    store: str
    erased: int
    files_rewritten: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an erasure, with counts per store and the ids that were not stored."""

    id: str
    completed_at: datetime | None
    stores: tuple[StoreErasure, ...]
    missing_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityMerge:
    """A merge that is in effect; ``decided_at`` is None where it is evident from what was said."""

    merge_id: str
    from_entity_id: str
    reason: str
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """A person, place, organisation or thing that the conversations name; ``merges`` made its other names aliases.

    ``aliases`` and ``merges`` are the first 100, of so many as the counts say.
    """

    id: str
    name: str
    type: str
    aliases: tuple[str, ...]
    mention_count: int
    first_seen: datetime | None
    last_seen: datetime | None
    merges: tuple[EntityMerge, ...] = ()
    alias_count: int = 0
    merge_count: int = 0


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where an entity is named; ``start`` and ``end`` count code points of the message's text."""

    message_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact, in one of the times in which it held.

    ``valid_…`` is when that is in the world; ``known_from`` when it was first
    recorded, ``known_to`` when its end was, or when it was retracted. None means open.
    ``source_ids`` are the newest 16 of the ``source_count`` messages it stands on.
    """

    id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str
    object: str
    negated: bool
    modality: str
    surface: str
    valid_from: datetime | None
    valid_to: datetime | None
    known_from: datetime | None
    known_to: datetime | None
    source_ids: tuple[str, ...]
    source_count: int


@dataclass(frozen=True, slots=True)
class EntityDetails:
    """An entity with its newest mentions and facts, at most 100 of each."""

    entity: KnownEntity
    mentions: tuple[Mention, ...]
    triples: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """The entity after a merge, and what changed hands; ``merge_id`` undoes it, and is empty in a preview."""

    entity: KnownEntity
    merge_id: str
    mentions_moved: int
    triples_moved: int


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The entities and facts around a start; ``truncated`` when the limit cut it short."""

    entities: tuple[KnownEntity, ...]
    triples: tuple[Triple, ...]
    truncated: bool
    applied_seq: int


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One process or store of the server; ``state`` is "starting", "ready" or "down".

    While the server changes its embedding model there is a part "reembed", whose ``detail`` says how far that is.
    """

    part: str
    state: str
    restarts: int
    detail: str


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far a derived store is with one memory, and how many messages it could not read.

    ``state`` of the store as a whole is "waiting" while it cannot go on without the part ``waiting_for``.
    """

    projection: str
    applied_seq: int
    skipped: int
    state: str = ""
    waiting_for: str = ""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What runs; ``projections`` and ``last_seq`` are of the memory asked about, if one was."""

    version: str
    started_at: datetime | None
    parts: tuple[PartStatus, ...]
    projections: tuple[ProjectionStatus, ...]
    last_seq: int


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A local model of the server.

    It is ``available`` when its files are there and match their hashes, and
    ``in_use`` when it is the encoder that answers.
    """

    name: str
    role: str
    licence: str
    dimensions: int
    fingerprint: str
    available: bool
    in_use: bool = False
