"""Tiny real encoders: BERT with one layer and random weights, in folders as sentence-transformers saves them.

They cut texts with the tokens of the real encoder. What they find means nothing,
but it is the same every time, and each finds something else.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from seedbed_server.models.manifest import OWN, by_role

_TOKENS = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
_AS_THEY_ARE = ("config_sentence_transformers.json", "modules.json", "sentence_bert_config.json")
_VOCABULARY, _POSITIONS = 30_522, 512


def make_encoders(root: Path, models_dir: Path, dimensions: dict[str, int]) -> Path:
    """Put encoders of these names and dimensions (multiples of 8) into ``root``, with a manifest; returns ``root``."""
    entries = []
    for seed, (name, width) in enumerate(dimensions.items()):
        folder = root / name
        _make(folder, models_dir / by_role("encoder").name, width, seed)
        entries.append(_entry(folder, name, width))
    (root / OWN).write_text("\n".join(entries), encoding="utf-8")
    return root


def _make(folder: Path, real: Path, width: int, seed: int) -> None:
    (folder / "1_Pooling").mkdir(parents=True)
    for name in (*_TOKENS, *_AS_THEY_ARE):
        shutil.copyfile(real / name, folder / name)
    pooling = json.loads((real / "1_Pooling" / "config.json").read_text())
    _write(folder / "1_Pooling" / "config.json", pooling | {"word_embedding_dimension": width})
    config = json.loads((real / "config.json").read_text())
    small = {"hidden_size": width, "intermediate_size": width, "num_attention_heads": 2, "num_hidden_layers": 1}
    _write(folder / "config.json", config | small)
    save_file(_weights(width, seed), folder / "model.safetensors", {"format": "pt"})


def _weights(width: int, seed: int) -> dict[str, np.ndarray]:
    """Random parameters of a BERT of one layer, by their names."""
    random = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return random.normal(0, 0.5, shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": drawn(_VOCABULARY, width),
        "embeddings.position_embeddings.weight": drawn(_POSITIONS, width) / 10,
        "embeddings.token_type_embeddings.weight": drawn(2, width) / 10,
    }
    layer = "encoder.layer.0."
    inner = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    for name in (*(layer + each for each in (*inner, "intermediate.dense", "output.dense")), "pooler.dense"):
        found |= {f"{name}.weight": drawn(width, width) / 4, f"{name}.bias": np.zeros(width, np.float32)}
    for name in ("embeddings.LayerNorm", f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"):
        found |= {f"{name}.weight": np.ones(width, np.float32), f"{name}.bias": np.zeros(width, np.float32)}
    return found


def _entry(folder: Path, name: str, width: int) -> str:
    lines = ["[[model]]", f'name = "{name}"', 'role = "encoder"', f"dimensions = {width}", "max_tokens = 256"]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        lines += ["[[model.file]]", f'path = "{path.relative_to(folder).as_posix()}"', f"size = {len(data)}"]
        lines += [f'sha256 = "{hashlib.sha256(data).hexdigest()}"']
    return "\n".join([*lines, ""])


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
