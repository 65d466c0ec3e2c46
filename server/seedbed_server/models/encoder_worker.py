"""The encoder in its child process: texts in, unit vectors out, by sentence-transformers.

Work is done in micro-batches of chunks of like length, and gives way after each,
so that a query waits for one micro-batch at most. Equal chunks of one call are
encoded once: a run of one symbol, however long, costs a few chunks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from seedbed_server.models.chunking import Chunking, cut_text
from seedbed_server.models.forward import quickest

BATCH = 16
BATCH_TOKENS = 128
"""Chunks, and tokens with padding, of a micro-batch. On one thread 256 and 512 tokens are hardly faster in bulk (some
5 %), and make a query wait twice and four times as long; memory grows with them too."""

TOKENISED_AT_ONCE = 65_536
"""Characters whose tokens are read in one step: some 20 ms."""

QUERY_CHUNKS = 8
"""Chunks of a query that are looked at: a question is short, or stands at one end of a long text."""

Ids = tuple[int, ...]


class EncoderWorker:
    """A sentence-transformers model from ``folder``, an absolute path whose files have been verified."""

    def __init__(self, folder: Path, chunking: Chunking, threads: int) -> None:
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self._chunking = chunking
        self._model = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        self._model.eval()
        tokenizer = self._model.tokenizer
        self._before, self._after, self._padding = (
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.pad_token_id,
        )
        self._pass = quickest(self._model)
        self._warm_up()

    def describe(self) -> dict[str, Any]:
        """What the parent is told when the model is loaded."""
        return {"dimensions": self._model.get_embedding_dimension(), "window": self._model.max_seq_length}

    def encode_queries(self, texts: Sequence[str]) -> Generator[None, None, np.ndarray]:
        """One unit vector a text, shape (texts, dimensions), float32; of a long one the mean of its chunks."""
        cut = yield from self._cut([""] * len(texts), texts)
        vectors = yield from self._encode([_ends(chunks, QUERY_CHUNKS) for chunks in cut])
        return np.stack([_unit(rows.mean(axis=0)) for rows in vectors])

    def encode_passages(self, headers: Sequence[str], texts: Sequence[str]) -> Generator[None, None, dict[str, Any]]:
        """The unit vectors of all chunks of all texts, one after another, and how many chunks each text has."""
        cut = yield from self._cut(headers, texts)
        vectors = yield from self._encode(cut)
        return {"vectors": np.concatenate(vectors), "counts": [len(rows) for rows in vectors]}

    def _warm_up(self) -> None:
        """Run once, so that the first query does not pay for what the library puts off."""
        for _ in self.encode_queries(["ready"]):
            pass

    def _cut(self, headers: Sequence[str], texts: Sequence[str]) -> Generator[None, None, list[list[Ids]]]:
        cut: list[list[Ids]] = []
        for part in _portions(headers, texts, self._chunking.characters):
            heads, bodies = self._ids([header for header, _ in part]), self._ids([text for _, text in part])
            cut += [list(self._chunking.chunks(head, body)) for head, body in zip(heads, bodies, strict=True)]
            yield
        return cut

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        tokens = self._model.tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
        ids: list[list[int]] = tokens["input_ids"]
        return ids

    def _encode(self, cut: Sequence[Sequence[Ids]]) -> Generator[None, None, list[np.ndarray]]:
        """The vectors of each text's chunks, shape (chunks, dimensions)."""
        distinct = sorted({chunk for chunks in cut for chunk in chunks}, key=lambda chunk: (len(chunk), chunk))
        vectors: dict[Ids, np.ndarray] = {}
        for batch in _batches(distinct):
            vectors.update(zip(batch, self._forward(batch), strict=True))
            yield
        return [np.stack([vectors[chunk] for chunk in chunks]) for chunks in cut]

    def _forward(self, batch: Sequence[Ids]) -> np.ndarray:
        longest = len(batch[-1]) + 2
        ids = torch.full((len(batch), longest), self._padding)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, chunk in enumerate(batch):
            ids[row, : len(chunk) + 2] = torch.tensor([self._before, *chunk, self._after])
            mask[row, : len(chunk) + 2] = 1
        with torch.inference_mode():
            vectors = self._pass(ids, mask)
        rows: np.ndarray = vectors.numpy().astype(np.float32, copy=False)
        return rows


def _portions(headers: Sequence[str], texts: Sequence[str], characters: int) -> Iterator[list[tuple[str, str]]]:
    """Texts with their headers, as many at a time as make a short step."""
    portion: list[tuple[str, str]] = []
    size = 0
    for header, text in zip(headers, texts, strict=True):
        portion.append((header, cut_text(text, characters)))
        size += len(header) + len(portion[-1][1])
        if size >= TOKENISED_AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _batches(chunks: Sequence[Ids]) -> Iterator[Sequence[Ids]]:
    """Micro-batches of chunks that are sorted by length, longest last in each."""
    start = 0
    while start < len(chunks):
        end = start + 1
        while end < len(chunks) and end - start < BATCH and (end - start + 1) * (len(chunks[end]) + 2) <= BATCH_TOKENS:
            end += 1
        yield chunks[start:end]
        start = end


def _ends(chunks: Sequence[Ids], limit: int) -> Sequence[Ids]:
    return chunks if len(chunks) <= limit else [*islice(chunks, limit // 2), *chunks[-(limit - limit // 2) :]]


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
