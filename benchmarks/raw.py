"""The bare encoder: sentence-transformers as anybody would use it, on one thread, in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from seedbed_server.processes.parent import child_environment

_model: Any = None


class RawEncoder:
    """The process; a context manager. Times are measured inside it, so that nothing but encoding is in them."""

    def __init__(self, folder: Path) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, spawn, initializer=_load, initargs=(str(folder),))

    def __enter__(self) -> Self:
        self.seconds(["ready"])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.shutdown()

    def seconds(self, texts: Sequence[str]) -> float:
        """How long it takes to encode the texts in one call."""
        return self._process.submit(_encode, list(texts)).result()


def _load(folder: str) -> None:
    global _model  # noqa: PLW0603 - the one model of this process
    import os

    os.environ.update(child_environment(1))
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    _model = SentenceTransformer(folder, device="cpu", local_files_only=True)


def _encode(texts: Sequence[str]) -> float:
    started = time.perf_counter()
    _model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return time.perf_counter() - started
