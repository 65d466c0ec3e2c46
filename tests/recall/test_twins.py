"""One conversation in English and in Japanese: as much of it is found in either."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from seedbed.messages import Message
from seedbed_server.models.encoder import Encoder

from .rooms import Room, StandInIndex

SETS = Path(__file__).parents[2] / "benchmarks" / "sets"


def twin(language: str) -> dict[str, Any]:
    conversation: dict[str, Any] = json.loads((SETS / f"twins.{language}.jsonl").read_text(encoding="utf-8"))
    return conversation


@pytest.fixture
async def room(tmp_path: Path, encoder: Encoder) -> Room:
    """Both conversations, a memory each."""
    room = Room(tmp_path, encoder, StandInIndex())
    await room.open()
    for language in ("en", "ja"):
        for row in twin(language)["messages"]:
            said = datetime.fromisoformat(row["time"])
            message = Message("user", (row["content"],), row["name"], time=said, id=row["id"])
            await room.write(language, message, session=row["session"])
        await room.project(language)
    return room


async def recall_at_5(room: Room, language: str) -> float:
    found = []
    for question in twin(language)["questions"]:
        hits = (await room.search(language, question["query"], k=5)).hits
        found.append(len({hit.message.id for hit in hits} & set(question["evidence"])) / len(question["evidence"]))
    return fmean(found)


async def test_a_script_without_spaces_is_searched_as_well(room: Room) -> None:
    """At five hits, within three points; what was never spoken of is not found, in either language."""
    english, japanese = [await recall_at_5(room, language) for language in ("en", "ja")]
    assert min(english, japanese) > 0.9
    assert japanese == pytest.approx(english, abs=0.03)
    for language, query in (
        ("ja", "江戸幕府の三代将軍は誰"),
        ("ja", "真空管アンプの電圧は"),
        ("en", "How many moons has Neptune?"),
    ):
        ranking = await room.search(language, query, k=5)
        assert (ranking.hits, ranking.below_floor, ranking.degraded_legs) == ((), 5, ())
    await room.close()
