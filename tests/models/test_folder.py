"""What a model folder must not hold."""

import json
import pickle
from pathlib import Path

import pytest

from seedbed_server.models.folder import UnsafeModelError, refuse_code
from seedbed_server.models.manifest import by_role


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is acceptable."""
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    modules = [{"path": "", "type": "sentence_transformers.models.Transformer"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    refuse_code(tmp_path)
    return tmp_path


def test_real_encoder_is_acceptable(models_dir: Path) -> None:
    """The model that is shipped passes."""
    refuse_code(models_dir / by_role("encoder").name)


@pytest.mark.parametrize("name", ["modeling.py", "1_Pooling/x.py", "native.so"])
def test_code_is_refused(folder: Path, name: str) -> None:
    """Python and native code, wherever it lies."""
    (folder / name).write_text("")
    with pytest.raises(UnsafeModelError, match="holds code"):
        refuse_code(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "1_Pooling/weights.pt", "optimizer.pth", "training.pkl"])
def test_pickles_are_refused(folder: Path, name: str) -> None:
    """Formats that run code when they are read."""
    (folder / name).write_bytes(pickle.dumps({}))
    with pytest.raises(UnsafeModelError, match="can run code"):
        refuse_code(folder)


@pytest.mark.parametrize("name", ["config.json", "1_Pooling/config.json", "tokenizer_config.json"])
def test_references_to_code_are_refused(folder: Path, name: str) -> None:
    """``auto_map`` at any depth of any JSON file."""
    (folder / name).write_text(json.dumps({"a": [{"auto_map": {"AutoModel": "x--y.Z"}}]}))
    with pytest.raises(UnsafeModelError, match="code of its own"):
        refuse_code(folder)


def test_unknown_modules_are_refused(folder: Path) -> None:
    """A library would import whatever ``modules.json`` names."""
    (folder / "modules.json").write_text(json.dumps([{"path": "", "type": "os.system"}]))
    with pytest.raises(UnsafeModelError, match="not known"):
        refuse_code(folder)


def test_model_without_safetensors_is_refused(folder: Path) -> None:
    """There is nothing safe to load."""
    (folder / "model.safetensors").unlink()
    with pytest.raises(UnsafeModelError, match="no safetensors"):
        refuse_code(folder)
