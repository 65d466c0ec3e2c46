"""Memories in process: the recency variants, and Hybrid over them and other memories.

Nothing here needs a server. The variants that search or summarise do: they are
read through ``client.memory(name, variant)``, and such a memory may be a member of
a Hybrid in process.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from threading import RLock

from seedbed.ids import new_id
from seedbed.memory import Memory
from seedbed.messages import Media, Message, ToolCall, is_blank_text, transcript
from seedbed.packing import pack, shown_from_seed
from seedbed.recency import shown_recent
from seedbed.seeds import Seed, Shown
from seedbed.variants import Buffer, Hybrid, TokenBuffer, Variant, Window

logger = logging.getLogger(__name__)

SESSION = "default"
"""The session that every message of an in-process memory belongs to."""


class NeedsServerError(TypeError):
    """The variant looks at more than the newest messages, so it needs the server."""

    def __init__(self, variant: Variant) -> None:
        name = type(variant).__name__
        super().__init__(f"{name} needs the server: use client.memory(name, {name}(...)), also as a part of a Hybrid")


class MemberWriteError(RuntimeError):
    """A member of a Hybrid did not take a transcript.

    The local store and the members after ``member`` have not stored it; the
    members in ``stored`` have. ``messages`` is the transcript with its ids:
    writing it again to the same Hybrid leaves out the members that have it.
    """

    def __init__(self, member: str, stored: tuple[str, ...], messages: tuple[Message, ...]) -> None:
        super().__init__(f"the member {member} did not store the transcript")
        self.member = member
        self.stored = stored
        self.messages = messages


class LocalMemory:
    """A memory in this process, read through ``variant``, with ``system`` as its pin.

    Takes Buffer, Window and TokenBuffer, and a Hybrid of these and of memories
    with their own stores (see ``Memory``). Each write goes to the local store,
    which the recency parts show, and to every distinct member, with the same ids.

    Raises NeedsServerError (a TypeError) for a variant that needs the server,
    TypeError for an asynchronous member, ValueError for a negative size, an
    empty Hybrid or one inside another. May be used from several threads.
    """

    def __init__(self, variant: Variant, system: str = "") -> None:
        self.variant = variant
        self.system = system
        self._parts = _parts(variant)
        self._members = _distinct(part for part in self._parts if not isinstance(part, Variant))
        self._messages: list[Message] = []
        self._ids: set[str] = set()
        self._last_seq = 0
        self._half: tuple[tuple[str, ...], set[Hashable]] = ((), set())
        self._lock = RLock()

    def read(self) -> list[Message]:
        """Return the messages of the local store, oldest first."""
        with self._lock:
            return list(self._messages)

    def write(self, messages: Iterable[Message]) -> None:
        """Store a transcript, all of it or nothing.

        Every message gets an id if it has none, the session "default", the
        next ``seq``, and the time of now if it has none; a time without a zone is
        UTC. A lone surrogate becomes U+FFFD.

        Raises ValueError, naming the field, for an empty transcript, a message
        without role or content, and an id that is there already;
        MemberWriteError if a member of a Hybrid fails. Nothing is stored
        locally then.
        """
        batch = tuple(transcript(messages))
        with self._lock:
            _check(batch, self._ids)
            now = datetime.now(UTC)
            stored = [_stored(m, self._last_seq + place, now) for place, m in enumerate(batch, start=1)]
            self._write_members(stored)
            self._messages.extend(stored)
            self._ids.update(message.id for message in stored)
            self._last_seq += len(stored)

    def clear(self) -> None:
        """Forget the messages, those of every member first; the pin stays, and ``seq`` goes on.

        If a member fails, its error is raised and the local store is kept.
        """
        with self._lock:
            for member in self._members.values():
                member.clear()
            self._messages.clear()
            self._ids.clear()

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        """Return the seed in at most ``max_tokens`` tokens, and never more than the variant's own budget.

        A member that fails leaves the others' answer as it is, and is named in
        ``degraded_parts``. Raises ValueError if ``max_tokens`` is negative.
        """
        if max_tokens is not None and max_tokens < 0:
            raise ValueError("max_tokens must not be negative")
        own = self.variant.max_tokens if isinstance(self.variant, TokenBuffer | Hybrid) else None
        budget = own if max_tokens is None else min(max_tokens, own if own is not None else max_tokens)
        messages = self.read()
        return pack(self.system, [self._shown(part, messages, query, budget) for part in self._parts], budget)

    def _shown(self, part: Variant | Memory, messages: Sequence[Message], query: str, budget: int | None) -> Shown:
        if isinstance(part, Variant):
            return shown_recent(part, messages, system=self.system, budget=budget)
        try:
            return shown_from_seed(part.seed(query, max_tokens=budget), origin(part))
        except Exception as error:  # noqa: BLE001 - whatever fails over there, the local parts still answer
            logger.warning("a member of a hybrid memory failed on seed (%s)", type(error).__name__)
            return Shown(origin(part), degraded=True)

    def _write_members(self, stored: Sequence[Message]) -> None:
        """Write to each member once; after a failure, a retry goes on where it stopped."""
        ids = tuple(message.id for message in stored)
        done = self._half[1] if self._half[0] == ids else set()
        for store, member in self._members.items():
            if store in done:
                continue
            try:
                member.write(stored)
            except Exception as error:
                self._half = ids, done
                names = tuple(origin(m) for each, m in self._members.items() if each in done)
                raise MemberWriteError(origin(member), names, tuple(stored)) from error
            done.add(store)
        self._half = (), set()


def origin(part: Variant | Memory) -> str:
    """Return the name of a part, as in ``Item.origin``: its variant's, or that of its class."""
    variant = part if isinstance(part, Variant) else getattr(part, "variant", None)
    name = type(variant if isinstance(variant, Variant) else part).__name__
    if not isinstance(variant, Variant):
        return name
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


def _parts(variant: Variant) -> tuple[Variant | Memory, ...]:
    if not isinstance(variant, Hybrid):
        _check_variant(variant)
        return (variant,)
    if not variant.parts:
        raise ValueError("a Hybrid needs at least one part")
    if variant.max_tokens < 0:
        raise ValueError("max_tokens must not be negative")
    for part in variant.parts:
        if isinstance(part, Hybrid):
            raise ValueError("a Hybrid does not stand inside another")  # noqa: TRY004 - the type is right, the place is not
        if isinstance(part, Variant):
            _check_variant(part)
        elif not isinstance(part, Memory):
            raise TypeError("a part of a Hybrid is a variant or a memory: read, write, clear, seed")
        elif any(iscoroutinefunction(getattr(part, name)) for name in ("write", "clear", "seed")):
            raise TypeError(
                "a memory in process takes no asynchronous members: give it handles of a Client, or have the server "
                "put the parts together, as AsyncClient.memory(name, Hybrid(Window(10), Vector(k=6)))"
            )
    return variant.parts


def _check_variant(variant: Variant) -> None:
    if not isinstance(variant, Buffer | Window | TokenBuffer):
        raise NeedsServerError(variant)
    if isinstance(variant, Window) and variant.n < 0:
        raise ValueError("n must not be negative")
    if isinstance(variant, TokenBuffer) and variant.max_tokens < 0:
        raise ValueError("max_tokens must not be negative")


def _distinct(members: Iterable[Memory]) -> dict[Hashable, Memory]:
    found: dict[Hashable, Memory] = {}
    for member in members:
        store = getattr(member, "store", None)
        found.setdefault(("object", id(member)) if store is None else ("store", store), member)
    return found


def _check(batch: Sequence[Message], taken: set[str]) -> None:
    if not batch:
        raise ValueError("messages: must not be empty")
    seen: set[str] = set()
    for place, message in enumerate(batch):
        if not message.role:
            raise ValueError(f"messages[{place}].role: must not be empty")
        if is_blank(message):
            raise ValueError(f"messages[{place}].parts: must hold something")
        if message.id and (message.id in seen or message.id in taken):
            raise ValueError(f"messages[{place}].id: is taken")
        seen.add(message.id)


def is_blank(message: Message) -> bool:
    """Whether a message says nothing: no media, no tool call or result, no visible character."""
    if message.tool_calls or message.tool_call_id or any(isinstance(part, Media) for part in message.parts):
        return False
    return is_blank_text(message.text)


def _stored(message: Message, seq: int, now: datetime) -> Message:
    return replace(
        message,
        role=_sound(message.role),
        name=_sound(message.name),
        parts=tuple(_sound(part) if isinstance(part, str) else part for part in message.parts),
        tool_calls=tuple(ToolCall(_sound(c.id), _sound(c.name), _sound(c.arguments)) for c in message.tool_calls),
        tool_call_id=_sound(message.tool_call_id),
        id=message.id or new_id(),
        seq=seq,
        session=SESSION,
        time=_utc(message.time or now),
        recorded_at=now,
    )


def _sound(text: str) -> str:
    """Text without lone surrogates; the halves of a pair, as a stream may bring them, are joined."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
