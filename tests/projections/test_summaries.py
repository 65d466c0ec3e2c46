"""Running summaries: checkpoints, failures, erasures, and what is chosen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed.messages import Message
from seedbed.variants import Buffer, Hybrid, Summary, SummaryBuffer, Window
from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.breaker import FIRST, STRIKES, Breaker
from seedbed_server.models.contract import Passage
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections import checkpoints, summaries, textrank
from seedbed_server.projections.abstractive import Abstractive
from seedbed_server.projections.checkpoints import SOURCE_BLOCKS
from seedbed_server.projections.contract import Backoff
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.summaries import BLOCK, LANES, Summaries, summarised
from seedbed_server.projections.summarisers import Draft, Extractive, Summariser

from .source import ListLog


def words(text: str) -> int:
    """A plain in-test count of tokens."""
    return len(text.split())


class Counting:
    """A plain in-test summariser that says which messages it was given; fails while ``down``."""

    fingerprint = "counting"

    def __init__(self) -> None:
        self.down = False
        self.refused = ""
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()

    async def fold(self, before: Draft | None, block: Sequence[Message]) -> Draft:
        self.begun.set()
        await self.gate.wait()
        if self.down or any(m.session == self.refused for m in block):
            raise PartUnavailableError("llm")
        sources = (*(before.sources if before else ()), *((m.seq, m.id) for m in block))
        return Draft(" ".join(str(seq) for seq, _ in sources), sources)


class Room:
    def __init__(self, folder: Path, summariser: Summariser) -> None:
        self.folder = folder
        self.log = ListLog()
        self.log.variant = Summary(20)
        self.summariser = summariser
        self.derived: Derived
        self.summaries: Summaries
        self.projector: Projector
        self.running = False

    async def open(self) -> None:
        self.derived = await Derived.open(self.folder, [Summaries.schema])
        self.summaries = Summaries(self.derived, self.log, self.summariser, backoff=Backoff(0.01, 0.05))
        self.projector = Projector(self.log, self.derived, [self.summaries], backoff=Backoff(0.01, 0.05))
        self.log.on_change = [self.projector.changed]
        self.running = True
        await self.projector.start()

    async def close(self) -> None:
        if not self.running:
            return
        self.running = False
        self.log.on_change = []
        await self.projector.stop()
        await self.derived.close()

    async def settled(self, key: int = 1, session: str = "s") -> None:
        assert await self.projector.wait_applied(key, len(self.log.memories[key]), timeout=60)
        if self.log.erased:
            assert await self.projector.wait_erased(self.log.erased[-1].id, 60) is not None
        assert await self.summaries.wait_folded(key, session, 60)

    async def text(self, covering: int = 0, upto: int = 0, session: str = "s") -> str:
        found = await self.summaries.summary(1, session, covering, upto)
        return f"{found.upto_seq}: {found.text}" if found else ""


@pytest.fixture
async def counting() -> Counting:
    return Counting()


@pytest.fixture
async def room(tmp_path: Path, counting: Counting) -> AsyncIterator[Room]:
    room = Room(tmp_path, counting)
    await room.open()
    yield room
    await room.close()


def seqs(last: int, *without: int) -> str:
    return " ".join(str(seq) for seq in range(1, last + 1) if seq not in without)


async def test_an_order_during_the_last_look_is_carried_out(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary that is asked for while the session is found to have no full block is made all the same."""
    room.log.append(1, "m 0", "m 1", "m 2")
    await room.settled()
    looked, gate = asyncio.Event(), asyncio.Event()
    read = room.log.read

    async def slow(*args: Any, **named: Any) -> list[Message]:
        looked.set()
        await gate.wait()
        return await read(*args, **named)

    monkeypatch.setattr(room.log, "read", slow)
    await room.summaries.fold(1, "s")
    await looked.wait()
    await room.summaries.fold(1, "s", 2)
    gate.set()
    assert await room.summaries.wait_folded(1, "s", 60)
    assert await room.text(covering=2) == f"2: {seqs(2)}"


async def test_a_summary_that_is_dropped_before_it_is_noted(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made again: whoever waits for it has not got it."""
    room.log.append(1, *[f"m {i}" for i in range(11)])
    await room.settled()
    write, wanted, dropped = room.derived.write, f"10: {seqs(10)}", False

    async def then_dropped(change: Any) -> Any:
        nonlocal dropped
        done = await write(change)
        if not dropped and await room.text(covering=10) == wanted:
            dropped = True
            await room.summaries.drop(1)
        return done

    monkeypatch.setattr(room.derived, "write", then_dropped)
    await room.summaries.fold(1, "s", 10)
    assert await room.summaries.wait_folded(1, "s", 60)
    assert (dropped, await room.text(covering=10)) == (True, wanted)


async def test_a_checkpoint_that_is_dropped_between_two_looks(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary on demand still ends where it was asked to."""
    room.log.append(1, *[f"m {i}" for i in range(11)])
    await room.settled()
    read, dropped = room.log.read, False

    async def then_dropped(*args: Any, **named: Any) -> list[Message]:
        nonlocal dropped
        found = await read(*args, **named)
        if not dropped:
            dropped = True
            await room.derived.write(lambda db: checkpoints.drop(db, 1, alive=True))
        return found

    monkeypatch.setattr(room.log, "read", then_dropped)
    await room.summaries.fold(1, "s", 10)
    assert await room.summaries.wait_folded(1, "s", 60)
    assert (dropped, await room.text(covering=10)) == (True, f"10: {seqs(10)}")


async def test_checkpoints_at_every_block(room: Room) -> None:
    """Full blocks are folded; the summary that covers a message ends less than a block after it."""
    room.log.append(1, *[f"m {i}" for i in range(2 * BLOCK + 3)])
    await room.settled()
    assert await room.text() == f"16: {seqs(16)}"
    assert await room.text(covering=1) == f"8: {seqs(8)}"
    assert await room.text(covering=9) == f"16: {seqs(16)}"
    assert await room.text(covering=17) == f"16: {seqs(16)}"
    found = await room.summaries.summary(1, "s", 8)
    assert found is not None
    assert found.source_ids == tuple(f"1-{seq}" for seq in range(1, 9))
    assert await room.text(session="other") == ""


async def test_a_summary_that_ends_where_it_was_asked_to(room: Room) -> None:
    """A summary on demand is kept beside the checkpoints, which are the same with and without it."""
    room.log.append(1, *[f"m {i}" for i in range(11)])
    await room.summaries.fold(1, "s", 10)
    await room.settled()
    assert await room.text(covering=10) == f"10: {seqs(10)}"
    room.log.append(1, *[f"m {i}" for i in range(5)])
    await room.settled()
    assert await room.text() == f"16: {seqs(16)}"
    assert await room.text(covering=9) == f"10: {seqs(10)}"


async def test_what_is_dropped_is_made_again(room: Room) -> None:
    """Checkpoints, and those made on demand: whoever asked for one may not have read it yet."""
    room.log.append(1, *[f"m {i}" for i in range(11)])
    await room.settled()
    await room.summaries.fold(1, "s", 10)
    await room.settled()
    assert await room.summaries.drop(1) == {"summaries": 2}
    await room.settled()
    assert await room.text(covering=10) == f"10: {seqs(10)}"
    assert await room.text(upto=9) == f"8: {seqs(8)}"


async def test_a_summary_as_of_an_earlier_message(room: Room) -> None:
    """One that ends between two checkpoints stands on the earlier one; what reaches too far is not returned."""
    room.log.append(1, *[f"m {i}" for i in range(3 * BLOCK + 2)])
    await room.settled()
    assert await room.text(covering=4, upto=5) == ""
    assert await room.text(covering=12, upto=12) == f"8: {seqs(8)}"
    assert await room.text(upto=23) == f"16: {seqs(16)}"
    await asyncio.gather(*(room.summaries.fold(1, "s", seq) for seq in (20, 5, 12)))
    await room.settled()
    for seq in (5, 12, 20):
        assert await room.text(covering=seq, upto=seq) == f"{seq}: {seqs(seq)}"
    assert await room.text(covering=13, upto=25) == f"16: {seqs(16)}"
    assert await room.text() == f"24: {seqs(24)}"


async def test_the_newest_leaves_are_kept(room: Room) -> None:
    """Of many summaries on demand the last that were made are there, wherever they end."""
    room.log.append(1, *[f"m {i}" for i in range(BLOCK)])
    await room.settled()
    for seq in (7, 6, 5, 4, 3, 2, 5):
        await room.summaries.fold(1, "s", seq)
        await room.settled()
    assert [await room.text(seq, seq) for seq in range(2, 8)] == [
        *[f"{seq}: {seqs(seq)}" for seq in range(2, 6)],
        *["5: 1 2 3 4 5"] * 2,
    ]


async def test_sources_are_bounded(tmp_path: Path) -> None:
    """A model's summary names the newest messages it stands on, and each row stores its own block's only."""

    class Model:
        model = "small"

        async def ask(self, instruction: str, text: str, parse: object, *, max_tokens: int) -> str:
            return "so far"

    room = Room(tmp_path, Abstractive(Model(), lambda text, _: text, Counting()))  # type: ignore[arg-type]
    await room.open()
    blocks = SOURCE_BLOCKS + 4
    room.log.append(1, *[f"m {i}" for i in range(blocks * BLOCK)])
    await room.settled()
    found = await room.summaries.summary(1, "s")
    assert found is not None
    last = blocks * BLOCK
    assert found.source_ids == tuple(f"1-{seq}" for seq in range(last - (SOURCE_BLOCKS + 1) * BLOCK + 1, last + 1))
    first = await room.summaries.summary(1, "s", covering=9)
    assert first is not None
    assert len(first.source_ids) == 2 * BLOCK
    longest = "SELECT MAX(LENGTH(sources)) FROM summary"
    assert (await room.derived.read(lambda db: db.execute(longest).fetchone()))[0] < 40 * BLOCK
    await room.close()


async def test_only_memories_read_through_a_summary_are_folded(room: Room) -> None:
    """Others are folded when they are asked for."""
    room.log.variant = Window(4)
    room.log.append(1, *[f"m {i}" for i in range(BLOCK)])
    await room.settled()
    assert await room.text() == ""
    await room.summaries.fold(1, "s")
    await room.settled()
    assert await room.text() == f"8: {seqs(8)}"
    assert not summarised(Hybrid(Buffer(), Window(3)))
    assert summarised(Hybrid(Window(3), SummaryBuffer(100)))


async def test_sessions_are_apart(room: Room) -> None:
    """Interleaved sessions have summaries of their own messages only."""
    for i in range(2 * BLOCK):
        room.log.append(1, Message("user", (f"m {i}",), session="ab"[i % 2]))
    await room.settled(session="a")
    await room.settled(session="b")
    assert await room.text(session="a") == "15: 1 3 5 7 9 11 13 15"
    assert await room.text(session="b") == "16: 2 4 6 8 10 12 14 16"


async def test_failures_lose_nothing_and_are_reported(room: Room, counting: Counting) -> None:
    """While it fails nothing counts as folded and the state says so; then all is folded."""
    counting.down = True
    room.log.append(1, *[f"m {i}" for i in range(BLOCK)])
    await asyncio.wait_for(counting.begun.wait(), 60)
    assert not await room.summaries.wait_folded(1, "s", 0.2)
    assert await room.text() == ""
    async with asyncio.timeout(60):
        while room.projector.status()[0].waiting_for != "summariser":
            await asyncio.sleep(0.01)
    assert room.projector.status()[0].state == "waiting"
    counting.down = False
    await room.settled()
    assert await room.text() == f"8: {seqs(8)}"
    assert room.projector.status()[0].waiting_for == ""


async def test_one_session_that_always_fails_stops_no_other(room: Room, counting: Counting) -> None:
    """A session that the model refuses waits by itself."""
    counting.refused = "a"
    for session in "ab":
        room.log.append(1, *[Message("user", ("m",), session=session) for _ in range(BLOCK)])
    await room.settled(session="b")
    assert await room.text(session="b") == "16: 9 10 11 12 13 14 15 16"
    assert await room.text(session="a") == ""


async def test_forgetting_a_source_makes_the_summary_anew(room: Room) -> None:
    """Every summary the message had a part in is made again as if it had never been; earlier ones are kept."""
    room.log.append(1, *[f"m {i}" for i in range(3 * BLOCK)])
    await room.summaries.fold(1, "s", 23)
    await room.settled()
    counts = await room.projector.wait_erased(room.log.forget(1, 10))
    assert counts == {"summaries": 3}
    await room.settled()
    assert await room.text() == f"17: {seqs(17, 10)}"
    assert await room.text(covering=8) == f"8: {seqs(8)}"


async def test_a_message_forgotten_while_it_is_folded(room: Room, counting: Counting) -> None:
    """A summary under way when its source is erased is thrown away."""
    counting.gate.clear()
    room.log.append(1, *[f"m {i}" for i in range(BLOCK + 1)])
    await asyncio.wait_for(counting.begun.wait(), 60)
    await room.projector.wait_erased(room.log.forget(1, 3), 60)
    counting.gate.set()
    await room.settled()
    assert await room.text() == f"9: {seqs(9, 3)}"


async def test_what_was_asked_for_is_folded_after_a_restart(room: Room, counting: Counting) -> None:
    """The queue survives, and a rebuild gives the same summaries."""
    counting.down = True
    room.log.variant = Buffer()
    room.log.append(1, *[f"m {i}" for i in range(2 * BLOCK + 2)])
    await room.summaries.fold(1, "s", 17)
    await room.close()
    counting.down = False
    await room.open()
    assert await room.projector.wait_applied(1, 18, timeout=60)
    await room.settled()
    assert await room.text(17) == f"17: {seqs(17)}"
    await room.projector.rebuild(1)
    await room.settled()
    assert await room.text() == f"17: {seqs(17)}"
    assert await room.text(upto=16) == f"16: {seqs(16)}"


CHAT = [
    "Hi there! Nice to see you again.",
    "I moved to Berlin in March, because my new job at Acme started there.",
    "My new job at Acme is in Berlin, and I like the people there.",
    "The weather is grey.",
    "Did you know that my sister Lena also lives in Berlin now? She works near Acme.",
    "Ok.",
    "Tomorrow Lena and I will look at a flat in Berlin, close to my job.",
    "Good luck with the flat in Berlin!",
]


@pytest.mark.parametrize("vectors", [True, False], ids=["encoder", "words"])
async def test_sentences_are_chosen_under_the_cap(encoder: Encoder, vectors: bool) -> None:
    """Chosen sentences are the messages' own words, in order, within the cap, the same every time, never growing."""
    log = ListLog()
    log.append(1, *CHAT * 6)
    messages = await log.read(1, limit=100)
    extractive = Extractive(encoder if vectors else None, words, max_tokens=60)
    draft: Draft | None = None
    for start in range(0, len(messages), BLOCK):
        draft = await extractive.fold(draft, messages[start : start + BLOCK])
        assert 0 < words(draft.text) <= 60
        assert all(any(line.text in text for text in CHAT) for line in draft.lines)
        assert [line.seq for line in draft.lines] == sorted(line.seq for line in draft.lines)
        assert {seq for seq, _ in draft.sources} == {line.seq for line in draft.lines}
    assert draft is not None
    assert "Berlin" in draft.text
    assert "Maya (1 January 2024): " in draft.text
    first = await extractive.fold(None, messages[:BLOCK])
    assert first == await Extractive(encoder if vectors else None, words, max_tokens=60).fold(None, messages[:BLOCK])


async def test_a_summary_is_shorter_than_what_it_sums_up() -> None:
    """Half of each block at most, however few messages there are; one sentence is always left."""
    log = ListLog()
    log.append(1, *(f"On day {n} we saw the {thing}." for n, thing in enumerate("abcdefgh")))
    block = await log.read(1, limit=100)
    long = [words(f"{m.name} (1 January 2024): {m.text}") for m in block]
    summariser = Extractive(None, words, max_tokens=10_000)
    first = await summariser.fold(None, block[:6])
    assert 0 < words(first.text) <= sum(long[:6]) / 2
    second = await summariser.fold(first, block[6:])
    assert 0 <= words(second.text) - words(first.text) <= sum(long[6:]) / 2
    assert words((await summariser.fold(None, block[:1])).text) > 1


async def test_without_the_encoder_words_decide() -> None:
    """An encoder that is down does not stop the summary."""

    class Down:
        fingerprint, dimensions = "down", 3

        async def encode_passages(self, passages: Sequence[object], *, urgent: bool = False) -> list[np.ndarray]:
            raise PartUnavailableError("encoder")

    log = ListLog()
    log.append(1, *CHAT)
    draft = await Extractive(Down(), words).fold(None, await log.read(1, limit=100))
    assert "Berlin" in draft.text


async def test_an_encoder_that_changes_between_two_blocks_is_no_matter() -> None:
    """Sentences that are kept are compared again, in the vectors of the encoder that there is now."""

    class Changing:
        dimensions = 4

        def __init__(self) -> None:
            self.encoded: list[str] = []

        @property
        def fingerprint(self) -> str:
            return str(self.dimensions)

        async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
            self.encoded += [passage.text for passage in passages]
            return [np.full((1, self.dimensions), 0.5, np.float32) for _ in passages]

    log = ListLog()
    log.append(1, "We moved to Porto in May.", "The flat has a view of the river.", "Biscuit the dog likes the stairs.")
    messages = await log.read(1, limit=100)
    encoder = Changing()
    extractive = Extractive(encoder, words)
    before = await extractive.fold(None, messages[:2])
    encoder.dimensions = 6
    encoder.encoded.clear()
    await extractive.fold(before, messages[2:])
    assert before.lines
    assert set(encoder.encoded) == {line.text for line in before.lines} | {messages[2].text}


async def test_a_language_model_writes_over_the_summary_before() -> None:
    """It is shown the summary so far and the block; what it writes is cut to the cap."""

    asked: list[str] = []

    class Model:
        model = "small"

        async def ask(self, instruction: str, text: str, parse: object, *, max_tokens: int) -> str:
            asked.append(text)
            return "Maya moved to Berlin and more"

    log = ListLog()
    log.append(1, *CHAT)
    block = await log.read(1, limit=100)
    writer = Abstractive(Model(), lambda text, n: " ".join(text.split()[:n]), Counting(), max_tokens=4)  # type: ignore[arg-type]
    draft = await writer.fold(Draft("It began.", ((0, "1-0"),)), block)
    assert draft.text == "Maya moved to Berlin"
    assert draft.sources == tuple((seq, f"1-{seq}") for seq in range(1, 9))
    assert "It began." in asked[0]
    assert CHAT[4] in asked[0]


async def test_sentences_are_chosen_while_the_language_model_gives_no_answer() -> None:
    """After three failures it is left alone, and tried in the background; then it writes over what was chosen."""

    class Model:
        model = "small"

        def __init__(self) -> None:
            self.down = True
            self.asked: list[str] = []

        async def ask(self, instruction: str, text: str, parse: object, *, max_tokens: int) -> str:
            self.asked.append(text)
            if self.down:
                raise PartUnavailableError("llm")
            return "All is told."

        async def close(self) -> None:
            pass

    def seconds() -> float:
        return now

    now = 0.0
    model, log = Model(), ListLog()
    log.append(1, *CHAT)
    block = await log.read(1, limit=100)
    writer = Abstractive(model, lambda text, _: text, Extractive(None, words), breaker=Breaker(seconds))  # type: ignore[arg-type]
    draft = Draft("It began in May. Maya was there.", ((0, "1-0"),))
    draft = await writer.fold(draft, block[:1])
    assert "It began in May" in draft.text  # of what the model wrote
    for _ in range(STRIKES + 1):
        draft = await writer.fold(draft, block)
        assert draft.sources == tuple((m.seq, m.id) for m in block)
        assert draft.lines == ()
    assert len(model.asked) == STRIKES
    assert (writer.state, writer.detail.endswith(f"next try in {FIRST:.0f} s")) == ("down", True)
    assert any(sentence in draft.text for message in block for sentence in textrank.sentences(message.text))
    now = FIRST
    await writer.fold(draft, block[:1])
    await asyncio.sleep(0)
    assert model.asked[STRIKES:] == ["Summary so far:\n\n\nMessages:\nMaya: I live in Lisbon."]  # nothing of a user's
    model.down, now = False, 3 * FIRST
    await writer.fold(draft, block[:1])
    await asyncio.sleep(0.01)
    assert (await writer.fold(draft, block[:1])).text == "All is told."
    assert (writer.state, writer.detail) == ("ready", "")
    await writer.close()


async def test_what_takes_long_keeps_no_other_memory_waiting(room: Room, counting: Counting) -> None:
    """A memory whose sessions hang is in one lane; those of others are folded beside it, and all of them at last."""
    hanging, others = range(2, 2 + LANES - 1), range(10, 16)
    fold, gate = counting.fold, asyncio.Event()

    async def slowly(before: Draft | None, block: Sequence[Message]) -> Draft:
        if "hang" in block[0].text:
            await gate.wait()
        return await fold(before, block)

    counting.fold = slowly  # type: ignore[method-assign]
    for key in hanging:
        for session in "abc":
            room.log.append(key, *[Message("user", ("hang",), session=session) for _ in range(BLOCK)])
    for key in others:
        room.log.append(key, *[Message("user", ("m",), session="s") for _ in range(2 * BLOCK)])
    for key in others:
        await room.settled(key)
    assert await room.summaries.summary(2, "a") is None
    gate.set()
    for key in hanging:
        for session in "abc":
            await room.settled(key, session)


async def test_memories_take_turns(room: Room, counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a thousand sessions waits after every block until those had theirs who have one."""
    folded: list[str] = []
    fold = counting.fold

    async def noted(before: Draft | None, block: Sequence[Message]) -> Draft:
        folded.append(block[0].text)
        return await fold(before, block)

    counting.fold = noted  # type: ignore[method-assign]
    await room.close()
    monkeypatch.setattr(summaries, "LANES", 1)
    for at in range(20):
        room.log.append(1, *[Message("user", ("many",), session=f"s{at}") for _ in range(BLOCK)])
    for key in (2, 3):
        room.log.append(key, *[Message("user", ("few",), session="s") for _ in range(2 * BLOCK)])
    counting.gate.clear()
    await room.open()
    for key in (1, 2, 3):
        assert await room.projector.wait_applied(key, len(room.log.memories[key]), timeout=60)
    counting.gate.set()
    for at in range(20):
        await room.settled(1, f"s{at}")
    assert len(folded) == 24
    assert folded[:8].count("few") == 4


@given(st.text(max_size=3000))
def test_sentences_are_bounded_and_nothing_is_made_up(text: str) -> None:
    """Sentences are stretches of the text, in order, each of bounded length."""
    at = 0
    for sentence in textrank.sentences(text):
        assert 0 < len(sentence) <= textrank.LONGEST
        at = text.index(sentence, at) + len(sentence)
