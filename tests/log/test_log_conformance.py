"""What every backend of the log must do: each test runs on each of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from seedbed.messages import Media, Message, ToolCall
from seedbed.variants import (
    Buffer,
    Custom,
    Entity,
    Hybrid,
    KnowledgeGraph,
    Summary,
    SummaryBuffer,
    TokenBuffer,
    Variant,
    Vector,
    Window,
)
from seedbed_server.errors import (
    InvalidFieldError,
    MemoryExistsError,
    MemoryNotFoundError,
    MessageIdExistsError,
    RequestIdReusedError,
    RevisionChangedError,
    ShuttingDownError,
)
from seedbed_server.log import Erasure, Head, Log, NewMemory, rows
from tests.log.saying import NEW, begun, held, named, says

ODD_NAMES = [
    "../../x",
    "a/b",
    "_",
    "%",
    "Ü" * 128,
    "acme",
    "acme-corp",
    "Acme",
    "a\x00b",
    "a\x01",
    "Caf\u00e9",
    "Cafe\u0301",
    "🔥",
    "'",
]


class TestMemories:
    """Creating, reading, listing, changing and deleting memories."""

    async def test_created_is_what_is_read(self, log: Log) -> None:
        """A created memory comes back from every way to ask for it."""
        made = await log.create("ns", "maya", NewMemory(Window(3), "Be brief."))
        assert (made.namespace, made.name, made.variant, made.system) == ("ns", "maya", Window(3), "Be brief.")
        assert (made.last_seq, made.message_count, made.revision) == (0, 0, 1)
        assert abs(datetime.now(UTC) - made.created_at) < timedelta(minutes=1)
        assert made == await log.get("ns", "maya") == await log.record(made.key)
        assert await log.list("ns", "", 10) == [made]

    @pytest.mark.parametrize(
        "variant",
        [
            Buffer(),
            Window(0),
            TokenBuffer(1),
            Summary(2),
            SummaryBuffer(3),
            Entity(0, 0),
            KnowledgeGraph(1, 0),
            Vector(0),
            Hybrid(Window(2), Vector(1), Custom("mine", {"a": 1, "b": (True, 2.5, "x")}), max_tokens=9),
            Hybrid(max_tokens=0),
        ],
        ids=lambda variant: type(variant).__name__,
    )
    async def test_variants_are_kept(self, log: Log, variant: Variant) -> None:
        """Each variant comes back with every setting, zero included."""
        await log.create("ns", "m", NewMemory(variant, ""))
        assert (await log.get("ns", "m")).variant == variant

    async def test_a_name_is_taken_once_in_its_namespace(self, log: Log) -> None:
        """A second memory of the name is refused, in another namespace it is another memory."""
        first = await log.create("a", "m", NEW)
        with pytest.raises(MemoryExistsError):
            await log.create("a", "m", NEW)
        second = await log.create("b", "m", NEW)
        assert first.key != second.key
        assert await log.list("a", "", 10) == [first]

    async def test_missing_memories(self, log: Log) -> None:
        """Every call on a memory that is not there says so, and makes nothing."""
        calls = [
            log.get("n", "m"),
            log.update("n", "m", system="x"),
            log.delete("n", "m"),
            log.append("n", "m", "s", says("x")),
            log.import_messages("n", "m", named("a")),
            log.clear("n", "m"),
            log.forget("n", "m", ["a"]),
        ]
        for call in calls:
            with pytest.raises(MemoryNotFoundError):
                await call
        assert await log.list("n", "", 10) == []
        assert await log.record(1) is None
        assert await log.heads() == []

    async def test_names_are_bytes(self, log: Log) -> None:
        """Names are told apart byte for byte, come back as they were, and are listed in byte order."""
        for name in ODD_NAMES:
            await log.create("ns", name, NEW)
            await log.append("ns", name, name, [Message("user", (name,), id=name)])
        order = sorted(ODD_NAMES, key=str.encode)
        assert [found.name for found in await log.list("ns", "", 100)] == order
        assert [found.name for found in await log.list("ns", order[4], 3)] == order[5:8]
        for name in ODD_NAMES:
            found = await log.get("ns", name)
            (message,) = await log.read(found.key, limit=9, session=name)
            assert (message.text, message.id, message.session) == (name, name, name)

    async def test_namespaces_are_bytes(self, log: Log) -> None:
        """No namespace shows a memory of one whose name starts alike."""
        for namespace in ODD_NAMES:
            await log.create(namespace, "m", NewMemory(Buffer(), namespace))
        for namespace in ODD_NAMES:
            assert [found.system for found in await log.list(namespace, "", 100)] == [namespace]

    async def test_a_name_that_is_not_utf8_is_refused(self, log: Log) -> None:
        """A lone surrogate in a name would make two names one; the field is named."""
        with pytest.raises(InvalidFieldError) as refused:
            await log.create("ns", "m\ud83d", NEW)
        assert refused.value.path == "memory"

    async def test_pages(self, log: Log) -> None:
        """A limit of 0 lists none; pages by name meet without a gap."""
        names = [f"m{i}" for i in range(7)]
        for name in names:
            await log.create("ns", name, NEW)
        assert await log.list("ns", "", 0) == []
        found: list[str] = []
        while page := await log.list("ns", found[-1] if found else "", 3):
            found += [one.name for one in page]
        assert found == names

    async def test_update(self, log: Log) -> None:
        """Only what is given changes; each change is a revision; the log stays as it is."""
        await log.append("ns", "m", "s", says("x"), create=NEW)
        changed = await log.update("ns", "m", variant=Window(1))
        assert (changed.variant, changed.system, changed.revision) == (Window(1), "Be kind.", 2)
        changed = await log.update("ns", "m", system="", revision=2)
        assert (changed.variant, changed.system, changed.revision) == (Window(1), "", 3)
        assert await log.update("ns", "m") == changed == await log.get("ns", "m")
        assert (changed.last_seq, changed.message_count) == (1, 1)

    async def test_update_of_another_revision(self, log: Log) -> None:
        """A change that was made on an older state is refused, and changes nothing."""
        made = await log.create("ns", "m", NEW)
        with pytest.raises(RevisionChangedError):
            await log.update("ns", "m", system="x", revision=2)
        assert await log.get("ns", "m") == made

    async def test_delete(self, log: Log) -> None:
        """A deleted memory is gone with all it held; one made later under its name is another."""
        old = await log.append("ns", "m", "s", named("a", "b"), request_id="r", create=NEW)
        assert await log.delete("ns", "m") == 2
        assert await log.record(old.key) is None
        assert await log.read(old.key, limit=10) == []
        assert await log.erasures(0, 10) == [Erasure(1, old.key, (), whole=True)]
        new = await log.append("ns", "m", "s", named("a"), request_id="r", create=NEW)
        assert new.key > old.key
        assert (new.first_seq, new.created) == (1, True)
        assert await log.heads() == [Head(new.key, 1)]


class TestAppend:
    """Storing batches."""

    async def test_all_of_a_message_is_kept(self, log: Log) -> None:
        """Every field, part and type of metadata comes back, and what the log sets is set."""
        message = Message(
            role="developer",
            parts=("a\x00b", Media("image/png", uri="https://x/y.png"), "", Media("audio/wav", data=b"\x00\xff"), "  "),
            name="Žižek D'Arcy",
            tool_calls=(ToolCall("c1", "look", '{"a": 1}'), ToolCall("", "", "")),
            tool_call_id="c0",
            time=datetime(1969, 7, 20, 20, 17, 40, 123_456, tzinfo=UTC),
            metadata={"i": 2**63 - 1, "j": -(2**63), "f": 0.1, "b": True, "s": "ü", "l": (1, "a", False), "e": ()},
            id="own",
        )
        stored = await log.append("ns", "m", "s1", [message], create=NEW)
        (found,) = await log.read(stored.key, limit=10)
        assert found == replace(message, seq=1, session="s1", recorded_at=found.recorded_at)
        assert {key: type(value) for key, value in found.metadata.items()} == {
            key: type(value) for key, value in message.metadata.items()
        }
        assert found.recorded_at is not None
        assert abs(datetime.now(UTC) - found.recorded_at) < timedelta(minutes=1)

    async def test_what_the_log_sets_is_not_taken_from_the_caller(self, log: Log) -> None:
        """Seq, session and recorded_at of a written message are the log's own."""
        false = Message("user", ("x",), seq=99, session="other", recorded_at=datetime(2000, 1, 1, tzinfo=UTC))
        stored = await log.append("ns", "m", "s", [false], create=NEW)
        (found,) = await log.read(stored.key, limit=10)
        assert (found.seq, found.session) == (1, "s")
        assert found.recorded_at is not None
        assert found.recorded_at.year > 2000

    async def test_times(self, log: Log) -> None:
        """Zones end in UTC, a time without one is UTC, a missing one is the write's; the range is that of datetime."""
        east = timezone(timedelta(hours=5, minutes=30))
        given = [
            datetime(2026, 3, 29, 2, 30),  # noqa: DTZ001  the point of the test
            datetime(2026, 3, 29, 8, 0, tzinfo=east),
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ]
        messages = [Message("user", ("x",), time=time) for time in [*given, None]]
        stored = await log.append("ns", "m", "s", messages, create=NEW)
        found = await log.read(stored.key, limit=10)
        assert [message.time for message in found[:4]] == [datetime(2026, 3, 29, 2, 30, tzinfo=UTC)] * 2 + given[2:]
        assert found[4].time == found[4].recorded_at

    async def test_lone_surrogates_become_replacement_characters(self, log: Log) -> None:
        """Content with half a surrogate pair is stored, once and readable; whole pairs are joined."""
        message = Message(
            "user",
            ("x\ud83d", "\ude00y", "\ud83d\ude00"),
            "n\udfff",
            (ToolCall("c", "t", "\ud800{"),),
            metadata={"k": "\ud800"},
        )
        stored = await log.append("ns", "m", "s", [message], create=NewMemory(Buffer(), "p\ud83d"))
        (found,) = await log.read(stored.key, limit=10)
        assert found.parts == ("x\ufffd", "\ufffdy", "😀")
        assert (found.name, found.tool_calls[0].arguments, found.metadata) == ("n\ufffd", "\ufffd{", {"k": "\ufffd"})
        assert (await log.get("ns", "m")).system == "p\ufffd"

    async def test_answer(self, log: Log) -> None:
        """Ids come in the order of the batch, seqs follow each other, creation is told once."""
        first = await log.append("ns", "m", "s", [*named("a"), *says("x"), *named("b")], create=NEW)
        assert (first.ids[0], first.ids[2], first.first_seq, first.last_seq, first.created) == ("a", "b", 1, 3, True)
        second = await log.append("ns", "m", "s", says("y"), create=NewMemory(Window(1), "ignored"))
        assert (second.key, second.first_seq, second.last_seq, second.created) == (first.key, 4, 4, False)
        record = await log.get("ns", "m")
        assert (record.variant, record.system, record.last_seq, record.message_count) == (Buffer(), "Be kind.", 4, 4)
        found = await log.by_ids(first.key, [*first.ids, *second.ids])
        assert [found[one].seq for one in (*first.ids, *second.ids)] == [1, 2, 3, 4]

    async def test_the_same_words_twice_are_two_messages(self, log: Log) -> None:
        """Without ids and request id, nothing is taken for a repetition."""
        stored = await log.append("ns", "m", "s", says("x", "x"), create=NEW)
        again = await log.append("ns", "m", "s", says("x"))
        assert len({*stored.ids, *again.ids}) == 3

    async def test_an_empty_batch_is_refused(self, log: Log) -> None:
        """No messages are no write, and make no memory."""
        with pytest.raises(InvalidFieldError) as refused:
            await log.append("ns", "m", "s", [], create=NEW)
        assert refused.value.path == "messages"
        assert await log.list("ns", "", 10) == []

    async def test_an_id_twice_in_a_batch(self, log: Log) -> None:
        """The batch is refused whole, and the second of the two named."""
        with pytest.raises(InvalidFieldError) as refused:
            await log.append("ns", "m", "s", named("a", "b", "a"), create=NEW)
        assert refused.value.path == "messages[2].id"
        assert await log.list("ns", "", 10) == []

    async def test_a_taken_id(self, log: Log) -> None:
        """The batch is refused whole, and the message named; another memory may use the id."""
        stored = await log.append("ns", "m", "s", named("a", "b"), create=NEW)
        with pytest.raises(MessageIdExistsError) as refused:
            await log.append("ns", "m", "t", [*says("new"), *named("b")])
        assert refused.value.path == "messages[1].id"
        assert [message.id for message in await log.read(stored.key, limit=10)] == ["a", "b"]
        assert (await log.append("ns", "m", "s", says("x"))).first_seq == 3
        assert (await log.append("ns", "n", "s", named("a"), create=NEW)).ids == ("a",)

    async def test_an_id_that_is_not_utf8_is_refused(self, log: Log) -> None:
        """Ids are compared, so a lone surrogate in one is not replaced."""
        with pytest.raises(InvalidFieldError) as refused:
            await log.append("ns", "m", "s", named("a", "\ud800"), create=NEW)
        assert refused.value.path == "messages[1].id"

    @pytest.mark.parametrize("count", [1, 63, 64, 65, 129, 1000])
    async def test_batches_of_any_size(self, log: Log, count: int) -> None:
        """Order and numbering hold where a batch takes several statements."""
        texts = [f"t{i}" for i in range(count)]
        await log.append("ns", "m", "s", says("before"), create=NEW)
        stored = await log.append("ns", "m", "s", says(*texts))
        found = await log.read(stored.key, after_seq=1, limit=count + 1)
        assert [message.text for message in found] == texts
        assert [message.seq for message in found] == list(range(2, count + 2))
        assert [message.id for message in found] == list(stored.ids)
        assert set(await log.by_ids(stored.key, stored.ids)) == set(stored.ids)

    async def test_made_ids_order_by_time(self, log: Log) -> None:
        """Ids made here sort by when they were made, and inside a batch by their place."""
        ids: list[str] = []
        for _ in range(3):
            ids += (await log.append("ns", "m", "s", says(*"abcdefgh"), create=NEW)).ids
            await asyncio.sleep(0.003)
        assert ids == sorted(ids)
        assert all(len(one) == 32 for one in ids)

    async def test_the_clock_never_goes_back(self, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server clock that is set back does not make a later message look older, not even after a clear."""
        stored = await log.append("ns", "m", "s", says("x"), create=NEW)
        monkeypatch.setattr(rows, "now", lambda: 1_000_000)
        await log.append("ns", "m", "s", says("y"))
        first, second = await log.read(stored.key, limit=10)
        assert second.recorded_at == first.recorded_at
        await log.clear("ns", "m")
        await log.append("ns", "m", "s", says("z"))
        (third,) = await log.read(stored.key, limit=10)
        assert third.recorded_at == first.recorded_at

    async def test_seqs_have_no_gap_under_concurrency_and_failure(self, log: Log) -> None:
        """Forty writers on three memories, every third one failing: each memory counts 1, 2, 3 …"""
        for m in range(3):
            await log.append("ns", f"m{m}", "s", named("taken"), create=NEW)

        async def write(i: int) -> None:
            batch = [*says(f"{i}"), *(named("taken") if i % 3 == 0 else says("more"))]
            if i % 3 == 0:
                with pytest.raises(MessageIdExistsError):
                    await log.append("ns", f"m{i % 4 % 3}", "s", batch)
            else:
                await log.append("ns", f"m{i % 4 % 3}", "s", batch)

        await asyncio.gather(*(write(i) for i in range(40)))
        total = 0
        for head in await log.heads():
            seqs = [message.seq for message in await log.read(head.key, limit=1000)]
            assert seqs == list(range(1, head.last_seq + 1))
            total += len(seqs)
        assert total == 3 + 2 * sum(i % 3 != 0 for i in range(40))


class TestRequestIds:
    """A retry stores nothing twice."""

    async def test_a_retry_answers_as_the_first(self, log: Log) -> None:
        """Also after more was written, and although it created the memory then."""
        first = await log.append("ns", "m", "s", says("x", "y"), request_id="r", create=NEW)
        await log.append("ns", "m", "s", says("z"))
        assert await log.append("ns", "m", "s", says("x", "y"), request_id="r", create=NEW) == first
        assert (await log.get("ns", "m")).last_seq == 3

    async def test_a_retry_while_the_first_waits(self, log: Log) -> None:
        """Both callers get the one answer, and one copy is stored."""
        await log.create("ns", "m", NEW)
        async with held(log):
            tasks = await begun(*(log.append("ns", "m", "s", says("x"), request_id="r") for _ in range(3)))
        answers = await asyncio.gather(*tasks)
        assert answers[0] == answers[1] == answers[2]
        assert (await log.get("ns", "m")).last_seq == 1

    @pytest.mark.parametrize(
        ("session", "messages"),
        [
            ("t", says("x", "y")),
            ("s", says("x")),
            ("s", says("y", "x")),
            ("s", says("xy")),
            ("s", [*says("x"), Message.user("y", "Maya")]),
            ("s", [*says("x"), Message("user", ("y",), id="i")]),
            ("s", [*says("x"), Message("user", ("y",), time=datetime(2026, 1, 1, tzinfo=UTC))]),
            ("s", [*says("x"), Message("user", ("y",), metadata={"a": 1})]),
        ],
    )
    async def test_another_payload(self, log: Log, session: str, messages: list[Message]) -> None:
        """The same request id with anything else is refused, and nothing is stored."""
        await log.append("ns", "m", "s", says("x", "y"), request_id="r", create=NEW)
        with pytest.raises(RequestIdReusedError):
            await log.append("ns", "m", session, messages, request_id="r")
        assert (await log.get("ns", "m")).message_count == 2

    async def test_the_order_of_metadata_does_not_matter(self, log: Log) -> None:
        """A map has no order, so a retry may write it in another one."""
        one, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        first = await log.append("ns", "m", "s", [Message("user", ("x",), metadata=one)], request_id="r", create=NEW)
        assert await log.append("ns", "m", "s", [Message("user", ("x",), metadata=other)], request_id="r") == first

    async def test_own_ids_do_not_stand_against_a_retry(self, log: Log) -> None:
        """The ids are taken by the first try, which is the retry's own."""
        first = await log.append("ns", "m", "s", named("a", "b"), request_id="r", create=NEW)
        assert await log.append("ns", "m", "s", named("a", "b"), request_id="r") == first

    async def test_a_request_that_failed_is_not_remembered(self, log: Log) -> None:
        """After a refused write, its request id is free."""
        await log.append("ns", "m", "s", named("a"), create=NEW)
        with pytest.raises(MessageIdExistsError):
            await log.append("ns", "m", "s", named("a"), request_id="r")
        assert (await log.append("ns", "m", "s", named("b"), request_id="r")).first_seq == 2

    async def test_request_ids_are_of_one_memory(self, log: Log) -> None:
        """Two memories may see the same request id."""
        await log.append("ns", "m", "s", says("x"), request_id="r", create=NEW)
        assert (await log.append("ns", "n", "s", says("y"), request_id="r", create=NEW)).first_seq == 1

    async def test_a_late_retry_brings_nothing_back(self, log: Log) -> None:
        """After the messages are erased a retry answers as before, and stores nothing."""
        first = await log.append("ns", "m", "s", named("a"), request_id="r", create=NEW)
        await log.forget("ns", "m", ["a"])
        assert await log.append("ns", "m", "s", named("a"), request_id="r") == first
        await log.clear("ns", "m")
        assert await log.append("ns", "m", "s", named("a"), request_id="r") == first
        assert (await log.get("ns", "m")).message_count == 0

    async def test_it_is_remembered_across_a_restart(self, url: str) -> None:
        """A request id is as durable as its messages."""
        log = await Log.open(url)
        first = await log.append("ns", "m", "s", says("x"), request_id="r", create=NEW)
        await log.close()
        log = await Log.open(url)
        assert await log.append("ns", "m", "s", says("x"), request_id="r") == first
        await log.close()


class TestImport:
    """Storing messages that carry their sessions."""

    async def test_known_ids_are_skipped(self, log: Log) -> None:
        """An import that is repeated stores only what is missing, in order, behind what is there."""
        first = await log.import_messages("ns", "m", [*named("a", session="s1"), *named("b", session="s2")], create=NEW)
        assert (first.imported, first.skipped, first.last_seq) == (2, 0, 2)
        again = await log.import_messages("ns", "m", named("a", "c", "b", "d", session="s3"))
        assert (again.key, again.imported, again.skipped, again.last_seq) == (first.key, 2, 2, 4)
        found = await log.read(first.key, limit=10)
        assert [(message.id, message.session) for message in found] == [
            ("a", "s1"),
            ("b", "s2"),
            ("c", "s3"),
            ("d", "s3"),
        ]
        nothing = await log.import_messages("ns", "m", named("a", "b"))
        assert (nothing.imported, nothing.skipped, nothing.last_seq) == (0, 2, 4)

    async def test_an_id_twice_in_a_batch(self, log: Log) -> None:
        """The batch is refused whole."""
        with pytest.raises(InvalidFieldError) as refused:
            await log.import_messages("ns", "m", named("a", "a"), create=NEW)
        assert refused.value.path == "messages[1].id"
        assert await log.list("ns", "", 10) == []

    async def test_what_was_cleared_can_be_imported_again(self, log: Log) -> None:
        """An erased id is free; the message gets a seq of its own."""
        await log.import_messages("ns", "m", named("a", "b"), create=NEW)
        await log.clear("ns", "m")
        again = await log.import_messages("ns", "m", named("a", "b"))
        assert (again.imported, again.last_seq) == (2, 4)

    async def test_an_empty_import_makes_the_memory(self, log: Log) -> None:
        """An export of an empty memory can be imported."""
        made = await log.import_messages("ns", "m", [], create=NEW)
        assert (made.imported, made.skipped, made.last_seq) == (0, 0, 0)
        assert (await log.get("ns", "m")).key == made.key


class TestReads:
    """Pages, tails and look-ups."""

    @pytest.fixture
    async def key(self, log: Log) -> int:
        """A memory of ten messages: even seqs in session "b", odd ones in "a"; seq 4 is forgotten."""
        await log.create("ns", "m", NEW)
        for i in range(1, 11):
            await log.append("ns", "m", "ab"[i % 2 == 0], named(f"i{i}"))
        await log.create("ns", "other", NEW)
        await log.append("ns", "other", "a", named("i1"))
        await log.forget("ns", "m", ["i4"])
        return (await log.get("ns", "m")).key

    @pytest.mark.parametrize(
        ("page", "expected"),
        [
            ((0, 3, ""), [1, 2, 3]),
            ((2, 3, ""), [3, 5, 6]),
            ((8, 100, ""), [9, 10]),
            ((10, 5, ""), []),
            ((0, 0, ""), []),
            ((0, 3, "a"), [1, 3, 5]),
            ((2, 2, "b"), [6, 8]),
            ((0, 5, "c"), []),
        ],
    )
    async def test_read(self, log: Log, key: int, page: tuple[int, int, str], expected: list[int]) -> None:
        """Pages come by seq, of one session or of all."""
        after, limit, session = page
        found = await log.read(key, after_seq=after, limit=limit, session=session)
        assert [message.seq for message in found] == expected

    @pytest.mark.parametrize(
        ("session", "n", "expected"),
        [("", 3, [8, 9, 10]), ("", 0, []), ("", -1, []), ("a", 2, [7, 9]), ("b", 100, [2, 6, 8, 10]), ("c", 3, [])],
    )
    async def test_tail(self, log: Log, key: int, session: str, n: int, expected: list[int]) -> None:
        """The newest come oldest first."""
        assert [message.seq for message in await log.tail(key, session=session, n=n)] == expected

    async def test_a_page_ends_by_its_bytes(self, log: Log) -> None:
        """At the limit or before it, at least one message a page; together the pages are everything."""
        await log.append("ns", "sized", "a", says(*("x" * (n * 1000) for n in (1, 9, 1, 1, 1, 30, 1))), create=NEW)
        sized = (await log.get("ns", "sized")).key
        for session in ("", "a"):
            pages: list[list[int]] = []
            while page := await log.read(
                sized, session=session, after_seq=pages[-1][-1] if pages else 0, limit=3, max_bytes=10_000
            ):
                pages.append([message.seq for message in page])
            assert pages == [[1], [2], [3, 4, 5], [6], [7]]
        assert await log.read(sized, session="b", limit=3, max_bytes=10_000) == []

    async def test_a_tail_ends_by_its_bytes(self, log: Log) -> None:
        """It says when that left something out."""
        await log.append("ns", "sized", "a", says(*("x" * (n * 1000) for n in (9, 1, 1, 1))), create=NEW)
        sized = (await log.get("ns", "sized")).key

        async def tail(n: int, max_bytes: int, **more: int) -> tuple[list[int], bool]:
            found, cut = await log.tail_within(sized, session="a", n=n, max_bytes=max_bytes, **more)
            return [message.seq for message in found], cut

        assert await tail(9, 20_000) == ([1, 2, 3, 4], False)
        assert await tail(9, 10_000) == ([2, 3, 4], True)
        assert await tail(3, 10_000) == ([2, 3, 4], False)
        assert await tail(9, 2000, upto_seq=3) == ([3], True)
        assert await tail(9, 10) == ([], True)
        assert await tail(0, 10) == ([], False)

    async def test_who_is_alive(self, log: Log, key: int) -> None:
        """Ids by seq and seqs by id, of those alive in this memory; the first ones whose bodies fit."""
        assert await log.alive(key, [10, 3, 4, 3, 99, 0]) == {10: "i10", 3: "i3"}
        assert await log.alive_ids(key, ["i4", "i5", "nope"]) == {"i5": 5}
        assert set(await log.by_seqs(key, [10, 3, 4])) == {10, 3}
        assert set(await log.by_seqs(key, [10, 4, 3], max_bytes=1000)) == {10, 3}
        assert set(await log.by_seqs(key, [10, 4, 3], max_bytes=200)) == {10}
        assert await log.by_seqs(key, [10], max_bytes=1) == {}
        assert await log.alive(key + 100, [1]) == {}
        assert await log.alive_ids(key, []) == {}
        assert await log.by_seqs(key, [], max_bytes=10) == {}

    async def test_where_the_log_stood_at_a_time(self, log: Log) -> None:
        """For every moment around every message, with gaps where some were erased."""
        await log.create("ns", "timed", NEW)
        timed = (await log.get("ns", "timed")).key
        assert await log.seq_at(timed, datetime.now(UTC)) == 0
        for batch in (1, 3, 1, 4, 2, 1):
            await log.append("ns", "timed", "s", says(*"x" * batch))
        every = await log.read(timed, limit=100)
        await log.forget("ns", "timed", [every[at].id for at in (0, 5, 6, 9)])
        left = await log.read(timed, limit=100)
        for message in every:
            assert message.recorded_at is not None
            for off in (-1, 0, 1):
                at = message.recorded_at + timedelta(microseconds=off)
                by_then = [one.seq for one in left if one.recorded_at is not None and one.recorded_at <= at]
                assert await log.seq_at(timed, at) == max(by_then, default=0)

    async def test_by_seqs(self, log: Log, key: int) -> None:
        """Only those alive, of this memory, each once."""
        found = await log.by_seqs(key, [10, 3, 4, 3, 99, 0])
        assert {seq: message.id for seq, message in found.items()} == {10: "i10", 3: "i3"}
        assert await log.by_seqs(key, []) == {}
        assert await log.by_seqs(key + 100, [1]) == {}
        assert len(await log.by_seqs(key, range(1, 2000))) == 9

    async def test_alive(self, log: Log, key: int) -> None:
        """The ids of what ``by_seqs`` finds."""
        for seqs in ([10, 3, 4, 3, 99, 0], [], range(1, 2000)):
            found = await log.by_seqs(key, seqs)
            assert await log.alive(key, seqs) == {seq: message.id for seq, message in found.items()}
        assert await log.alive(key + 100, [1]) == {}

    async def test_by_ids(self, log: Log, key: int) -> None:
        """Only those alive, of this memory."""
        found = await log.by_ids(key, ["i4", "i5", "nope"])
        assert {one: message.seq for one, message in found.items()} == {"i5": 5}
        assert await log.by_ids(key, []) == {}

    async def test_a_read_after_a_write_sees_it(self, log: Log) -> None:
        """Every reader connection sees what was acknowledged before the call."""
        stored = await log.append("ns", "m", "s", says("x"), create=NEW)
        for i in range(30):
            await log.append("ns", "m", "s", says(f"{i}"))
            tails = await asyncio.gather(*(log.tail(stored.key, session="s", n=1) for _ in range(4)))
            assert {message.text for (message,) in tails} == {f"{i}"}


class TestErasure:
    """Clear, forget and what projections learn of them."""

    async def test_clear(self, log: Log) -> None:
        """Messages go; settings and seq stay."""
        stored = await log.append("ns", "m", "s", says("x", "y"), create=NEW)
        assert await log.clear("ns", "m") == (stored.key, 2)
        record = await log.get("ns", "m")
        assert (record.message_count, record.last_seq, record.system, record.revision) == (0, 2, "Be kind.", 1)
        assert await log.read(stored.key, limit=10) == []
        assert (await log.append("ns", "m", "s", says("z"))).first_seq == 3

    async def test_clear_of_a_session(self, log: Log) -> None:
        """Other sessions keep their messages."""
        stored = await log.append("ns", "m", "a", says("1", "2"), create=NEW)
        await log.append("ns", "m", "ab", says("3"))
        await log.append("ns", "m", "a", says("4"))
        assert await log.clear("ns", "m", session="a") == (stored.key, 3)
        assert [message.text for message in await log.read(stored.key, limit=10)] == ["3"]
        assert await log.erasures(0, 10) == [Erasure(1, stored.key, (1, 2, 4), whole=False)]
        assert (await log.get("ns", "m")).message_count == 1

    async def test_nothing_to_clear(self, log: Log) -> None:
        """It counts none, and leaves no erasure."""
        made = await log.create("ns", "m", NEW)
        assert await log.clear("ns", "m") == (made.key, 0)
        assert await log.clear("ns", "m", session="s") == (made.key, 0)
        assert await log.erasures(0, 10) == []

    async def test_forget(self, log: Log) -> None:
        """The chosen messages go, with a note of their seqs; unknown ids do not matter."""
        stored = await log.append("ns", "m", "s", named("a", "b", "c", "d"), create=NEW)
        erasure = await log.forget("ns", "m", ["d", "b", "x", "b"])
        assert erasure == Erasure(1, stored.key, (2, 4), whole=False)
        assert [message.id for message in await log.read(stored.key, limit=10)] == ["a", "c"]
        assert await log.forget("ns", "m", ["b", "x"]) is None
        assert await log.forget("ns", "m", []) is None
        assert await log.erasures(0, 10) == [erasure]
        assert (await log.get("ns", "m")).message_count == 2

    async def test_the_newest_message_forgotten(self, log: Log) -> None:
        """Its seq is not given to another."""
        await log.append("ns", "m", "s", named("a", "b"), create=NEW)
        await log.forget("ns", "m", ["b"])
        assert (await log.append("ns", "m", "s", named("b"))).first_seq == 3

    async def test_erasures_come_in_order_and_in_pages(self, log: Log) -> None:
        """A projection that has seen some asks for those after it."""
        stored = await log.append("ns", "m", "s", named("a", "b", "c"), create=NEW)
        for one in "cab":
            await log.forget("ns", "m", [one])
        await log.delete("ns", "m")
        seen = await log.erasures(0, 3)
        assert [erasure.seqs for erasure in seen] == [(3,), (1,), (2,)]
        assert await log.erasures(seen[-1].id, 3) == [Erasure(4, stored.key, (), whole=True)]
        assert await log.erasures(4, 3) == []


class TestLifeOfALog:
    """Opening, closing, listening."""

    async def test_everything_is_there_after_a_restart(self, url: str) -> None:
        """Closed and opened again, a log answers as before."""
        log = await Log.open(url)
        stored = await log.append("ns", "m", "s", says("x", "y"), create=NEW)
        await log.clear("ns", "m")
        await log.append("ns", "m", "s", says("z"))
        await log.delete("ns", (await log.create("ns", "n", NEW)).name)

        async def everything() -> list[object]:
            read = await log.read(stored.key, limit=10)
            return [read, await log.list("ns", "", 10), await log.heads(), await log.erasures(0, 10)]

        before = await everything()
        await log.close()
        log = await Log.open(url)
        assert await everything() == before
        assert (await log.create("ns", "n", NEW)).key == 3
        await log.close()

    async def test_a_closed_log_says_so(self, url: str) -> None:
        """After close nothing hangs, and nothing is half done."""
        log = await Log.open(url)
        await log.create("ns", "m", NEW)
        await log.close()
        for call in (log.get("ns", "m"), log.append("ns", "m", "s", says("x"))):
            with pytest.raises(ShuttingDownError):
                await call

    async def test_close_carries_out_what_waits(self, url: str) -> None:
        """Writes accepted before close are answered and durable."""
        log = await Log.open(url)
        await log.create("ns", "m", NEW)
        async with held(log):
            tasks = await begun(*(log.append("ns", "m", "s", says("x")) for _ in range(5)))
            closing = asyncio.create_task(log.close())
            await asyncio.sleep(0)
        await closing
        assert sorted(stored.first_seq for stored in await asyncio.gather(*tasks)) == [1, 2, 3, 4, 5]

    async def test_changes_are_told(self, log: Log) -> None:
        """A listener hears of every commit that changed a memory, in the event loop, and of nothing else."""
        told: list[int] = []
        log.on_change.append(lambda key: told.append(key) if asyncio.get_running_loop() else None)

        async def heard(call: object) -> list[int]:
            told.clear()
            await call  # type: ignore[misc]
            return list(told)

        await log.create("ns", "m", NEW)
        key = (await log.get("ns", "m")).key
        assert told == [key]
        assert await heard(log.append("ns", "m", "s", named("a"), request_id="r")) == [key]
        assert await heard(log.append("ns", "m", "s", named("a"), request_id="r")) == []
        assert await heard(log.import_messages("ns", "m", named("a"))) == []
        assert await heard(log.import_messages("ns", "m", named("b"))) == [key]
        assert await heard(log.update("ns", "m", system="x")) == [key]
        assert await heard(log.update("ns", "m")) == []
        assert await heard(log.forget("ns", "m", ["x"])) == []
        assert await heard(log.forget("ns", "m", ["a"])) == [key]
        assert await heard(log.clear("ns", "m")) == [key]
        assert await heard(log.clear("ns", "m")) == []
        assert await heard(log.delete("ns", "m")) == [key]

    async def test_a_listener_that_fails_stops_nothing(self, log: Log) -> None:
        """The write is answered, and the next listener hears of it."""
        told: list[int] = []

        def fail(_: int) -> None:
            raise RuntimeError

        log.on_change += [fail, told.append]
        stored = await log.append("ns", "m", "s", says("x"), create=NEW)
        assert told == [stored.key]
