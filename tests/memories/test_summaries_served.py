"""Summary and SummaryBuffer on the real server, with chosen sentences and with a language model that misbehaves."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed import (
    AsyncClient,
    AsyncRemoteMemory,
    Entity,
    Hybrid,
    Item,
    KnowledgeGraph,
    Message,
    Seed,
    Summary,
    SummaryBuffer,
    Variant,
    Vector,
    Window,
)
from seedbed_server.app.lifecycle import running
from seedbed_server.app.settings import Settings
from seedbed_server.memories import summaries as room
from seedbed_server.models import breaker, llm
from tests.serving import PATIENCE, Serving, said, undegraded

PIN = "You are Juno. Be kind."
_names = (f"summed-{n}" for n in itertools.count())


def turns(count: int, first: int = 1) -> list[Message]:
    people = ("Maya", "Juno")
    return [
        said(f"Fact number {n}: the train to Porto leaves at {n} o'clock.", people[n % 2])
        for n in range(first, first + count)
    ]


def summaries(seed: Seed) -> list[Item]:
    return [item for entry in seed.entries for item in entry.items if item.kind == "summary"]


# -- chosen sentences


def test_nothing_is_summed_up_to_the_threshold(ready: Serving) -> None:
    """As many as ``threshold`` messages stand as they are."""
    memory = ready.client.memory(next(_names), Summary(threshold=4), system=PIN)
    memory.write(turns(4))
    seed = memory.seed()
    assert summaries(seed) == []
    assert len(seed.entries) == 5


@pytest.mark.parametrize("count", [5, 9, 23])
def test_past_the_threshold_all_is_either_shown_or_summed(ready: Serving, count: int) -> None:
    """At most ``threshold`` messages beside a summary that stands on all before them."""
    memory = ready.client.memory(next(_names), Summary(threshold=4), system=PIN)
    memory.write(turns(count))
    seed = undegraded(memory.seed)
    (summary,) = summaries(seed)
    stored = memory.read()
    shown = seed.source_ids
    assert len(shown) <= 4
    assert list(shown) == [m.id for m in stored[-len(shown) :]]
    assert set(summary.source_ids) <= {m.id for m in stored}
    assert re.search(r"(Maya|Juno) \(.*\): Fact number \d+", summary.text)
    assert seed.entries[0].text.startswith(f"{PIN}\n\n")


@pytest.mark.parametrize("count", [3, 8, 9, 16])
@pytest.mark.parametrize("threshold", [0, 1, 2, 5])
def test_what_a_summary_leaves_in_full(ready: Serving, threshold: int, count: int) -> None:
    """Half the threshold at least, wherever the checkpoints stand, and the newest turn of the user in it."""
    memory = ready.client.memory(next(_names), Summary(threshold), system=PIN)
    answers = [Message.assistant(f"I noted {n}.") for n in range(3)]
    written = turns(count - 3) + [said("I live in Zanzibar."), *answers[:2]] if count > 3 else turns(count)
    memory.write(written)
    seed = undegraded(memory.seed)
    texts = [entry.text for entry in seed.entries[1:]]
    assert texts == [message.text for message in written[len(written) - len(texts) :]]
    assert min(count, -(-threshold // 2)) <= len(texts) <= threshold
    if count > 3 and threshold >= 3:
        assert "I live in Zanzibar." in texts


@pytest.mark.parametrize("variant", [Summary(threshold=2), SummaryBuffer(130)])
def test_an_earlier_time_shows_nothing_of_what_came_later(ready: Serving, variant: Variant) -> None:
    """Though the summaries that are there reach further."""
    memory = ready.client.memory(next(_names), variant, system=PIN)
    memory.write(turns(6))
    known_at = memory.read()[-1].recorded_at
    memory.write([said("I live in Zanzibar now."), Message.assistant("Zanzibar, noted."), *turns(20, first=7)])
    undegraded(memory.seed)
    early = {message.id for message in memory.read()[:6]}
    seed = undegraded(lambda: memory.seed(known_at=known_at))
    assert summaries(seed)
    assert "Zanzibar" not in str(seed.messages)
    assert {source for entry in seed.entries for item in entry.items for source in item.source_ids} <= early
    assert set(seed.source_ids) <= early


def test_a_summary_is_summed_again_not_appended_to(ready: Serving) -> None:
    """However long the session, the summary stays under its cap."""
    memory = ready.client.memory(next(_names), Summary(threshold=2), system=PIN)
    memory.write(turns(60))
    (summary,) = summaries(undegraded(memory.seed))
    assert summary.tokens <= 500
    assert summary.text.count("\n") < 60


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(budget=st.integers(0, 400), data=st.data())
def test_summary_pin_and_tail_stay_in_the_budget(ready: Serving, budget: int, data: st.DataObject) -> None:
    """Always; and from the room of a few lines on, the summary is there whenever something is hidden."""
    memory = ready.client.memory(next(_names), SummaryBuffer(budget), system=PIN)
    long = st.builds(lambda n: said("the rain in Porto is warm, " * n, "Maya"), st.integers(1, 20))
    short = st.sampled_from(turns(3))
    transcript = data.draw(st.lists(st.one_of(long, short), min_size=1, max_size=10))
    memory.write(transcript)
    assert memory.seed().tokens <= budget
    seed = undegraded(memory.seed)
    assert seed.tokens <= budget
    if budget > 200:
        assert seed.entries[0].text.startswith(PIN)
        stored = [m.id for m in memory.read()]
        assert stored[-1] in seed.source_ids
        assert bool(summaries(seed)) == (set(seed.source_ids) != set(stored))


def test_summary_buffer_shows_no_summary_while_all_fits(ready: Serving) -> None:
    """Then it is a buffer."""
    memory = ready.client.memory(next(_names), SummaryBuffer(2000), system=PIN)
    memory.write(turns(10))
    seed = memory.seed()
    assert [entry.text for entry in seed.entries] == [PIN, *(m.text for m in memory.read())]


# -- a language model


class Endpoint:
    """An OpenAI-compatible server on loopback that does as ``mood`` says."""

    def __init__(self) -> None:
        self.mood = "good"
        self.poison = "nothing"
        self.asked: list[str] = []
        self.release = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            assert length is not None
            body = json.loads(await reader.readexactly(int(length[1])))
            self.asked.append(body["messages"][1]["content"])
            if self.mood == "hangs" or self.poison in body["messages"][1]["content"]:
                await self.release.wait()
            elif self.mood != "drops":
                writer.write(self._answer(body["messages"][1]["content"]))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, text: str) -> bytes:
        status, content = "200 OK", "I'd rather not {\ud83d"
        if self.mood == "good":
            before, _, block = text.partition("\n\nMessages:\n")
            numbers = [*re.findall(r"\d+", before), *re.findall(r"number (\d+)", block)]
            content = json.dumps({"summary": f"Trains {', '.join(sorted(set(numbers), key=int))}."})
        elif self.mood == "errs":
            status = "500 Internal Server Error"
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        return f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer


@pytest.fixture(scope="module")
async def endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    endpoint.port = server.sockets[0].getsockname()[1]
    yield endpoint
    endpoint.release.set()
    server.close()


@pytest.fixture(scope="module")
async def client(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncClient]:
    """A server in this process that asks the endpoint for its summaries. It has no models: they are not needed."""
    folder = tmp_path_factory.mktemp("llm")
    settings = Settings(
        listen="127.0.0.1:0",
        data_dir=folder / "data",
        models_dir=folder / "none",
        llm_url=f"http://127.0.0.1:{endpoint.port}/v1",
        llm_model="scripted",
        llm_api_key="sk-canary",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llm, "PAUSE", 0.01)
        patch.setattr(room, "PATIENCE", 0.3)
        patch.setattr(breaker, "FIRST", 0.05)
        patch.setattr(breaker, "MOST", 0.2)
        async with running(settings) as server, AsyncClient(f"127.0.0.1:{server.port}", timeout=30.0) as client:
            yield client


async def test_a_language_model_writes_the_summary(endpoint: Endpoint, client: AsyncClient) -> None:
    """What it says is shown, and stands on all that it was given; it is asked for the earlier summary and a block."""
    memory = client.memory(next(_names), Summary(threshold=2), system=PIN)
    await memory.write(turns(18))
    seed = await recovered(memory)
    (summary,) = summaries(seed)
    assert summary.text == f"Trains {', '.join(str(n) for n in range(1, 17))}."
    assert len(summary.source_ids) == 16
    assert any("Summary so far:\nTrains 1, 2, 3, 4, 5, 6, 7, 8." in asked for asked in endpoint.asked)
    (part,) = [part for part in (await client.status()).parts if part.part == "summaries"]
    assert part.state == "ready"


@pytest.mark.parametrize("mood", ["drops", "errs", "babbles"])
@pytest.mark.parametrize("variant", [Summary(threshold=2), Hybrid(Summary(threshold=2), Window(2))])
async def test_while_it_fails_sentences_are_chosen_and_then_it_writes_again(
    endpoint: Endpoint, client: AsyncClient, mood: str, variant: Summary | Hybrid
) -> None:
    """The summary is there all the same, of words that were said; what the endpoint writes later replaces it."""
    memory = client.memory(next(_names), variant, system=PIN)
    endpoint.mood = mood
    try:
        await memory.write(turns(30))
        (summary,) = summaries(await recovered(memory))
        assert "the train to Porto leaves at" in summary.text
    finally:
        endpoint.mood = "good"
    for first in range(31, 31 + 8 * 200, 8):
        await memory.write(turns(8, first=first))
        if summaries(await recovered(memory))[0].text.startswith("Trains"):
            break
        await asyncio.sleep(0.05)
    assert summaries(await recovered(memory))[0].text.startswith("Trains")


@pytest.mark.parametrize("variant", [Summary(threshold=2), SummaryBuffer(500)])
async def test_while_it_hangs_nothing_is_lost_and_then_it_recovers(
    endpoint: Endpoint, client: AsyncClient, variant: Summary | SummaryBuffer
) -> None:
    """The seed comes, names the degraded part, and shows in full what no summary covers; later the summary comes."""
    memory = client.memory(next(_names), variant, system=PIN)
    endpoint.mood = "hangs"
    endpoint.release.clear()
    try:
        written = turns(30)
        await memory.write(written)
        seed = await memory.seed()
        part = "summary_buffer" if isinstance(variant, SummaryBuffer) else "summary"
        assert seed.degraded_parts == (part,)
        assert summaries(seed) == []
        texts = [entry.text for entry in seed.entries]
        assert texts[0] == PIN
        if isinstance(variant, SummaryBuffer):
            assert texts[1:] == [m.text for m in written[len(written) - len(texts) + 1 :]]
            assert seed.tokens <= 500
        else:
            assert texts[1:] == [m.text for m in written]
        assert len(await memory.read()) == 30
    finally:
        endpoint.mood = "good"
        endpoint.release.set()
    seed = await recovered(memory)
    assert summaries(seed)[0].text.startswith("Trains 1, 2, 3,")
    assert len(seed.entries) < 31


async def recovered(memory: AsyncRemoteMemory) -> Seed:
    """The first seed that is whole again."""
    async with asyncio.timeout(PATIENCE):
        while (seed := await memory.seed()).degraded:  # each waits for the summary a little
            pass
    return seed


async def test_one_memory_for_which_it_hangs_keeps_no_other_waiting(endpoint: Endpoint, client: AsyncClient) -> None:
    """Its sessions wait for the endpoint, one after the other; the summary of another memory is written meanwhile."""
    slow = next(_names)
    endpoint.poison = "number 777"
    endpoint.release.clear()
    try:
        for session in "abc":
            await client.memory(slow, Summary(threshold=2), session=session).write(turns(9, first=775))
        other = client.memory(next(_names), Summary(threshold=2), system=PIN)
        await other.write(turns(9))
        assert summaries(await recovered(other))[0].text.startswith("Trains 1, 2, 3, 4, 5, 6, 7")
    finally:
        endpoint.poison = "nothing"
        endpoint.release.set()


async def test_without_any_model_the_rest_of_the_server_works(client: AsyncClient) -> None:
    """No child runs here: writes, reads and recency seeds do; recall is by words, and says so; parts are named."""
    parts = {part.part: part.state for part in (await client.status()).parts}
    assert parts["log"] == "ready"
    assert {parts[part] for part in ("encoder", "tagger", "vectors")} <= {"starting", "down", "ready"}
    assert parts["encoder"] != "ready"
    memory = client.memory(next(_names), Window(2), system=PIN)
    await memory.write(turns(5))
    assert len(await memory.read()) == 5
    assert len((await memory.seed()).entries) == 3
    found = await memory.recall("number 3")
    assert found.hits[0].message.text.startswith("Fact number 3")
    assert found.degraded_legs == ("dense", "graph")
    everything = Hybrid(Window(1), Vector(k=1), Entity(recent=0), KnowledgeGraph(recent=0))
    seed = await memory.seed("number 3", variant=everything)
    assert set(seed.degraded_parts) == {"vector", "entity", "knowledge_graph"}
    assert "Fact number 3" in seed.entries[0].text
    assert seed.messages[-1]["content"].startswith("Fact number 5")
