"""What the labeller sees of each token: numbers that the pipeline has worked out anyway, and how the word is written.

Per token, side by side: the word's vector (its leading principal components), the
contextual vectors of the parser's and of the recogniser's own encoder, and marks of
its spelling; beside them the numbers of its part of speech and of the recogniser's label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

HIDDEN = "recogniser"
"""Where a doc keeps the recogniser's contextual vectors."""

MARKS = 14
"""Marks of spelling per token."""

_SCALE = np.float32(0.3)  # contextual vectors are about three times as large as the rest


@dataclass(frozen=True, slots=True)
class Seen:
    """The tokens of some docs, one after another.

    ``numbers`` is (tokens, width); ``tags`` and ``labels`` are (tokens,); ``lengths`` are the tokens of each doc.
    """

    numbers: Floats
    tags: Indices
    labels: Indices
    lengths: list[int]


class Features:
    """Reads tokens of docs that the pipeline has read.

    ``projection`` is (vector width, components), applied to word vectors less
    ``centre``. Changes the pipeline, once: the recogniser keeps what it computes.
    """

    def __init__(self, nlp: Language, centre: Floats, projection: Floats) -> None:
        _keep_hidden(nlp)
        self._vectors = nlp.vocab.vectors
        # The last row stands for words without a vector.
        table = (self._vectors.data - centre) @ projection
        known = np.ones((len(table), 1), np.float32)
        unknown = np.zeros((1, table.shape[1] + 1), np.float32)
        self._table = np.vstack([np.hstack([table, known]), unknown]).astype(np.float32)
        tags = nlp.get_pipe("tagger").labels  # type: ignore[attr-defined]
        labels = nlp.get_pipe("ner").labels  # type: ignore[attr-defined]
        self._tags = {tag: i for i, tag in enumerate(tags, 1)}
        self._labels = {
            f"{place}{label}": i for i, (label, place) in enumerate(((y, p) for y in labels for p in "BI"), 1)
        }

    @property
    def tags(self) -> int:
        """How many numbers a part of speech may have."""
        return len(self._tags) + 1

    @property
    def labels(self) -> int:
        """How many numbers a recogniser's label may have."""
        return len(self._labels) + 1

    def of(self, docs: Sequence[Doc]) -> Seen:
        """Everything that is seen of these docs; none may be empty."""
        rows = self._vectors.find(keys=np.concatenate([doc.to_array("ORTH") for doc in docs]))
        numbers = [
            self._table[rows],
            np.concatenate([doc.tensor for doc in docs]) * _SCALE,
            np.concatenate([doc.user_data[HIDDEN] for doc in docs]) * _SCALE,
            np.concatenate([_marks(doc) for doc in docs]),
        ]
        tags = [self._tags.get(token.tag_, 0) for doc in docs for token in doc]
        labels = [self._labels.get(token.ent_iob_ + token.ent_type_, 0) for doc in docs for token in doc]
        return Seen(np.hstack(numbers), np.array(tags), np.array(labels), [len(doc) for doc in docs])


def _marks(doc: Doc) -> Floats:
    """How words are written, (tokens, `MARKS`), and how the text is: capitals say little where all words have them."""
    marks = np.zeros((len(doc), MARKS), np.float32)
    marks[:, :9] = [_spelling(token.text) for token in doc]
    words = marks[marks[:, 8] > 0]
    capitals, shouted = words[:, :2].mean(axis=0) if len(words) else (0.0, 0.0)
    marks[0, 9] = marks[-1, 10] = 1
    marks[:, 11:] = capitals, shouted, capitals == 0
    return marks


@lru_cache(maxsize=20_000)
def _spelling(word: str) -> tuple[float, ...]:
    return (
        word[0].isupper(),
        len(word) > 1 and word.isupper(),
        word.islower(),
        any(map(str.isdigit, word)),
        not any(map(str.isalnum, word)),
        word[0] == "@",
        word[0] == "#",
        min(len(word), 30) / 10,
        word[0].isalpha(),
    )


def _keep_hidden(nlp: Language) -> None:
    """Has the recogniser's encoder leave its output with each doc: to compute it again would cost a quarter more."""
    encoder = nlp.get_pipe("ner").model.get_ref("tok2vec")  # type: ignore[attr-defined]
    inner = encoder.layers[0]
    if inner.name != HIDDEN:
        encoder.layers[0] = Model(HIDDEN, _forward_and_keep, layers=[inner])


def _forward_and_keep(model: Model[Any, Any], docs: Sequence[Doc], is_train: bool) -> object:
    hidden, backward = model.layers[0](docs, is_train)
    for doc, rows in zip(docs, hidden, strict=True):
        doc.user_data[HIDDEN] = rows
    return hidden, backward
