"""The worker in the tagger's child: replies, yields, and what must not hurt it."""

from __future__ import annotations

import asyncio
import base64
import random
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed_server.models.contract import ENTITY_TYPES, MODALITIES, Claim, Extraction, Span, Turn
from seedbed_server.models.manifest import by_role
from seedbed_server.models.tagger import Tagger
from seedbed_server.models.tagger_worker import BATCH_PIECES, TaggerWorker

from .conftest import Read, finish, models_dir

BLOB = base64.b64encode(random.Random(7).randbytes(150_000)).decode()

HOSTILE = {
    "brackets": "(" * 100_000,
    "spaced brackets": "( " * 50_000,
    "emoji": "🔥" * 20_000,
    "one letter": "a" * 1_000_000,
    "base64": BLOB,
    "base64 in lines": "\n".join(BLOB[i : i + 64] for i in range(0, len(BLOB), 64)),
    "short words": "a b " * 50_000,
    "apostrophes": "a' " * 30_000,
    "hyphens": "a-b-c-d-e-f-g- " * 5_000,
    "a list without end": "I like " + "cats and " * 20_000,
    "clauses in clauses": "I think that you think that " * 5_000,
    "possessives": "my sister's " * 10_000,
    "quotations": '"I live in Rome" ' * 5_000,
    "right to left": "مرحبا بك " * 4_000,
}


def wire(text: str) -> dict[str, object]:
    return Turn(text, "Maya", "Sam", datetime(2024, 5, 1, tzinfo=UTC)).to_wire()


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_is_expensive(worker: TaggerWorker, kind: str) -> None:
    """Whatever a message holds, it is read in about a second of CPU."""
    began = time.process_time()
    (reply,) = finish(worker, [wire(HOSTILE[kind])])
    assert reply is not None
    assert time.process_time() - began < 10


def test_a_fact_beside_a_blob_is_found(read: Read) -> None:
    """What is cut out of a message takes nothing else with it."""
    found = read(f"{'(' * 9_000} I moved to Berlin. {'🔥' * 5_000} {'QUJD' * 1_000}")
    assert [(claim.predicate, claim.object) for claim in found.claims] == [("moved to", "Berlin")]


def test_turns_that_cannot_be_read_are_none_and_cost_the_others_nothing(worker: TaggerWorker) -> None:
    """A turn of another shape gives None; its neighbours are read."""
    turns = [wire("I moved to Rome."), {}, {"text": 7}, {"text": "x", "time": "yesterday"}, wire("I moved to Oslo.")]
    first, *bad, last = finish(worker, turns)
    assert bad == [None, None, None]
    assert first is not None
    assert last is not None
    assert (first["claims"][0]["object"], last["claims"][0]["object"]) == ("Rome", "Oslo")


def test_a_failing_pipeline_skips_the_text_alone(worker: TaggerWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the pipeline fails on one text of a batch, the others are read one by one."""
    claims_of = worker._triples.of

    def fail_on_oslo(scene: object) -> list[Claim]:
        if "Oslo" in scene.doc.text:  # type: ignore[attr-defined]
            raise RuntimeError
        return claims_of(scene)  # type: ignore[arg-type]

    monkeypatch.setattr(worker._triples, "of", fail_on_oslo)
    first, second = finish(worker, [wire("I moved to Oslo."), wire("I moved to Rome.")])
    assert first is None
    assert second is not None
    assert second["claims"][0]["object"] == "Rome"


def test_lone_surrogates_and_control_characters_are_read_over(read: Read) -> None:
    """They neither fail nor move an offset."""
    text = "x\ud83d \x00 I moved to Berlin."
    found = read(text)
    assert [(span.text, span.start) for span in found.entities] == [("Berlin", text.index("Berlin"))]


def test_yields_between_micro_batches(worker: TaggerWorker) -> None:
    """A bulk request gives way once per micro-batch."""
    reading = worker.extract([wire("I moved to Berlin.")] * (3 * BATCH_PIECES))
    assert sum(1 for _ in reading) == 3


def test_a_turn_reads_the_same_alone_and_in_a_batch(worker: TaggerWorker) -> None:
    """What stands beside a message does not change what is read from it."""
    texts = ["I moved to Berlin.", "My sister Elena works at Siemens.", "ok", "I hate olives but Tom loves them."]
    together = finish(worker, [wire(text) for text in texts * 5])
    assert together == [finish(worker, [wire(text)])[0] for text in texts] * 5


def test_new_words_do_not_stay(worker: TaggerWorker) -> None:
    """The pipeline's store of strings is as large after a batch of new words as before."""
    before = len(worker._nlp.vocab.strings)
    finish(worker, [wire(f"I bought a frob{i}zle from Quux{i}.") for i in range(200)])
    assert len(worker._nlp.vocab.strings) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["Elena", "my", "sister", "I", "moved", "to", "is", "'s", ",", ".", "?", "🔥", "and", "not"])
    )
)
def test_any_salad_of_words_gives_sound_values(worker: TaggerWorker, words: list[str]) -> None:
    """Spans are exact, ordered and apart; types and modalities are of the contract; ends are not empty."""
    text = " ".join(words)
    (reply,) = finish(worker, [wire(text)])
    assert reply is not None
    found = Extraction.from_wire(reply)
    end = 0
    for span in found.entities:
        assert span.start >= end
        assert text[span.start : span.end] == span.text != ""
        assert span.type in {*ENTITY_TYPES, "date"}
        end = span.end
    for claim in found.claims:
        assert claim.modality in MODALITIES
        assert claim.subject.strip()
        assert claim.predicate.strip()
        assert claim.object.strip()


def test_values_survive_the_wire() -> None:
    """Turns and extractions come back as they were sent."""
    turn = Turn("hi", "Maya", "", datetime(2024, 5, 1, 12, 30, tzinfo=UTC))
    assert Turn.from_wire(turn.to_wire()) == turn
    span = Span("Rome", "location", 3, 7)
    claim = Claim("Maya", "moved to", "Rome", negated=True, modality="planned", surface="w", object_type="location")
    assert Extraction.from_wire(Extraction((span,), (claim,)).to_wire()) == Extraction((span,), (claim,))


@pytest.mark.slow
def test_rate_of_messages(worker: TaggerWorker) -> None:
    """Messages of about 20 words are read at a fair rate on one core; the bar leaves room for a busy machine."""
    text = "Last weekend my sister {} and I drove to the lake near {}, cooked pasta and talked about her new job."
    names = ["Elena", "Maria", "Priya", "Zoe"]
    turns = [wire(text.format(names[i % 4], ["Boston", "Rome", "Oslo"][i % 3])) for i in range(300)]
    began = time.process_time()
    finish(worker, turns)
    assert 300 / (time.process_time() - began) > 60


async def test_altered_weights_are_not_loaded(tmp_path: Path) -> None:
    """One changed byte in one file, and the tagger stays down, at every start."""
    model = by_role("tagger").name
    shutil.copytree(models_dir() / model, tmp_path / model)
    victim = tmp_path / model / "meta.json"
    victim.write_bytes(victim.read_bytes().replace(b" ", b"\t", 1))
    altered = Tagger(tmp_path)
    await altered.child.start()
    async with asyncio.timeout(60):
        while altered.child.restarts == 0:
            await asyncio.sleep(0.05)
    assert altered.child.state == "down"
    assert altered.child.detail.startswith("could not start")
    await altered.child.stop()
