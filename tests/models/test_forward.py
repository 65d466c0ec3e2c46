"""The recorded pass against the library's own, on the real model; and what happens where recording does not work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_model_that_cannot_be_halved_keeps_its_own_pass(dtype: str) -> None:
    """Attention that reads its layers' weights itself, and matrices that FBGEMM does not pack: neither is an error."""
    import torch
    from torch import nn

    from seedbed_server.models.forward import quickest

    class Attending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(1000, 32)
            self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

        def forward(self, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            mask = given["attention_mask"][..., None].to(self.words.weight.dtype)
            rows = self.layer(self.words(given["input_ids"])) * mask
            return {"sentence_embedding": rows.sum(1) / mask.sum(1)}

    torch.manual_seed(0)
    model: Any = Attending().eval().to(getattr(torch, dtype))
    ids, mask = torch.arange(1, 11).reshape(2, 5), torch.ones(2, 5, dtype=torch.long)
    with torch.inference_mode():
        wanted = model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
        got = quickest(model)(ids, mask)
    assert isinstance(model.layer.linear1, nn.Linear)
    assert torch.allclose(got, wanted, atol=1e-2)


def test_without_the_packed_matrices_it_is_recorded_once(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where that recording is of no use."""
    import torch

    recorded: list[object] = []

    def trace(module: torch.nn.Module, *_: object, **__: object) -> object:
        recorded.append(module)
        raise AttributeError

    monkeypatch.setattr(type(torch.backends.quantized), "supported_engines", ["qnnpack"], raising=False)
    monkeypatch.setattr(torch.jit, "trace", trace)
    _, _, kind = _vectors(models_dir)
    assert (len(recorded), kind) == (1, "function")
