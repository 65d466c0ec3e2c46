"""From what the parts want to show to one seed under one budget.

What is paid, in this order, until the budget is spent:

1. the pin, always; cut only where it is larger than the whole budget;
2. the newest turn, from the last user message on (see ``recency.fit_turn``);
3. part by part, most important first: its items in their order, each if it
   fits, then its recent messages, newest first, until one does not fit.

So the last part's items are left out first. Only something longer than 200
tokens is passed over without an end to the parts after it: one long message
must not cost the facts that would have fitted. What is shown is compared by that
order, never less under a larger budget: the first difference between two
budgets is always something that the larger adds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

from seedbed.frame import HEADER, SECTIONS, quote
from seedbed.merging import Recent, merge
from seedbed.messages import Message
from seedbed.recency import Unit, fit_turn, units
from seedbed.seeds import Item, Seed, SeedMessage, Shown
from seedbed.tokens import PER_MESSAGE, count, cut, message_tokens
from seedbed.value import by_value

_LONG = 200  # tokens; a tenth of the default budget is the most that the order of parts may waste
_EVER = datetime.max.replace(tzinfo=UTC)


def pack(system: str, shown: Sequence[Shown], max_tokens: int | None) -> Seed:
    """Pack what the parts show, most important first, into at most ``max_tokens`` tokens.

    The seed begins with at most one system message of ours: the pin ``system``,
    verbatim, then the memory block of all items. The recent messages of all
    parts follow, merged by ``seq`` (by their ids where one has no seq). No
    message comes twice: not in two parts, and not both recalled and recent.
    Facts, notes and summaries of equal words come once.

    ``None`` means no limit. Raises ValueError if ``max_tokens`` is negative.
    """
    if max_tokens is not None and max_tokens < 0:
        raise ValueError("max_tokens must not be negative")
    packing = _Packing(system, sys.maxsize if max_tokens is None else max_tokens, merge(shown, system))
    packing.take_turn()
    for rank, part in enumerate(shown):
        for item in part.items:
            packing.take_item(item if item.origin else replace(item, origin=part.origin), rank)
        packing.extend_tail(rank)
    entries, tokens = packing.finish()
    omitted = packing.omitted()
    below_floor: Counter[str] = Counter()
    for part in shown:
        omitted.update(part.omitted)
        below_floor.update(part.below_floor)
    return Seed(
        entries,
        tokens,
        truncated=packing.truncated or bool(omitted) or any(part.truncated for part in shown),
        omitted=dict(omitted),
        degraded_parts=tuple(dict.fromkeys(part.origin for part in shown if part.degraded)),
        below_floor=dict(below_floor),
    )


def shown_from_seed(seed: Seed, origin: str) -> Shown:
    """Turn a finished seed back into what one part, called ``origin``, wants to show.

    The pin of the seed is dropped: the whole has one of its own. Items keep
    their origins; recalled ones come best first again. Places in the log
    (``seq``) are dropped too, since the seed may come from another log. A
    system message without items, as a memory of your own may give, is quoted
    as a note: inside another memory it is data, never an instruction.
    """
    items: list[Item] = []
    recent: list[Message] = []
    for entry in seed.entries:
        if entry.role == "system" and not entry.items:
            items.append(Item(origin, "note", entry.text))
        elif entry.items and all(item.kind != "message" for item in entry.items):
            items.extend(replace(item, seq=0) for item in entry.items if item.kind != "pin")
        else:
            recent.append(_message(entry))
    others = [item for item in items if item.kind != "recalled"]
    recalled = sorted((item for item in items if item.kind == "recalled"), key=lambda item: -item.score)
    items = [*others, *by_value(recalled)]
    return Shown(origin, tuple(items), tuple(recent), seed.degraded, seed.truncated, seed.omitted, seed.below_floor)


def _message(entry: SeedMessage) -> Message:
    item = entry.items[0] if entry.items else Item("", "message", "")
    known = "".join(item.source_ids[:1])
    return Message(entry.role, entry.parts, entry.name, entry.tool_calls, entry.tool_call_id, time=item.time, id=known)


@dataclass(eq=False)
class _Placed:
    """An item that is in the seed, as lines of the block."""

    item: Item
    kind: str
    lines: str
    cost: int


class _Packing:
    """A seed in the making: what is in it, and what that takes."""

    def __init__(self, system: str, budget: int, recent: Sequence[Recent]) -> None:
        self.budget = budget
        self.pin = cut(system, budget - _fixed("system"))
        self.truncated = self.pin != system
        self.spent = _fixed("system") + count(self.pin) if self.pin else 0
        if self.truncated:
            self.spent = budget  # what the cut left over is no room for anything else
        self.join = count(f"{self.pin}\n\n") - count(self.pin) if self.pin else _fixed("system")
        self.sections: dict[str, list[_Placed]] = {kind: [] for kind in SECTIONS}
        self.frame = 0  # what the block takes beside its items
        self.keys: set[object] = set()
        self.recalled: dict[str, _Placed] = {}
        self.recent = recent
        self.units = units([each.message for each in recent])
        # Down to which unit each part shows; the tail is paid from the end of the list.
        self.reach = {recent[at].rank: place for place, unit in reversed([*enumerate(self.units)]) for at in unit.at}
        self.start = len(self.units)
        self.closed = False  # the tail goes no further back
        self.last_rank = sys.maxsize  # the parts after it get nothing
        self.tail_ids: set[str] = set()
        self.order: list[_Placed | Unit] = []
        self.left_out: Counter[str] = Counter()

    def take_turn(self) -> None:
        """Pay the newest turn; one that is too long for the budget ends the tail."""
        turn = fit_turn(self.units, self.budget - self.spent)
        for unit in reversed(turn):
            self._add(unit)
        self.start -= len(turn)
        whole = [*map(id, self.units[self.start :])]
        self.truncated |= any(id(unit) not in whole for unit in turn)
        self.closed = [*map(id, turn)] != whole or (not turn and bool(self.units))
        if self.closed:
            kept = {id(unit) for unit in turn}
            missing = next((unit for unit in reversed(self.units) if id(unit) not in kept), self.units[-1])
            self._leave_out(missing.cost, self.recent[missing.at[0]].rank)

    def take_item(self, item: Item, rank: int) -> None:
        """Quote an item in the memory block, if it is new there and fits."""
        kind = item.kind if item.kind in SECTIONS else "note"
        lines = quote(item) if item.kind not in {"pin", "message"} else ""
        ids = item.source_ids if kind == "recalled" else ()
        key = ids or " ".join(lines.split()).casefold()
        if not lines or key in self.keys or any(i in self.tail_ids or i in self.recalled for i in ids):
            return
        if rank > self.last_rank:
            self.left_out[item.origin] += 1
            return
        cost = count(lines)
        placed = _Placed(item, kind, lines, cost)
        frame = self.frame if self.sections[kind] else self._frame_with(kind)
        if not self._fits(self.spent + cost + frame, placed):
            self.left_out[item.origin] += 1
            self._leave_out(cost, rank)
            return
        self.keys.add(key)
        self.sections[kind].append(placed)
        self.recalled.update(dict.fromkeys(ids, placed))
        self.order.append(placed)
        self.spent += cost
        self.frame = frame

    def extend_tail(self, rank: int) -> None:
        """Pay the recent messages of a part, newest first, until one does not fit."""
        self.closed |= rank > self.last_rank
        while not self.closed and self.start > self.reach.get(rank, self.start):
            unit = self.units[self.start - 1]
            twins = {id(twin): twin for m in unit.messages if (twin := self.recalled.get(m.id))}.values()
            spent = self.spent + unit.cost - sum(twin.cost for twin in twins)
            if not self._fits(spent + self.frame):
                self.closed = True
                self._leave_out(unit.cost, rank)
                return
            for twin in twins:  # the message itself says it better than a quotation
                self._remove(twin)
            self._add(unit)
            self.start -= 1

    def finish(self) -> tuple[tuple[SeedMessage, ...], int]:
        """Return the messages and their exact count.

        What was added up holds, but where a quotation at the end of the block
        gave way to the message itself; should that take a token too many,
        what is least important goes.
        """
        while True:
            head = self._head()
            tokens = sum(message_tokens(entry) for entry in head)
            tokens += sum(piece.cost for piece in self.order if isinstance(piece, Unit))
            if tokens <= self.budget:
                return (*head, *self._recent()), tokens
            last = self.order[-1]
            if isinstance(last, Unit):
                self.order.pop()
            else:
                self._remove(last)
                self.left_out[last.item.origin] += 1

    def omitted(self) -> Counter[str]:
        """How many items and messages of each origin were left out."""
        shown = {place for piece in self.order if isinstance(piece, Unit) for place in piece.at}
        lost = (place for unit in self.units for place in unit.at if place not in shown)
        return self.left_out + Counter(self.recent[place].origin for place in lost)

    def _fits(self, total: int, coming: _Placed | None = None) -> bool:
        """Whether a total fits that counts a line break after the block's last line, where none will be."""
        over = total - self.budget
        if over not in {0, 1}:
            return over < 0
        filled = [kind for kind, placed in self.sections.items() if placed or (coming and coming.kind == kind)]
        if not filled:
            return over == 0
        pieces = [*self.sections[filled[-1]], *([coming] if coming and coming.kind == filled[-1] else [])]
        last = (_oldest_first(pieces) if filled[-1] == "recalled" else pieces)[-1]
        return over <= last.cost - count(last.lines.removesuffix("\n"))

    def _leave_out(self, cost: int, rank: int) -> None:
        """End the parts after ``rank``, unless what did not fit is long."""
        if cost <= _LONG:
            self.last_rank = min(self.last_rank, rank)

    def _frame_with(self, kind: str = "") -> int:
        """What the block takes beside its items, once one of ``kind`` is in."""
        kinds = [each for each, placed in self.sections.items() if placed or each == kind]
        return self.join + _line(HEADER) + sum(_line(SECTIONS[each]) for each in kinds) if kinds else 0

    def _add(self, unit: Unit) -> None:
        self.order.append(unit)
        self.tail_ids.update(message.id for message in unit.messages if message.id)
        self.spent += unit.cost

    def _remove(self, placed: _Placed) -> None:
        self.sections[placed.kind].remove(placed)
        self.order.remove(placed)
        for known in placed.item.source_ids:
            self.recalled.pop(known, None)
        self.spent -= placed.cost
        self.frame = self._frame_with()

    def _head(self) -> tuple[SeedMessage, ...]:
        """The leading system message: pin and block."""
        self.sections["recalled"] = _oldest_first(self.sections["recalled"])
        placed = [piece for pieces in self.sections.values() for piece in pieces]
        items = [replace(piece.item, tokens=piece.cost) for piece in placed]
        text = self.pin
        if placed:
            lines = [f"{HEADER}\n"]
            for kind, pieces in self.sections.items():
                if pieces:
                    lines += [f"{SECTIONS[kind]}\n", *(piece.lines for piece in pieces)]
            text += ("\n\n" if text else "") + "".join(lines).removesuffix("\n")
        if self.pin:
            items.insert(0, Item("system", "pin", self.pin, role="system", tokens=count(self.pin)))
        return (SeedMessage("system", (text,), items=tuple(items)),) if text else ()

    def _recent(self) -> list[SeedMessage]:
        """The recent messages, in their order, as they were written."""
        pieces = [piece for piece in self.order if isinstance(piece, Unit)]
        said = [said for unit in pieces for said in zip(unit.at, unit.messages, unit.costs, strict=True)]
        said.sort(key=lambda each: each[0])
        return [_entry(message, self.recent[place].origin, cost) for place, message, cost in said]


def _entry(message: Message, origin: str, cost: int) -> SeedMessage:
    ids = (message.id,) if message.id else ()
    item = Item(
        origin,
        "message",
        message.text,
        message.name,
        message.role,
        message.time,
        source_ids=ids,
        tokens=cost,
        seq=message.seq,
    )
    return SeedMessage(
        message.role, message.parts, message.name, message.tool_calls, message.tool_call_id, items=(item,)
    )


def _oldest_first(recalled: list[_Placed]) -> list[_Placed]:
    """By place in the log; by time where the items come from several logs, undated ones last."""
    if all(placed.item.seq for placed in recalled):
        return sorted(recalled, key=lambda placed: placed.item.seq)
    return sorted(recalled, key=lambda placed: _aware(placed.item.time))


def _aware(time: datetime | None) -> datetime:
    if time is None:
        return _EVER
    return time if time.tzinfo else time.replace(tzinfo=UTC)


@cache
def _fixed(role: str) -> int:
    return PER_MESSAGE + count(role)


@cache
def _line(line: str) -> int:
    """Tokens of one of the block's own lines."""
    return count(f"{line}\n")
