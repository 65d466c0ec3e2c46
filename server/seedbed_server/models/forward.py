"""The encoder's forward pass, recorded once: the library's numbers without its Python.

A query is a dozen tokens, and what it costs is not arithmetic: half the time the
library walks its modules, and most of the rest goes into reading 40 MB of
weights. So the pass is recorded by TorchScript, and its matrices are kept in
half precision, which FBGEMM widens in registers while it multiplies in single.
Which of it holds on a machine is tried when the model is loaded, by comparing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

Forward = Callable[[Tensor, Tensor], Tensor]
"""Token ids and attention mask, shape (chunks, tokens) both, to vectors of shape (chunks, dimensions)."""

ALIKE = 1e-5
"""Largest 1 - cosine of a vector and the library's own. Half precision gives some 1e-7; texts that differ by a
word are 1e-2 apart."""

_RECORDED = (2, 18)
_COMPARED = ((1, 3), (1, 18), (3, 40))
"""Shapes (chunks, tokens). What was recorded must hold for others: one chunk, none padded, several with padding."""


def quickest(model: SentenceTransformer) -> Forward:
    """The quickest pass of ``model`` that gives its vectors here. It changes ``model``, which is then its own."""
    plain = _pass(model)
    probes = [_probe(shape) for shape in _COMPARED]
    with torch.inference_mode():
        wanted = [plain(*probe) for probe in probes]
    layers = _linear(model)
    halved = _halved(plain, layers) if layers else None
    if halved is not None and _alike(halved, probes, wanted):
        return halved
    for parent, name, layer in layers:
        setattr(parent, name, layer)
    single = _recorded(plain, [])
    return single if single is not None and _alike(single, probes, wanted) else plain


def _pass(model: SentenceTransformer) -> Forward:
    """All of the library's modules: the transformer, the pooling, the length."""
    model.requires_grad_(requires_grad=False)

    def forward(ids: Tensor, mask: Tensor) -> Tensor:
        vectors: Tensor = model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
        return vectors

    return forward


class _HalfLinear(nn.Module):
    """A linear layer whose matrix is packed in half precision; sums and results are in single."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack_fp16(layer.weight, layer.bias)

    def forward(self, rows: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic_fp16(rows, self._packed)
        return product


class _Recording(nn.Module):
    """What TorchScript records: a pass, and those of its layers whose matrices it cannot copy but has to hold."""

    def __init__(self, plain: Forward, holds: Sequence[nn.Module]) -> None:
        super().__init__()
        self._plain = plain
        self._holds = nn.ModuleList(holds)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._plain(ids, mask)


def _linear(model: nn.Module) -> list[tuple[nn.Module, str, nn.Linear]]:
    """Every linear layer, and where it is. None where the processor has no FBGEMM, such as on ARM."""
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return []
    return [
        (parent, name, layer)
        for parent in model.modules()
        for name, layer in parent.named_children()
        if isinstance(layer, nn.Linear) and layer.bias is not None
    ]


def _halved(plain: Forward, layers: Sequence[tuple[nn.Module, str, nn.Linear]]) -> Forward | None:
    """``plain`` as TorchScript with its linear layers replaced, which the caller puts back; None if that fails."""
    try:
        halves = [_HalfLinear(layer) for _, _, layer in layers]
    except Exception:  # noqa: BLE001  whatever a library makes of a layer, the plain pass still works
        return None
    for (parent, name, _), half in zip(layers, halves, strict=True):
        setattr(parent, name, half)
    return _recorded(plain, halves)


def _recorded(plain: Forward, holds: Sequence[nn.Module]) -> Forward | None:
    """``plain`` as TorchScript; None when a model cannot be recorded."""
    with torch.inference_mode(), warnings.catch_warnings():
        # TorchScript is no longer developed, and says so; torch.export takes four seconds and saves a third of this.
        # That sizes became constants, which it warns of too, would show in the comparison at other sizes.
        warnings.simplefilter("ignore")
        try:
            recorded: Forward = torch.jit.trace(_Recording(plain, holds), _probe(_RECORDED), check_trace=False)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001  any module may refuse in its own way; the plain pass still works
            return None
    return recorded


def _probe(shape: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Ids that every vocabulary has, each row a token shorter than the one before."""
    chunks, tokens = shape
    ids = (torch.arange(chunks * tokens) % 900 + 1).reshape(shape)
    mask = (torch.arange(tokens) < tokens - torch.arange(chunks)[:, None]).long()
    return ids, mask


def _alike(forward: Forward, probes: Sequence[tuple[Tensor, Tensor]], wanted: Sequence[Tensor]) -> bool:
    with torch.inference_mode():
        try:
            got = [forward(*probe) for probe in probes]
        except Exception:  # noqa: BLE001  as above
            return False
    cosines = [torch.cosine_similarity(one, other) for one, other in zip(got, wanted, strict=True)]
    return bool(torch.cat(cosines).min() >= 1 - ALIKE)
