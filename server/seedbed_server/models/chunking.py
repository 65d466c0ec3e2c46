"""Cutting a text into pieces that an encoder reads whole, by the encoder's own tokens.

An encoder drops what is over its window without a word; so a long text becomes
several chunks, each with the header that says who spoke and when, overlapping a
little so that a sentence on the border is whole in one of them. A text longer
than the cap loses its middle: what a person wants found again tends to stand at
the beginning or, as a question or a result, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Chunking:
    """How texts are cut; counts are tokens of the model, except ``characters``.

    ``text`` and ``characters`` bound the work that one text can cause: 32,768
    tokens make 148 chunks of a 256-token window, or some twenty seconds of one slow core.
    """

    window: int
    specials: int = 2
    header: int = 64
    overlap: int = 32
    text: int = 32_768
    characters: int = 524_288

    def parameters(self) -> tuple[int, ...]:
        """All of them, for the fingerprint of what is derived."""
        return astuple(self)

    def chunks(self, header: Sequence[int], text: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The token ids of each chunk, without special tokens; at least one, even of nothing.

        ``header`` and ``text`` are token ids.
        """
        head = tuple(header[: self.header])
        body = without_middle(text, self.text)
        room = self.window - self.specials - len(head)
        step = room - self.overlap
        for start in range(0, max(len(body) - self.overlap, 1), step):
            yield head + tuple(body[start : start + room])


def without_middle(whole: Sequence[int], limit: int) -> Sequence[int]:
    """The first and the last half of ``limit`` items, or everything when it fits."""
    if len(whole) <= limit:
        return whole
    return [*whole[: limit // 2], *whole[-(limit - limit // 2) :]]


def cut_text(text: str, characters: int) -> str:
    """The text without its middle when it has more characters than that, so that reading tokens is bounded too."""
    if len(text) <= characters:
        return text
    return f"{text[: characters // 2]} {text[-(characters // 2) :]}"
