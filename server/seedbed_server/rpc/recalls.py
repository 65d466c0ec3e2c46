"""Pages of the recall log, with the messages that were shown if they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed import wire
from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1 import message_pb2
from seedbed_server.errors import InvalidFieldError
from seedbed_server.log import Log
from seedbed_server.recall_log import Entry, Listed, Piece, RecallLog
from seedbed_server.rpc.answers import stamp
from seedbed_server.rpc.paging import page


async def listed(
    recall_log: RecallLog, log: Log, key: int, request: pb.ListRecallsRequest, size: int, most_bytes: int
) -> pb.ListRecallsResponse:
    """Answer with at most ``size`` entries of the memory of ``key``; the page token is the last one's number.

    Raises InvalidFieldError for a token that is none, and PartUnavailableError.
    """
    before = _number(request.page_token) if request.page_token else None
    seen: list[Listed] = []

    async def read(last: Listed | None, limit: int) -> Sequence[Listed]:
        start = last.number if last else before
        return await recall_log.page(key, session=request.session, before=start, limit=limit)

    def pack(one: Listed) -> pb.RecallEntry:
        seen.append(one)
        return _entry(one.entry)

    entries, more = await page(read, pack, size, most_bytes)
    if request.with_messages:
        whole = await _add_messages(log, key, entries, seen, most_bytes)
        more = more or whole < len(entries)
        del entries[whole:]
    token = str(seen[len(entries) - 1].number) if more else ""
    return pb.ListRecallsResponse(entries=entries, next_page_token=token, kept=recall_log.kept)


async def _add_messages(
    log: Log, key: int, entries: Sequence[pb.RecallEntry], seen: Sequence[Listed], most_bytes: int
) -> int:
    """Put the messages into the entries, as long as all of an entry's fit; returns how many have theirs.

    The first one has at least those that fit.
    """
    room = most_bytes
    for at, (entry, one) in enumerate(zip(entries, seen, strict=False)):
        found = await log.by_seqs(key, one.seqs, max_bytes=max(room, 0))
        entry.messages.extend(wire.message_to_proto(found[seq]) for seq in sorted(found))
        room -= entry.ByteSize()
        if at and (room < 0 or len(found) < len(one.seqs)):
            return at
    return len(entries)


def _number(token: str) -> int:
    if not (token.isascii() and token.isdigit() and len(token) < 12):
        raise InvalidFieldError("page_token", "is not one that this server gave")
    return int(token)


def _entry(entry: Entry) -> pb.RecallEntry:
    made = pb.RecallEntry(
        time=stamp(entry.time),
        call=entry.call,
        request_id=entry.request_id,
        session=entry.session,
        query=entry.query,
        query_cut=entry.query_cut,
        max_tokens=entry.max_tokens,
        k=entry.k,
        tokens=entry.tokens,
        truncated=entry.truncated,
        degraded=entry.degraded,
        below_floor=entry.below_floor,
        shown=[_shown(piece) for piece in entry.pieces],
        more_shown=entry.more_pieces,
    )
    if entry.valid_at or entry.known_at:
        made.as_of.CopyFrom(
            message_pb2.AsOf(
                valid_at=stamp(entry.valid_at) if entry.valid_at else None,
                known_at=stamp(entry.known_at) if entry.known_at else None,
            )
        )
    return made


def _shown(piece: Piece) -> pb.ShownItem:
    return pb.ShownItem(
        origin=piece.origin,
        kind=piece.kind,
        score=piece.score,
        tokens=piece.tokens,
        message_ids=piece.ids,
        legs=[
            pb.LegScore(leg=leg.name, raw=leg.raw, contribution=leg.contribution, rank=leg.rank) for leg in piece.legs
        ],
    )
