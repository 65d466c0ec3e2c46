"""`seedbed eval recall` on a small data set with everything that real ones have, through a running server."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from typer.testing import CliRunner

from seedbed_server.app.commands import app
from tests.serving import Serving

SAID = (
    ("We adopted a cat and named her Miso.", "", "Congratulations on Miso!"),
    ("The plumber comes on Tuesday at nine.", "  ", "I will remind you of the plumber."),
)


def conversation() -> dict[str, object]:
    messages = [
        {
            "id": f"m{session}-{at}",
            "session": f"s{session}",
            "role": "assistant" if at else "user",
            "name": "Juno" if at else "Maya",
            "content": content,
            "time": f"2026-03-0{session + 1}T09:00:0{at}Z",
        }
        for session, contents in enumerate(SAID)
        for at, content in enumerate(contents)
    ]
    questions = [
        {"id": "early", "query": "When does the plumber come?", "evidence": ["m1-0"], "category": 1, "before": "m1-0"},
        {"id": "late", "query": "When does the plumber come?", "evidence": ["m1-0"], "category": 1},
        {"id": "cat", "query": "What is the cat called?", "evidence": ["m0-0"], "category": 1, "before": "m1-0"},
    ]
    return {"conversation": "c", "messages": messages, "questions": questions}


def test_rankings_of_a_data_set(ready: Serving, tmp_path: Path) -> None:
    """Blank messages are passed over, a question sees only what was said before it, and no memory is left behind."""
    data, rankings = tmp_path / "set.jsonl.gz", tmp_path / "rankings.jsonl"
    with gzip.open(data, "wt", encoding="utf-8") as out:
        out.write(json.dumps(conversation()) + "\n")
    asked = ["eval", "recall", str(data), "--rankings", str(rankings), "--max-tokens", "300", "--limit", "5"]
    outcome = CliRunner().invoke(app, [*asked, "--server", ready.address])
    assert outcome.exit_code == 0, outcome.output
    lines = {line["id"]: line for line in map(json.loads, rankings.read_text(encoding="utf-8").splitlines())}
    assert lines.keys() == {"early", "late", "cat"}
    assert not any(hit.startswith("m1") for hit in lines["early"]["hits"] + lines["early"]["seed"]["ids"])
    assert lines["late"]["hits"][0] == "m1-0"
    assert lines["cat"]["hits"][0] == "m0-0"
    assert "m1-0" in lines["late"]["seed"]["ids"]
    assert all(line["seed"]["tokens"] <= 300 and line["ms"] > 0 for line in lines.values())
    assert min(lines[found]["seed"]["tokens"] for found in ("late", "cat")) > 0
    assert not [memory for memory in ready.client.list_memories() if memory.name.startswith("eval-")]
