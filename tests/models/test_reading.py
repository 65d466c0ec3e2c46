"""Cutting messages into readable pieces: offsets, bounds, what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.models.reading import PIECE_LIMIT, PIECES_LIMIT, READ_LIMIT, TOKEN_LIMIT, pieces
from tests.timing import is_linear

texts = st.text() | st.lists(
    st.sampled_from(
        ["word ", "Elena. ", "(", "!", "🔥", "\n", " ", "[a b]", "> quote\n", "```", "x" * 60, "\ud83d", "\x00"]
    ),
    max_size=60,
).map("".join)


@given(texts)
def test_pieces_stand_where_they_say(text: str) -> None:
    """A piece has the words of the message at its offset; only unreadable characters differ."""
    for piece in pieces(text):
        original = text[piece.start : piece.start + len(piece.text)]
        assert len(original) == len(piece.text)
        assert all(a == b or b in {" ", "\ufffd"} for a, b in zip(original, piece.text, strict=True))


@given(texts)
def test_pieces_are_bounded_ordered_and_apart(text: str) -> None:
    """Pieces follow each other without overlap, none blank, none too long."""
    end = 0
    for piece in pieces(text):
        assert piece.start >= end
        assert 0 < len(piece.text) <= PIECE_LIMIT
        end = piece.start + len(piece.text)


@given(st.lists(st.sampled_from(["I moved.", "Elena is here.", "yes"]), min_size=1, max_size=400))
def test_plain_prose_loses_nothing(sentences: list[str]) -> None:
    """Prose comes out whole, up to spaces, and is cut between sentences only."""
    text = " ".join(sentences)
    found = pieces(text)
    assert " ".join(piece.text for piece in found) == text
    assert all(piece.said for piece in found)
    if all(sentence != "yes" for sentence in sentences):
        assert all(piece.text.endswith(".") for piece in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I won!!!!!!!! Yes.", ["I won!", "Yes."]),
        ("see https://example.org/a?b=c my dog", ["see", "my dog"]),
        ("key " + "QUJD" * 40 + " end", ["key", "end"]),
        ("run ```\nx = 1\n``` now", ["run", "now"]),
        ("((((((((((", []),
        ("\u200b \ufeff", []),
    ],
)
def test_what_is_no_prose_is_cut(text: str, expected: list[str]) -> None:
    """Blobs, addresses, code and runs of symbols are left out; what is around them stays."""
    assert [piece.text for piece in pieces(text)] == expected


def test_an_emoji_between_two_clauses_ends_the_first() -> None:
    """As a full stop would, and at its place; one within a clause does not."""
    (piece,) = pieces("hello from the north 🎉 we moved, love pizza 🍕 and beer ❤️ I do")
    assert piece.text == "hello from the north . we moved, love pizza   and beer .  I do"


def test_words_of_others_are_marked() -> None:
    """Bracketed markers and quoted lines are read, but were not said by the speaker."""
    found = pieces("Look [shares image: a dog] here\n> I live in Rome\nno")
    assert [(piece.text, piece.said) for piece in found] == [
        ("Look", True),
        ("shares image: a dog]", False),
        ("here", True),
        ("> I live in Rome"[2:], False),
        ("no", True),
    ]


def test_only_so_much_of_a_message_is_read() -> None:
    """Characters, words and pieces of one message each have a limit."""
    assert sum(len(piece.text) for piece in pieces("hello there. " * 10_000)) <= READ_LIMIT
    assert sum(piece.text.count("a") for piece in pieces("a " * 20_000)) <= TOKEN_LIMIT
    assert len(pieces("a\n[b]\n" * 5_000)) <= PIECES_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000_000,
        "🔥" * 200_000,
        "[ " * 500_000,
        "[a" * 500_000,
        ">\n" * 500_000,
        "`` " * 300_000,
        " " * 1_000_000,
    ],
)
def test_cutting_is_linear(text: str) -> None:
    """A megabyte of anything is cut in a time that grows with its length, not faster."""
    assert is_linear(pieces, text)
