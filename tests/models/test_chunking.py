"""Chunks: laws that hold for every text and header."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.models.chunking import Chunking, cut_text

SMALL = Chunking(window=20, header=6, overlap=4, text=200)
ids = st.lists(st.integers(0, 1000), max_size=400)


@given(st.lists(st.integers(0, 1000), max_size=12), ids)
def test_chunks_fit_and_cover(header: list[int], text: list[int]) -> None:
    """Every chunk fits the window and begins with the header; together they are the text, with the overlap."""
    chunks = list(SMALL.chunks(header, text))
    head = tuple(header[:6])
    assert chunks
    assert all(len(chunk) + 2 <= 20 and chunk[: len(head)] == head for chunk in chunks)
    bodies = [list(chunk[len(head) :]) for chunk in chunks]
    for earlier, later in pairwise(bodies):
        assert earlier[-4:] == later[:4]
    whole = bodies[0] + [token for body in bodies[1:] for token in body[4:]]
    assert whole == (text if len(text) <= 200 else text[:100] + text[-100:])


@given(ids)
def test_last_chunk_holds_more_than_overlap(text: list[int]) -> None:
    """No chunk only repeats the end of the one before."""
    chunks = list(SMALL.chunks([], text))
    assert all(len(chunk) > 4 for chunk in chunks[1:])


@given(st.text(max_size=100))
def test_cut_text_keeps_both_ends(text: str) -> None:
    """A text is kept whole, or loses its middle."""
    cut = cut_text(text, 20)
    assert cut == text if len(text) <= 20 else (cut[:10], cut[-10:], len(cut)) == (text[:10], text[-10:], 21)


def test_real_chunking_covers_the_longest_promised_text() -> None:
    """25,000 tokens are read to the end."""
    chunking = Chunking(window=256)
    chunks = list(chunking.chunks(range(64), range(25_000)))
    assert chunks[-1][-1] == 24_999
    assert len({token for chunk in chunks for token in chunk}) == 25_000
