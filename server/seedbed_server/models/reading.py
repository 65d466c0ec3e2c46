"""Cuts a message into pieces that a parser can read in bounded time.

spaCy's tokenizer is quadratic in a run of characters without a space (8,000
"(" take seconds), and a parse costs a fifth of a millisecond a token. So: what
is no prose (blobs, code, long runs of symbols) is cut out, what is left is read
in pieces of bounded length, and only so much of one message is read at all.
Every piece is a stretch of the original, so offsets are sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

READ_LIMIT = 20_000
"""Code points of one message that are read."""

TOKEN_LIMIT = 4_000
"""Words and symbols of one message that are read: about a second of CPU."""

PIECE_LIMIT = 1_000
"""Code points of one piece: some sentences, so that a batch stays small."""

PIECES_LIMIT = 400
"""Pieces of one message that are read: each costs something of its own."""

BREAKS_LIMIT = 20_000
"""Cuts that are looked for in one message: what lies behind them is not read."""

# Nobody's words (group "cut"): a fenced block, an address, a long stretch without a space
# (base64, hashes, minified code), and symbols in a row. At most 49 characters without a space
# keep the tokenizer's quadratic part under a millisecond.
# Somebody else's words (group "aside"): a bracketed marker that a program left, a quoted line.
# No alternative can match in two ways, so the scan is linear; the bounds keep a failed try short.
_BREAKS = re.compile(
    r"(?P<cut>```(?s:.{0,20000}?)(?:```|\Z)"
    r"|(?:https?://|www\.)\S*+"
    r"|(?<!\S)\S{50,}+"
    r"|(?:[^\w\s][^\S\n]{0,2}){6,}+)"
    r"|(?P<aside>\[[^\[\]\n]{1,300}\]"
    r"|(?m:^[ \t]{0,8}>[^\n]*+))"
)

# Where a piece is best cut, best first.
_SENTENCE_END = re.compile(r"[.!?…][\"')\]]{0,2}\s+|\n+")

# What a parser stumbles over and a reader does not: each is replaced by one
# character, so that offsets stay. Emoji and symbols become spaces.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
    "\u2190-\u2bff\U0001f000-\U0001faff\U000e0000-\U000e01ef]"
)
# An emoji between two clauses ends the first: "hello from the north 🎉 we moved".
_ENDING = re.compile(
    "[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d\U0001f3fb-\U0001f3ff]*"
    r"(?=\s+(?:[Ii]|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Mm]y|[Oo]ur)\b)"
)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a message: ``text`` stands at ``start``, in code points.

    ``said`` is False for words that are not the speaker's own.
    """

    text: str
    start: int
    said: bool


def pieces(text: str) -> list[Piece]:
    """The readable stretches of a message, in order; empty if there are none.

    Stops at the piece with which one of the limits is reached. What is cut out
    does not count: a fact behind a blob is still read.
    """
    clean = _SURROGATE.sub("\ufffd", text)
    found: list[Piece] = []
    characters = tokens = 0
    for stretch in _stretches(clean):
        for piece in _split(clean, *stretch):
            characters += len(piece.text)
            tokens += sum(1 for _ in _TOKEN.finditer(piece.text))
            if characters > READ_LIMIT or tokens > TOKEN_LIMIT or len(found) == PIECES_LIMIT:
                return found
            found.append(piece)
    return found


def _stretches(text: str) -> Iterator[tuple[int, int, bool]]:
    """What lies between the cuts: (start, end, said)."""
    at = 0
    for match in islice(_BREAKS.finditer(text), BREAKS_LIMIT):
        start, end = match.span()
        if match["cut"] is not None and not match[0][0].isalnum() and not match[0].startswith("```"):
            start += 1  # the first of "!!!!!!" still ends its sentence
        yield at, start, True
        if match["aside"] is not None:
            yield start + 1, end, False
        at = end
    beyond = _BREAKS.search(text, at)
    yield at, beyond.start() if beyond else len(text), True


def _split(text: str, start: int, end: int, said: bool) -> Iterator[Piece]:
    """Cuts a stretch at sentence ends, or at spaces, into pieces under the limit."""
    while start < end:
        stop = end if end - start <= PIECE_LIMIT else _best_cut(text, start, start + PIECE_LIMIT)
        chunk = _ENDING.sub(_as_full_stop, text[start:stop])
        chunk = _UNREADABLE.sub(" ", chunk)
        body = chunk.strip()
        if any(character.isalnum() for character in body):
            yield Piece(body, start + len(chunk) - len(chunk.lstrip()), said)
        start = stop


def _as_full_stop(ending: re.Match[str]) -> str:
    return "." + " " * (len(ending[0]) - 1)


def _best_cut(text: str, start: int, limit: int) -> int:
    """The last sentence end in ``text[start:limit]``, else the last space, else the limit."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, start, limit)]
    if ends:
        return ends[-1]
    space = max(text.rfind(" ", start + 1, limit), text.rfind("\t", start + 1, limit))
    return space if space > start else limit
