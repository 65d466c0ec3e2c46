"""Which tokens are names, and of what: a small tagger for chat, on top of what the pipeline has computed.

A linear-chain conditional random field (Lafferty et al., 2001) over the scores of
small networks that look two tokens to either side; their scores are averaged. The
weights were trained on noisy social text, as written and in lower case, by
``python -m benchmarks.names train``; the manifest says from what and under which licence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from spacy.language import Language
from spacy.tokens import Doc

from .features import Features, Floats, Seen

TYPES = ("person", "location", "organisation", "work", "product")
"""The types that are told apart."""

TAGS = ("O", *(f"{place}-{kind}" for kind in TYPES for place in "BI"))
"""The labels of tokens: outside, or at the beginning of or inside a name of a type."""

REACH = 2
"""Tokens to either side of a token that its scores depend on."""

FORBIDDEN = np.float32(-1e4)
"""The score of what cannot be: the inside of a name without its beginning."""

Found = tuple[int, int, str]
"""First and last token of a name, and its type."""


def allowed() -> tuple[Floats, Floats]:
    """0 or `FORBIDDEN` for each label after each, (labels, labels), and at the start of a text, (labels,)."""
    inside = [tag.startswith("I") for tag in TAGS]
    after = [[FORBIDDEN * (tag[0] == "I" and before[2:] != tag[2:]) for tag in TAGS] for before in TAGS]
    return np.array(after, np.float32), np.array(inside, np.float32) * FORBIDDEN


class Labeller:
    """Labels docs that the pipeline has read. ``weights`` are those of `load`."""

    def __init__(self, nlp: Language, weights: Mapping[str, Floats]) -> None:
        self._features = Features(nlp, weights["centre"], weights["projection"])
        self._networks = [Network(weights, f"{i}.") for i in range(int(weights["networks"][0]))]
        after, first = allowed()
        self._after = weights["after"] + after
        self._first = weights["first"] + first

    def of(self, docs: Sequence[Doc]) -> list[list[Found]]:
        """The names of each doc, in order."""
        found: list[list[Found]] = [[] for _ in docs]
        filled = [i for i, doc in enumerate(docs) if len(doc)]
        if not filled:
            return found
        seen = self._features.of([docs[i] for i in filled])
        scores = np.mean([network.scores(seen) for network in self._networks], axis=0)
        for i, path in zip(filled, best_paths(scores, seen.lengths, self._after, self._first), strict=True):
            found[i] = list(runs(path))
        return found


def best_paths(scores: Floats, lengths: Sequence[int], after: Floats, first: Floats) -> list[list[int]]:
    """The best sequence of labels of each doc: Viterbi's algorithm, for all docs step by step.

    ``scores`` are (tokens, labels), doc after doc; ``after`` scores each label after
    each, (labels, labels), and ``first`` each at the start of a doc, (labels,).
    """
    padded = _padded(scores, lengths)
    best = padded[:, 0] + first
    came = np.zeros(padded.shape, np.intp)
    for at in range(1, padded.shape[1]):
        ways = best[:, :, None] + after
        came[:, at] = ways.argmax(axis=1)
        going = np.array([at < length for length in lengths])[:, None]
        best = np.where(going, ways.max(axis=1) + padded[:, at], best)
    return [_trace(came[i, :length], int(best[i].argmax())) for i, length in enumerate(lengths)]


class Network:
    """One network: tokens to ``inner`` units, a window of those to ``outer`` units, those to scores of labels."""

    def __init__(self, weights: Mapping[str, Floats], prefix: str) -> None:
        self._of = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}

    def scores(self, seen: Seen) -> Floats:
        """Scores of every token, (tokens, labels)."""
        of = self._of
        known = np.hstack([seen.numbers, of["tags"][seen.tags], of["labels"][seen.labels]])
        inner = np.maximum(known @ of["inner"] + of["inner_bias"], 0)
        outer = np.maximum(_window(inner, seen.lengths) @ of["outer"] + of["outer_bias"], 0)
        return np.asarray(outer @ of["scores"] + of["scores_bias"], np.float32)


def load(path: Path) -> dict[str, Floats]:
    """Reads weights, kept in half precision. The caller has verified the file."""
    return {name: value.astype(np.float32) for name, value in load_file(path).items()}


def _window(rows: Floats, lengths: Sequence[int]) -> Floats:
    """Each token's row between those of its `REACH` neighbours to either side; zeros beyond the ends of its doc."""
    width = rows.shape[1]
    out = np.zeros((len(rows), (2 * REACH + 1) * width), np.float32)
    for start, end in pairwise(accumulate(lengths, initial=0)):
        for shift in range(-REACH, REACH + 1):
            column = (shift + REACH) * width
            a, b = max(start, start - shift), min(end, end - shift)
            if a < b:
                out[a:b, column : column + width] = rows[a + shift : b + shift]
    return out


def _padded(rows: Floats, lengths: Sequence[int]) -> Floats:
    out = np.zeros((len(lengths), max(lengths), rows.shape[1]), np.float32)
    for i, (start, end) in enumerate(pairwise(accumulate(lengths, initial=0))):
        out[i, : end - start] = rows[start:end]
    return out


def _trace(came: np.ndarray[tuple[int, int], np.dtype[np.intp]], last: int) -> list[int]:
    path = [last]
    for row in came[:0:-1]:
        path.append(int(row[path[-1]]))
    return path[::-1]


def runs(path: Sequence[int]) -> Iterator[Found]:
    """Runs of numbers of labels, as names."""
    at = 0
    while at < len(path):
        first, tag = at, TAGS[path[at]]
        at += 1
        if tag == "O":
            continue
        while at < len(path) and TAGS[path[at]] == f"I-{tag[2:]}":
            at += 1
        yield first, at - 1, tag[2:]
