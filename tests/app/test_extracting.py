"""``seedbed extract``: what it writes, and that it writes nothing when a line is bad."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seedbed_server.app.commands import app
from seedbed_server.models import tagger_child
from seedbed_server.models.tagger_worker import create

MODELS = Path(os.environ.get("SEEDBED_MODELS_DIR", Path(__file__).parents[2] / "models" / "weights"))


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests need torch, which the child's start shuts out."""
    monkeypatch.setattr(
        tagger_child, "create", lambda settings: create({"model_dir": f"{settings['models_dir']}/en_core_web_md"})
    )
    monkeypatch.setattr("seedbed_server.app.extracting.create", tagger_child.create, raising=False)
    monkeypatch.setenv("SEEDBED_MODELS_DIR", str(MODELS))


def line(content: str, name: str) -> str:
    return json.dumps({"role": "user", "name": name, "content": content, "time": "2024-05-01T12:00:00+00:00"})


def test_one_line_for_each_message(tmp_path: Path) -> None:
    """Names and triples of each message, in order; who speaks is "I", and an empty line is no message."""
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(
        f"{line('I moved to Berlin.', 'Maya')}\n\n{line('🔥 I live in Oslo, Maya!', 'Tom')}\n", encoding="utf-8"
    )
    done = CliRunner().invoke(app, ["extract", str(source), "--out", str(out)])
    assert done.exit_code == 0, done.output
    first, second = (json.loads(row) for row in out.read_text(encoding="utf-8").splitlines())
    assert first["entities"] == [{"text": "Berlin", "type": "location", "start": 11, "end": 17}]
    assert first["triples"] == [
        {
            "subject": "Maya",
            "predicate": "moved to",
            "object": "Berlin",
            "negated": False,
            "modality": "asserted",
            "valid_from": None,
            "valid_to": None,
        }
    ]
    assert [(e["text"], e["start"]) for e in second["entities"]] == [("Oslo", 12), ("Maya", 18)]
    assert second["triples"][0]["subject"] == "Tom"


@pytest.mark.parametrize("bad", ["{", "[]", '{"role": "", "content": "x"}', '{"role": "u", "content": 1}'])
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, bad: str) -> None:
    """The error says which line; what was in the output file before is still there, and nothing beside it."""
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(f"{line('I moved to Berlin.', 'Maya')}\n{bad}\n", encoding="utf-8")
    out.write_text("before", encoding="utf-8")
    done = CliRunner().invoke(app, ["extract", str(source), "--out", str(out)])
    assert done.exit_code != 0
    assert "line 2" in done.output
    assert out.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Says so, and writes nothing."""
    done = CliRunner().invoke(app, ["extract", str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "out.jsonl")])
    assert done.exit_code != 0
    assert not (tmp_path / "out.jsonl").exists()
