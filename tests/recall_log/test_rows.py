"""An entry becomes a row and an entry again; what a row says it showed is never less than what was shown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.recall_log import Entry, Leg, Piece, beginning
from seedbed_server.recall_log.entries import QUERY_BYTES
from seedbed_server.recall_log.rows import MOST_RANGES, Row, decode, encode, piece_seqs, shows

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_NUMBER = st.floats(allow_nan=False, allow_infinity=False)
_TIME = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
_IDS = [f"id-{n}" for n in range(12)]
_SEQS = {known: 3 * n + 1 for n, known in enumerate(_IDS)}
_PIECES = st.builds(
    Piece,
    origin=_TEXT,
    kind=_TEXT,
    score=_NUMBER,
    tokens=st.integers(0, 2**31 - 1),
    ids=st.lists(st.sampled_from(_IDS), unique=True, max_size=4).map(tuple),
    legs=st.lists(st.builds(Leg, _TEXT, _NUMBER, _NUMBER, st.integers(1, 1000)), max_size=3).map(tuple),
)


@st.composite
def _entries(draw: st.DrawFn) -> Entry:
    pieces = tuple(draw(st.lists(_PIECES, max_size=4)))
    return Entry(
        key=draw(st.integers(1, 2**40)),
        time=draw(_TIME),
        call=draw(_TEXT),
        request_id=draw(_TEXT),
        session=draw(_TEXT),
        query=draw(_TEXT),
        query_cut=draw(st.booleans()),
        max_tokens=draw(st.none() | st.integers(0, 2**31 - 1)),
        k=draw(st.integers(0, 1000)),
        valid_at=draw(st.none() | _TIME),
        known_at=draw(st.none() | _TIME),
        tokens=draw(st.integers(0, 2**31 - 1)),
        truncated=draw(st.booleans()),
        degraded=tuple(draw(st.lists(_TEXT, max_size=2))),
        below_floor=draw(st.integers(0, 1000)),
        pieces=pieces,
        more_pieces=draw(st.integers(0, 1000)),
        shown=frozenset(known for piece in pieces for known in piece.ids),
    )


@settings(max_examples=40)
@given(_entries())
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    row = encode(entry, _SEQS)
    assert decode(row, {seq: known for known, seq in _SEQS.items()}) == entry
    assert piece_seqs(row) == sorted(_SEQS[known] for known in entry.shown)
    assert all(known not in row.body for known in entry.shown)


@settings(max_examples=60)
@given(st.sets(st.integers(1, 60)), st.sets(st.integers(1, 60)))
def test_a_row_shows_what_was_shown_and_nothing_else(shown: set[int], erased: set[int]) -> None:
    entry = Entry(1, datetime.now(UTC), "Seed", shown=frozenset(map(str, shown)))
    row = encode(entry, {str(seq): seq for seq in shown})
    assert shows(row.seqs, sorted(erased)) == bool(shown & erased)
    assert row.top == max(shown, default=0)


def test_a_row_that_would_be_long_claims_more_and_never_less() -> None:
    shown = range(1, 20_000, 2)
    row = encode(
        Entry(1, datetime.now(UTC), "Seed", shown=frozenset(map(str, shown))), {str(seq): seq for seq in shown}
    )
    assert len(row.seqs) <= MOST_RANGES
    assert all(shows(row.seqs, [seq]) for seq in shown[::97])
    assert not shows(row.seqs, [20_000])


@pytest.mark.parametrize("body", ["", "7", "[]", "{}", '{"pieces": [[1]]}', '{"pieces": 7}', '{"pieces": []}'])
def test_a_damaged_row_is_no_entry(body: str) -> None:
    row = Row(1, 0, "", "1 x", 1, body)
    assert decode(row, {}) is None
    assert piece_seqs(row) == []
    assert shows(row.seqs, [5])  # nobody can tell, so it goes with any erasure


@settings(max_examples=15)
@given(st.text(st.sampled_from("aÜ東🔥"), min_size=QUERY_BYTES // 4, max_size=QUERY_BYTES + 9))
def test_a_query_is_cut_between_characters(query: str) -> None:
    kept, cut = beginning(query)
    assert query.startswith(kept)
    assert cut == (kept != query) == (len(query.encode()) > QUERY_BYTES)
    assert QUERY_BYTES - 4 < len(kept.encode()) <= QUERY_BYTES or not cut
