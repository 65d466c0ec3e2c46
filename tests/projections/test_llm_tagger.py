"""Reading by a language model, against a scripted server on a real socket, with a local reader behind it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.models import llm as client
from seedbed_server.models.breaker import FIRST, MOST, STRIKES, Breaker
from seedbed_server.models.contract import Claim, Extraction, Turn
from seedbed_server.models.llm import Llm
from seedbed_server.models.llm_reading import READ_LIMIT
from seedbed_server.models.llm_tagger import PATIENCE, LlmTagger
from seedbed_server.projections.contract import Backoff
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.rows import REACH

from .source import ListLog
from .test_llm import Endpoint, drip, endpoint, flood, hang, reply, says

__all__ = ["endpoint"]

CLAIM = {"subject": "Maya", "predicate": "live in", "object": "Porto", "quote": "I live in Porto"}
GOOD = json.dumps({"entities": [{"text": "Porto", "type": "location"}], "triples": [CLAIM]})
NOTHING = json.dumps({"entities": [], "triples": []})
LOCAL = Extraction((), (Claim("Maya", "be", "local", False, "asserted", ""),))
TURN = Turn("I live in Porto, canary.", "Maya", "", None)


class LocalReader:
    fingerprint = "local"
    at_once = 32

    def __init__(self) -> None:
        self.read = 0
        self.down = False

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        if self.down and turns:
            raise PartUnavailableError("tagger")
        self.read += len(turns)
        return [LOCAL for _ in turns]

    async def probe(self) -> None:
        await self.extract([TURN])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Reading:
    """An `LlmTagger`, and what is around it."""

    def __init__(self, url: str, seconds: float = 60.0, calls: int = 4, patience: float = PATIENCE) -> None:
        self.local = LocalReader()
        self.clock = Clock()
        self.breaker = Breaker(self.clock)
        self.llm = Llm(url, "small", api_key="sk-canary", timeout=seconds)
        self.tagger = LlmTagger(self.llm, self.local, calls=calls, patience=patience, breaker=self.breaker)

    async def objects(self, count: int = 1, turn: Turn = TURN) -> list[str]:
        found = await self.tagger.extract([turn] * count)
        return [claim.object for each in found if each for claim in each.claims]


@asynccontextmanager
async def following(reading: Reading, folder: Path) -> AsyncIterator[tuple[ListLog, Projector]]:
    """A log, and a projector that has its messages read."""
    log = ListLog()
    derived = await Derived.open(folder, [Knowledge.schema])
    projector = Projector(log, derived, [Knowledge(derived, reading.tagger)], backoff=Backoff(0.001, 0.01))
    log.on_change = [projector.changed]
    await projector.start()
    try:
        yield log, projector
    finally:
        await projector.stop()
        await derived.close()


@pytest.fixture
async def reading(endpoint: Endpoint) -> AsyncIterator[Reading]:
    reading = Reading(endpoint.url)
    yield reading
    await reading.tagger.close()


async def test_well_formed_answers(endpoint: Endpoint, reading: Reading) -> None:
    """Are taken; the local reader has nothing to do."""
    endpoint.scripts = [says(f"```json\n{GOOD}\n```")]
    assert await reading.objects(3) == ["Porto"] * 3
    assert (reading.local.read, reading.tagger.state) == (0, "ready")
    assert reading.tagger.detail == "extraction: 3 messages read by the endpoint, 0 by local models instead"
    sent = json.loads(endpoint.requests[0][2]["messages"][1]["content"])
    assert sent["message"] == TURN.text


HOSTILE = GOOD.replace("Porto", "Rome").replace("Maya", "she")


@pytest.mark.parametrize(
    "bad",
    [says("no"), says(GOOD[:40]), says(HOSTILE), reply(b"{}", "500 Oops"), flood, hang, drip],
    ids=["prose", "cut", "hostile", "status", "huge", "hangs", "drips"],
)
async def test_bad_answers_cost_nothing(
    endpoint: Endpoint,
    reading: Reading,
    bad: object,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A message whose answer is of no use is read locally, the others are not; no text or key is in a log."""
    endpoint.scripts = [bad, bad, says(GOOD)]  # type: ignore[list-item]
    with caplog.at_level(logging.DEBUG):
        with monkeypatch.context() as patch:
            if bad in (hang, drip):
                patch.setattr(reading.llm, "_timeout", 0.5)
            assert await reading.objects() == ["local"]
        assert await reading.objects(2) == ["Porto", "Porto"]
    assert reading.tagger.state == "ready"
    assert reading.tagger.detail == "extraction: 2 messages read by the endpoint, 1 by local models instead"
    assert "canary" not in caplog.text


async def test_long_messages_are_read_locally(endpoint: Endpoint, reading: Reading) -> None:
    """What the endpoint is not shown whole, it is not shown."""
    endpoint.scripts = [says(GOOD)]
    assert await reading.objects(turn=Turn("x" * (READ_LIMIT + 1), "Maya", "", None)) == ["local"]
    assert endpoint.requests == []


async def test_calls_are_bounded(endpoint: Endpoint) -> None:
    """Never more at once than is set."""
    under_way, most, full = 0, 0, asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == 3:
            full.set()
        await full.wait()  # as many as may be are under way at once, however long they take to get here
        await asyncio.sleep(0.02)
        under_way -= 1
        await says(GOOD)(writer)

    endpoint.scripts = [slow]
    reading = Reading(endpoint.url, calls=3)
    assert await reading.objects(12) == ["Porto"] * 12
    assert most == 3
    await reading.tagger.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def test_a_dead_endpoint_is_left_alone(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs one wait; then it is tried in the background, ever more seldom, and used again when it answers."""
    reading = Reading(endpoint.url, seconds=0.5, patience=0.3)
    endpoint.scripts = [hang]
    assert await reading.objects(40) == ["local"] * 40
    asked = len(endpoint.requests)
    assert asked < 12
    assert reading.tagger.state == "down"
    assert reading.tagger.detail.endswith(f"40 by local models instead; next try in {FIRST:.0f} s")
    assert await reading.objects(40) == ["local"] * 40
    assert len(endpoint.requests) == asked

    reading.clock.now += FIRST
    assert await reading.objects() == ["local"]
    assert not reading.tagger.detail.endswith(f"next try in {2 * FIRST:.0f} s")  # nobody waited for the try
    await until(lambda: reading.tagger.detail.endswith(f"next try in {2 * FIRST:.0f} s"))

    endpoint.scripts = [says(NOTHING), says(GOOD)]
    monkeypatch.setattr(reading.tagger._llm, "_patience", 60)
    monkeypatch.setattr(reading.llm, "_timeout", 60)
    reading.clock.now += 2 * FIRST
    assert await reading.objects() == ["local"]
    await until(lambda: reading.tagger.state == "ready")
    assert await reading.objects() == ["Porto"]
    await reading.tagger.close()


async def test_no_message_is_passed_while_the_local_tagger_is_down(
    endpoint: Endpoint, reading: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint is well and has no answer of use for one message: that waits for the local tagger."""
    monkeypatch.setattr(Breaker, "failed", lambda _: None)

    async def script(writer: asyncio.StreamWriter) -> None:
        asked = json.loads(endpoint.requests[-1][2]["messages"][1]["content"])["message"]
        await says("no" if asked == "odd" else GOOD if "Porto" in asked else NOTHING)(writer)

    endpoint.scripts = [script]
    reading.local.down = True
    async with following(reading, tmp_path) as (log, projector):
        log.append(1, "I live in Porto.", "odd", Message.user("I live in Porto, I said.", "Maya"))
        await until(lambda: projector.status()[0].waiting_for == "tagger")
        assert not await projector.wait_applied(1, 3, timeout=1)
        reading.local.down = False
        assert await projector.wait_applied(1, 3, timeout=60)
        assert projector.skipped(1)["entities"] == 0
        assert reading.local.read >= 1


async def test_an_erasure_waits_for_a_few_calls_only(endpoint: Endpoint, tmp_path: Path) -> None:
    """However many messages are to be read; and those near what is erased are read again side by side."""

    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02)
        await says(NOTHING)(writer)

    endpoint.scripts = [slow]
    reading = Reading(endpoint.url, calls=4)
    async with following(reading, tmp_path) as (log, projector):
        log.append(1, *[f"m {i}" for i in range(100)])
        assert await projector.wait_applied(1, 12, timeout=60)
        asked = len(endpoint.requests)
        assert await projector.wait_erased(log.forget(1, 1), 60) is not None
        assert len(endpoint.requests) - asked <= 4 + 4 + REACH  # under way, taken meanwhile, read again
    await reading.tagger.close()


def test_a_batch_is_what_is_read_at_once() -> None:
    """By the endpoint in the time of one call, and by the local tagger while the endpoint is left alone."""
    reading = Reading("http://127.0.0.1:1", calls=3)
    assert reading.tagger.at_once == 3
    breaker = reading.breaker
    for _ in range(STRIKES):
        breaker.failed()
    assert reading.tagger.at_once == LocalReader.at_once


async def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection, and an address that is none, are read around."""
    monkeypatch.setattr(client, "PAUSE", 0.01)
    for url in ("http://127.0.0.1:1/v1", "http://[", "nonsense"):
        reading = Reading(url)
        assert await reading.objects(10) == ["local"] * 10
        assert reading.tagger.state == "down"
        await reading.tagger.close()


def test_the_fingerprint_says_who_reads() -> None:
    """Another model, or none, begins at the start of the log."""
    one = LlmTagger(Llm("http://127.0.0.1:1", "one"), LocalReader(), calls=1)
    other = LlmTagger(Llm("http://127.0.0.1:1", "other"), LocalReader(), calls=1)
    assert len({one.fingerprint, other.fingerprint, LocalReader.fingerprint}) == 3


def test_the_breaker() -> None:
    """Opens with the third failure in a row, doubles its time up to a bound, and closes with a success."""
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(STRIKES - 1):
        breaker.failed()
    breaker.succeeded()
    for _ in range(STRIKES - 1):
        breaker.failed()
    assert breaker.closed
    breaker.failed()
    breaker.failed()  # under way when it opened
    assert (breaker.closed, breaker.wait) == (False, FIRST)
    waits = []
    for _ in range(10):
        clock.now += breaker.wait
        breaker.failed_again()
        waits.append(breaker.wait)
    assert waits[:2] == [2 * FIRST, 4 * FIRST]
    assert waits[-1] == MOST
    breaker.succeeded()
    assert (breaker.closed, breaker.wait) == (True, 0.0)
