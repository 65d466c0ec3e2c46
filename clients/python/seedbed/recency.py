"""Which of a session's newest messages are shown: buffer, window, token buffer.

Pure functions over messages, oldest first. Two rules hold for all of them:

- A tool call and its results are one unit, shown whole or not at all. A result
  whose call is not there is never shown.
- What the head of the seed says already is not part of the conversation: a
  system message that repeats the pin, or an agent's copy of a memory block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from seedbed.frame import is_echo
from seedbed.messages import Media, Message
from seedbed.seeds import Shown
from seedbed.tokens import PER_MEDIA, PER_MESSAGE, count, cut, message_overhead, message_tokens
from seedbed.variants import Buffer, TokenBuffer, Variant, Window


def buffer(messages: Sequence[Message], *, system: str = "") -> tuple[Message, ...]:
    """Every message of the conversation."""
    return _flat(units(conversation(messages, system)))


def window(messages: Sequence[Message], n: int, *, system: str = "") -> tuple[Message, ...]:
    """Return the last ``n`` messages; fewer where a tool call would be cut from its result.

    Raises ValueError if ``n`` is negative.
    """
    if n < 0:
        raise ValueError("n must not be negative")
    said = conversation(messages, system)
    return _flat(units(said[max(0, len(said) - n) :]))


def token_buffer(messages: Sequence[Message], max_tokens: int, *, system: str = "") -> tuple[Message, ...]:
    """Return the newest messages that fit ``max_tokens`` together with the pin.

    What fits is as in ``fit_turn``: a newest message that is too large comes cut.
    Raises ValueError if ``max_tokens`` is negative.
    """
    if max_tokens < 0:
        raise ValueError("max_tokens must not be negative")
    room = max_tokens - (PER_MESSAGE + count("system") + count(system) if system else 0)
    every = units(_reachable(conversation(messages, system), max_tokens))
    kept = fit_turn(every, room)
    room -= sum(unit.cost for unit in kept)
    if kept == every[len(every) - len(kept) :]:
        for unit in reversed(every[: len(every) - len(kept)]):
            if unit.cost > room:
                break
            kept.insert(0, unit)
            room -= unit.cost
    return _flat(kept)


def shown_recent(
    variant: Variant, messages: Sequence[Message], *, system: str = "", budget: int | None = None
) -> Shown:
    """Return what a recency variant shows of a session, as a part of a seed.

    With the ``budget`` of the whole seed, what could not fit it by number alone is
    left out at once, and counted. Raises TypeError for a variant that looks at
    more than the newest messages.
    """
    if isinstance(variant, Window):
        return Shown("window", recent=window(messages, variant.n, system=system))
    said = conversation(messages, system)
    if isinstance(variant, Buffer):
        origin, kept = "buffer", said if budget is None else _reachable(said, budget)
        shown = buffer(kept)
        lost = len(said) - len(kept)
        whole = not lost
    elif isinstance(variant, TokenBuffer):
        limit = variant.max_tokens if budget is None else min(variant.max_tokens, budget)
        origin, shown = "token_buffer", token_buffer(said, limit, system=system)
        every = buffer(_reachable(said, limit))
        lost = len(said) - len(_reachable(said, limit)) + len(every) - len(shown)
        whole = not lost and shown == every
    else:
        raise TypeError(f"{type(variant).__name__} does not show the newest messages alone")
    return Shown(origin, recent=shown, truncated=not whole, omitted={origin: lost} if lost else {})


def _reachable(said: Sequence[Message], budget: int) -> Sequence[Message]:
    """Return as many of the newest messages as fit a budget if each takes the least: its wrapping and a role.

    The newest turn is among them from its user message on, however long it is.
    """
    opening = next((at for at in range(len(said) - 1, -1, -1) if said[at].role == "user"), len(said))
    return said[max(0, min(opening, len(said) - reach(budget))) :]


def reach(budget: int) -> int:
    """How many of the newest messages are looked at for a budget: no more could fit."""
    return budget // (PER_MESSAGE + 1) + 1


def conversation(messages: Iterable[Message], system: str = "") -> list[Message]:
    """Leave out what the head of the seed says: the pin repeated, and memory blocks written back."""
    return [m for m in messages if m.role != "system" or not _is_head(m.text, system)]


def _is_head(text: str, system: str) -> bool:
    return (bool(system) and text == system) or is_echo(text)


@dataclass
class Unit:
    """Messages that are shown together or not at all, with their places in the session."""

    at: tuple[int, ...]
    messages: tuple[Message, ...]

    @cached_property
    def costs(self) -> tuple[int, ...]:
        """Tokens of each message."""
        return tuple(message_tokens(message) for message in self.messages)

    @property
    def cost(self) -> int:
        """Tokens of all of it."""
        return sum(self.costs)

    @property
    def is_user(self) -> bool:
        """Whether a person speaks here."""
        return self.messages[0].role == "user"

    @property
    def is_plain(self) -> bool:
        """Whether it is a lone message without tool calls, which may be cut."""
        return len(self.messages) == 1 and not self.messages[0].tool_calls


def units(messages: Sequence[Message]) -> list[Unit]:
    """Group a session into units, by the place of their first message.

    A result belongs to the nearest call before it that has its id; a result
    without one is left out.
    """
    groups: dict[int, list[int]] = {}
    calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.role == "tool" or message.tool_call_id:
            call = calls.get(message.tool_call_id)
            if call is not None:
                groups[call].append(place)
            continue
        groups[place] = [place]
        calls.update((call.id, place) for call in message.tool_calls)
    return [Unit(tuple(places), tuple(messages[place] for place in places)) for places in groups.values()]


def fit_turn(every: Sequence[Unit], room: int) -> list[Unit]:
    """Return the newest turn, from the last user message on, as far as ``room`` tokens go.

    All of it if it fits. Otherwise its user message and its newest units, the
    larger of the two ends cut, so that something newest is always shown while
    ``room`` takes more than a message's overhead. A unit with tool calls is
    never cut: one that does not fit gives its place to the unit before it.
    """
    opening = next((place for place in range(len(every) - 1, -1, -1) if every[place].is_user), None)
    turn = list(every[opening:]) if opening is not None else list(every[-1:])
    if _fits(turn, room):
        return turn
    head = turn[0] if opening is not None else None
    rest = list(turn[1:]) if head else list(every)
    for place in range(len(rest) - 1, -1, -1):
        ends = _share(head, rest[place], room)
        if ends == ([head, rest[place]] if head else [rest[place]]):
            return _fill(ends, rest[:place] if head else [], room)
        if ends:
            return ends
    lone = cut_unit(head, room) if head else None
    return [lone] if lone else []


def _share(head: Unit | None, last: Unit, room: int) -> list[Unit]:
    """Both ends of a turn in ``room``: the shorter whole if it takes less than half, the other cut.

    Without room for both the newest stands alone, if it can be cut; else nothing.
    """
    if head:
        new = cut_unit(last, max(room // 2, room - head.cost)) or last
        old = cut_unit(head, room - new.cost)
        if old:
            return [old, new]
        if not last.is_plain:
            return []  # tool calls do not drive out the words they answer
    alone = cut_unit(last, room)
    return [alone] if alone else []


def _fill(ends: list[Unit], between: Sequence[Unit], room: int) -> list[Unit]:
    """Put the newest of what lies between the ends back, as far as it fits."""
    room -= sum(unit.cost for unit in ends)
    kept: list[Unit] = []
    for unit in reversed(between):
        if unit.cost > room:
            break
        kept.insert(0, unit)
        room -= unit.cost
    return [*ends[:-1], *kept, ends[-1]]


def cut_unit(unit: Unit, room: int) -> Unit | None:
    """Return the unit in at most ``room`` tokens: whole, or cut; None if neither is possible.

    Only a lone message without tool calls is cut. Its text parts become one,
    and media goes first; a message of media alone keeps what fits.
    """
    if unit.cost <= room:
        return unit
    if not unit.is_plain:
        return None
    message = unit.messages[0]
    left = room - message_overhead(message)
    text = cut(message.text, left)
    media = [part for part in message.parts if isinstance(part, Media)]
    parts = (text,) if message.text else tuple(media[: max(0, left) // PER_MEDIA])
    return Unit(unit.at, (replace(message, parts=parts),)) if text or (parts and not message.text) else None


def _fits(some: Sequence[Unit], room: int) -> bool:
    for unit in reversed(some):
        room -= unit.cost
        if room < 0:
            return False
    return room >= 0


def _flat(some: Iterable[Unit]) -> tuple[Message, ...]:
    placed = sorted(((place, m) for unit in some for place, m in zip(unit.at, unit.messages, strict=True)), key=_place)
    return tuple(message for _, message in placed)


def _place(pair: tuple[int, Message]) -> int:
    return pair[0]
