"""The recorded pass against the library's own, on the real model; and what happens where recording does not work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from seedbed_server.models.manifest import by_role

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

pytestmark = pytest.mark.slow  # this process imports the library

TEXTS = ["hi", "What did Maya say about the sofa?", "東京に引っ越した 🔥", "We talked about the move. " * 40]


def _model(models_dir: Path) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    folder = str(models_dir / by_role("encoder").name)
    return SentenceTransformer(folder, device="cpu", local_files_only=True)


def _vectors(models_dir: Path) -> tuple[np.ndarray, np.ndarray, str]:
    """Of TEXTS by the quickest pass and by the library, and of which kind the pass is."""
    import torch

    from seedbed_server.models.forward import quickest

    wanted = _model(models_dir).encode(TEXTS)
    model = _model(models_dir)
    tokens = model.tokenizer(TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt")
    forward = quickest(model)
    with torch.inference_mode():
        got = forward(tokens["input_ids"], tokens["attention_mask"]).numpy()
    return got, wanted, type(forward).__name__


def _apart(got: np.ndarray, wanted: np.ndarray) -> float:
    return float((1 - (got * wanted).sum(axis=1)).max())


def test_recorded_and_halved_gives_the_librarys_vectors(models_dir: Path) -> None:
    """Lengths and padding that were never recorded; apart by no more than single precision can show."""
    got, wanted, kind = _vectors(models_dir)
    assert kind == "TopLevelTracedModule"
    assert _apart(got, wanted) < 1e-6


def test_without_the_packed_matrices_it_is_recorded_in_single(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a processor for which FBGEMM is not built."""
    import torch

    monkeypatch.setattr(type(torch.backends.quantized), "supported_engines", ["qnnpack"], raising=False)
    got, wanted, kind = _vectors(models_dir)
    assert kind == "TopLevelTracedModule"
    assert _apart(got, wanted) < 1e-6
    assert np.allclose(got, wanted, atol=1e-6)  # closer than half precision comes


@pytest.mark.parametrize("failure", ["wrong numbers", "an error"])
def test_what_is_not_the_librarys_is_not_used(models_dir: Path, monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    """A recording that another length falsifies, or that cannot be made: the library itself answers."""
    import torch

    def trace(module: torch.nn.Module, example: tuple[torch.Tensor, ...], **_: object) -> object:
        if failure == "an error":
            raise RuntimeError
        fixed = module(*example)
        return lambda ids, _mask: fixed[:1].repeat(len(ids), 1)

    monkeypatch.setattr(torch.jit, "trace", trace)
    got, wanted, kind = _vectors(models_dir)
    assert kind == "function"
    assert np.allclose(got, wanted, atol=1e-6)
