"""From an answer to the entry that it leaves in the recall log."""

from __future__ import annotations

from datetime import UTC, datetime

from seedbed.seeds import Item, Seed
from seedbed_server.memories import Ask
from seedbed_server.recall import Found, Ranking, Search
from seedbed_server.recall_log import Entry, Leg, Piece, beginning
from seedbed_server.recall_log.entries import PIECE_IDS, PIECES


def of_seed(key: int, request_id: str, ask: Ask, seed: Seed) -> Entry:
    """What a Seed of the memory of ``key`` was asked, and what it showed."""
    items = [item for entry in seed.entries for item in entry.items]
    query, cut = beginning(ask.query)
    return Entry(
        key=key,
        time=datetime.now(UTC),
        call="Seed",
        request_id=request_id,
        session=ask.session,
        query=query,
        query_cut=cut,
        max_tokens=ask.max_tokens,
        valid_at=ask.valid_at,
        known_at=ask.known_at,
        tokens=seed.tokens,
        truncated=seed.truncated,
        degraded=seed.degraded_parts,
        below_floor=sum(seed.below_floor.values()),
        pieces=tuple(_piece(item) for item in items[:PIECES]),
        more_pieces=max(0, len(items) - PIECES),
        shown=frozenset(known for item in items for known in item.source_ids),
    )


def of_recall(
    key: int, request_id: str, search: Search, found: Ranking, valid_at: datetime | None, known_at: datetime | None
) -> Entry:
    """What a Recall of the memory of ``key`` was asked, and what it showed."""
    query, cut = beginning(search.query)
    return Entry(
        key=key,
        time=datetime.now(UTC),
        call="Recall",
        request_id=request_id,
        session=search.session,
        query=query,
        query_cut=cut,
        k=search.k,
        valid_at=valid_at,
        known_at=known_at,
        degraded=found.degraded_legs,
        below_floor=found.below_floor,
        pieces=tuple(_hit(hit) for hit in found.hits[:PIECES]),
        more_pieces=max(0, len(found.hits) - PIECES),
        shown=frozenset(hit.message.id for hit in found.hits),
    )


def _piece(item: Item) -> Piece:
    return Piece(item.origin, item.kind, item.score, item.tokens, item.source_ids[:PIECE_IDS])


def _hit(hit: Found) -> Piece:
    legs = tuple(Leg(leg.name, leg.raw, leg.contribution, leg.rank) for leg in hit.legs if leg.rank)
    return Piece("recall", "recalled", hit.score, ids=(hit.message.id,), legs=legs)
