"""The log against a model of it in plain dictionaries, over any order of calls."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seedbed.messages import Message
from seedbed_server.errors import (
    InvalidFieldError,
    MemoryNotFoundError,
    MessageIdExistsError,
    RequestIdReusedError,
    SeedbedError,
)
from seedbed_server.log import Erasure, Log
from tests.log.saying import NEW

NAMES = st.sampled_from(["m", "M"])
SESSIONS = st.sampled_from(["s", "t"])
IDS = st.sampled_from(["a", "b", "c", "d", "e"])
BATCHES = st.lists(st.tuples(IDS | st.just(""), SESSIONS), min_size=1, max_size=3)
REQUESTS = st.sampled_from(["", "r1", "r2"])


@dataclass
class Modelled:
    """A memory as it should be: its living messages by seq, and the requests it remembers."""

    key: int
    last_seq: int = 0
    alive: dict[int, tuple[str, str]] = field(default_factory=dict)  # seq -> (id, session)
    requests: dict[str, tuple[object, int]] = field(default_factory=dict)  # request id -> (payload, first seq)

    def ids(self) -> set[str]:
        return {one for one, _ in self.alive.values()}

    def store(self, batch: list[tuple[str, str]]) -> None:
        for one in batch:
            self.last_seq += 1
            self.alive[self.last_seq] = one

    def erase(self, seqs: list[int]) -> None:
        for seq in seqs:
            del self.alive[seq]


class LogMachine(RuleBasedStateMachine):
    """Every rule makes one call and tells the model; the invariant compares all there is."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.memories: dict[str, Modelled] = {}
        self.erasures: list[Erasure] = []
        self.keys = 0
        self.log = self.opened()

    def opened(self) -> Log:
        return self.runner.run(Log.open(f"sqlite:///{Path(self.folder.name) / 'log.db'}"))

    def ran(self, call: Any) -> Any:
        """The call's answer, or its error."""
        try:
            return self.runner.run(call)
        except SeedbedError as error:
            return type(error)

    def teardown(self) -> None:
        self.runner.run(self.log.close())
        self.runner.close()
        self.folder.cleanup()

    def existing(self, name: str) -> Modelled:
        if name not in self.memories:
            self.keys += 1
            self.memories[name] = Modelled(self.keys)
        return self.memories[name]

    def erased(self, memory: Modelled, seqs: list[int]) -> None:
        memory.erase(seqs)
        if seqs:
            self.erasures.append(Erasure(len(self.erasures) + 1, memory.key, tuple(seqs), whole=False))

    @rule(name=NAMES, session=SESSIONS, batch=BATCHES, request=REQUESTS)
    def append(self, name: str, session: str, batch: list[tuple[str, str]], request: str) -> None:
        given = [one for one, _ in batch if one]
        messages = [Message("user", ("x",), id=one) for one, _ in batch]
        answer = self.ran(self.log.append("n", name, session, messages, request_id=request, create=NEW))
        if len(set(given)) < len(given):
            assert answer is InvalidFieldError
            return
        memory = self.memories.get(name)
        payload = (session, [one for one, _ in batch])
        if memory and request in memory.requests:
            before, first_seq = memory.requests[request]
            assert answer is RequestIdReusedError if before != payload else answer.first_seq == first_seq
            return
        if memory and memory.ids() & set(given):
            assert answer is MessageIdExistsError
            return
        memory = self.existing(name)
        assert (answer.key, answer.first_seq) == (memory.key, memory.last_seq + 1)
        memory.store([(one, session) for one in answer.ids])
        if request:
            memory.requests[request] = payload, answer.first_seq

    @rule(name=NAMES, batch=BATCHES)
    def import_messages(self, name: str, batch: list[tuple[str, str]]) -> None:
        batch = [(one, session) for one, session in batch if one]
        messages = [Message("user", ("x",), id=one, session=session) for one, session in batch]
        answer = self.ran(self.log.import_messages("n", name, messages, create=NEW))
        if len({one for one, _ in batch}) < len(batch):
            assert answer is InvalidFieldError
            return
        memory = self.existing(name)
        fresh = [(one, session) for one, session in batch if one not in memory.ids()]
        memory.store(fresh)
        assert (answer.imported, answer.skipped) == (len(fresh), len(batch) - len(fresh))

    @rule(name=NAMES, session=SESSIONS | st.just(""))
    def clear(self, name: str, session: str) -> None:
        answer = self.ran(self.log.clear("n", name, session=session))
        memory = self.memories.get(name)
        if memory is None:
            assert answer is MemoryNotFoundError
            return
        seqs = [seq for seq, (_, own) in memory.alive.items() if session in ("", own)]
        assert answer == (memory.key, len(seqs))
        self.erased(memory, seqs)

    @rule(name=NAMES, ids=st.lists(IDS, max_size=3))
    def forget(self, name: str, ids: list[str]) -> None:
        answer = self.ran(self.log.forget("n", name, ids))
        memory = self.memories.get(name)
        if memory is None:
            assert answer is MemoryNotFoundError
            return
        seqs = [seq for seq, (one, _) in memory.alive.items() if one in ids]
        self.erased(memory, seqs)
        assert answer == (self.erasures[-1] if seqs else None)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        answer = self.ran(self.log.delete("n", name))
        memory = self.memories.pop(name, None)
        if memory is None:
            assert answer is MemoryNotFoundError
            return
        assert answer == len(memory.alive)
        self.erasures.append(Erasure(len(self.erasures) + 1, memory.key, (), whole=True))

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.log.close())
        self.log = self.opened()

    @invariant()
    def everything_is_as_modelled(self) -> None:
        self.runner.run(self.compare())

    async def compare(self) -> None:
        records = {record.name: record for record in await self.log.list("n", "", 10)}
        assert {name: record.key for name, record in records.items()} == {n: m.key for n, m in self.memories.items()}
        for name, memory in self.memories.items():
            record = records[name]
            assert (record.last_seq, record.message_count) == (memory.last_seq, len(memory.alive))
            read = await self.log.read(memory.key, limit=1000)
            assert {message.seq: (message.id, message.session) for message in read} == memory.alive
            for session in "st":
                mine = [seq for seq, (_, own) in memory.alive.items() if own == session]
                tail = await self.log.tail(memory.key, session=session, n=2)
                assert [message.seq for message in tail] == mine[-2:]
        assert await self.log.erasures(0, 1000) == self.erasures
        assert {head.key: head.last_seq for head in await self.log.heads()} == {
            memory.key: memory.last_seq for memory in self.memories.values()
        }


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(
    max_examples=15,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
