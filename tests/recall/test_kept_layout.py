"""What is worked out once for a whole memory gives the very ranking that working it out anew gives."""

import json
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pytest

from seedbed.messages import Message
from seedbed_server.projections.lexical import term_row
from seedbed_server.recall.hot import HotMemory, Row
from seedbed_server.recall.layout import Layout
from seedbed_server.recall.search import Search, _match, _score
from seedbed_server.recall.stopwords import query_terms

DIMENSIONS = 8
QUESTIONS = ("Where does Maya live now?", "Who is allergic to peanuts?", "What did we plan for the trip in April?")


def demo() -> Iterator[Row]:
    """The bundled conversation as rows, a session after another."""
    lines = (files("seedbed_server.app.demo") / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    for seq, line in enumerate(lines, 1):
        said = json.loads(line)
        yield Row(
            *term_row(
                Message(
                    said["role"], (said["content"],), said.get("name", ""), session=said.get("session", ""), seq=seq
                )
            )
        )


def loaded(rows: list[Row]) -> HotMemory:
    """A hot memory that got its messages in two parts, and was searched between them."""
    memory = HotMemory(1, DIMENSIONS, 0)
    chance = np.random.default_rng(7)
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        memory.add(part, part[-1].seq)
        memory.add_vectors(
            [row.seq for row in part],
            [chance.standard_normal((1, DIMENSIONS)).astype(np.float32) for _ in part],
            part[-1].seq,
        )
        memory.postings.score(["maya"], memory.layout("", None))
    return memory


@pytest.mark.parametrize("question", QUESTIONS)
def test_same_ranking(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit: rows, scores and what each leg gave."""
    rows = list(demo())
    memory = loaded(rows)
    vector = np.random.default_rng(8).standard_normal(DIMENSIONS).astype(np.float32)
    search = Search(question, 20, upto_seq=rows[-1].seq)
    kept = [_score(memory, _match(memory, query_terms(question), search, ()), vector, search) for _ in range(2)][-1]
    fresh_layout = Layout(memory.layout("", None).session_of.copy(), np.ones(len(rows), np.bool_))
    monkeypatch.setattr(memory, "layout", lambda *_: fresh_layout)
    fresh = _score(memory, _match(memory, query_terms(question), search, ()), vector, search)
    assert kept.rows.tolist() == fresh.rows.tolist()
    assert kept.fused.tobytes() == fresh.fused.tobytes()
    assert all(kept.legs[name].raw.tobytes() == leg.raw.tobytes() for name, leg in fresh.legs.items())
    assert len(kept.rows) == 20


def test_a_memory_that_grew_while_the_query_was_encoded() -> None:
    """Words are matched again: the ranking is that of the memory as it is."""
    rows = list(demo())
    memory = loaded(rows[:-4])
    vector = np.random.default_rng(8).standard_normal(DIMENSIONS).astype(np.float32)
    search = Search(QUESTIONS[0], 20)
    early = _match(memory, query_terms(QUESTIONS[0]), search, ())
    memory.add(rows[-4:], rows[-1].seq)
    found = _score(memory, early, vector, search)
    expected = _score(memory, _match(memory, query_terms(QUESTIONS[0]), search, ()), vector, search)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.fused.tobytes() == expected.fused.tobytes()
