"""What makes a running summary of the one before and the next messages; and by sentences that are chosen."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.contract import Passage
from seedbed_server.projections import textrank
from seedbed_server.projections.calendar import day
from seedbed_server.projections.rows import speaker
from seedbed_server.projections.vectors import Encoder

MAX_TOKENS = 400
CACHED = 2000  # vectors of sentences; those of a summary are compared again with every block


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence kept in a summary, and the message it is from."""

    seq: int
    id: str
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary: ``lines`` if it consists of sentences.

    ``sources`` are the (seq, id) it stands on; without lines, those of the last block only.
    """

    text: str
    sources: tuple[tuple[int, str], ...]
    lines: tuple[Line, ...] = ()


class Summariser(Protocol):
    """Makes the next summary. ``fingerprint`` names how; the same input gives the same summary, as far as it can."""

    fingerprint: str

    async def fold(self, before: Draft | None, block: Sequence[Message]) -> Draft:
        """Return the summary of what ``before`` summarises and ``block``. Raises PartUnavailableError."""
        ...


class Extractive:
    """Keeps the sentences that say most, as they were written: with each block it grows by half of that at most.

    Likeness is by the encoder's vectors; while the encoder is down, by shared
    words. ``count`` gives the tokens of a text.
    """

    def __init__(self, encoder: Encoder | None, count: Callable[[str], int], *, max_tokens: int = MAX_TOKENS) -> None:
        self.fingerprint = f"textrank-2/{max_tokens}"
        self._encoder = encoder
        self._count = count
        self._max_tokens = max_tokens
        self._vectors: OrderedDict[tuple[str, str], np.ndarray] = OrderedDict()  # by the encoder's fingerprint and text

    async def fold(self, before: Draft | None, block: Sequence[Message]) -> Draft:
        """Choose again among the sentences kept so far and those of the block."""
        lines = _lines(before) if before else []
        so_far = len(lines)
        for message in block:
            lines += [
                Line(message.seq, message.id, who_said(message), text) for text in textrank.sentences(message.text)
            ]
        if not lines:
            return Draft("", ())
        texts = [line.text for line in lines]
        vectors = await self._encode(texts)
        kept = await asyncio.to_thread(self._choose, lines, so_far, vectors)
        sources = dict.fromkeys((line.seq, line.id) for line in kept if line.id)
        return Draft(_rendered(kept), tuple(sources), tuple(kept))

    def _choose(self, lines: Sequence[Line], kept: int, vectors: np.ndarray | None) -> list[Line]:
        """Choose among ``kept`` lines of the summary so far and those that follow; one line at least."""
        texts = [line.text for line in lines]
        like = textrank.likeness(texts, vectors)
        costs = [self._count(f"{line.who}: {line.text}\n") for line in lines]
        room = max(sum(costs[:kept]) + sum(costs[kept:]) // 2, min(costs))
        return [lines[i] for i in textrank.choose(texts, like, costs.__getitem__, min(room, self._max_tokens))]

    async def _encode(self, texts: Sequence[str]) -> np.ndarray | None:
        """Unit vectors, (texts, dimensions); None while the encoder is down."""
        if self._encoder is None:
            return None
        maker = self._encoder.fingerprint  # the encoder may be another one for the next call
        new = [text for text in dict.fromkeys(texts) if (maker, text) not in self._vectors]
        try:
            encoded = await self._encoder.encode_passages([Passage("", text) for text in new])
        except PartUnavailableError:
            return None
        self._vectors.update({(maker, text): vectors[0] for text, vectors in zip(new, encoded, strict=True)})
        found = np.stack([self._vectors[maker, text] for text in texts])
        while len(self._vectors) > CACHED:
            self._vectors.popitem(last=False)
        return found


def who_said(message: Message) -> str:
    """Who says a message, and when."""
    said = f" ({day(message.time)})" if message.time else ""
    return f"{speaker(message)}{said}"


def _lines(before: Draft) -> list[Line]:
    """The sentences of a summary; those that somebody else wrote are of no message."""
    return list(before.lines) or [Line(0, "", "", text) for text in textrank.sentences(before.text)]


def _rendered(lines: Sequence[Line]) -> str:
    """One line per message: who, when, and the sentences kept of it."""
    said: dict[int, str] = {}
    for line in lines:
        begun = said.get(line.seq, f"{line.who}:" if line.who else "")
        said[line.seq] = f"{begun} {line.text}".lstrip()
    return "\n".join(said.values())
