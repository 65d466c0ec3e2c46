"""Reads named entities in columns: a token and its label a line, an empty line after each text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Span = tuple[int, int, str]

TYPES = {
    "person": "person",
    "location": "location",
    "group": "organisation",
    "corporation": "organisation",
    "creative-work": "work",
    "product": "product",
}
"""The labels of the WNUT 2017 shared task, and what they are called here."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, its tokens joined by spaces, and the (start, end, type) of its names."""

    text: str
    names: frozenset[Span]

    def lowered(self) -> Labelled:
        """The same in lower case; the few letters that would change their number of code points stay."""
        return Labelled("".join(c.lower() if len(c.lower()) == 1 else c for c in self.text), self.names)


def read(path: Path) -> list[Labelled]:
    """All texts of a file. Raises OSError, and KeyError for a label that is not of the shared task."""
    return [_labelled(rows) for rows in _texts(path)]


def _texts(path: Path) -> Iterator[list[tuple[str, str]]]:
    rows: list[tuple[str, str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            token, _, label = line.rstrip("\n").partition("\t")
            if token.strip():
                rows.append((token, label.split("\t")[-1]))
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def _labelled(rows: list[tuple[str, str]]) -> Labelled:
    names: list[list[int | str]] = []
    at = 0
    before = "O"
    for token, label in rows:
        end = at + len(token)
        if label.startswith("B-"):
            names.append([at, end, TYPES[label[2:].lower()]])
        elif label.startswith("I-") and before[2:] == label[2:] and names:
            names[-1][1] = end
        before = label
        at = end + 1
    text = " ".join(token for token, _ in rows)
    return Labelled(text, frozenset((int(start), int(end), str(kind)) for start, end, kind in names))
