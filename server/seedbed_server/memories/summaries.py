"""Summary and SummaryBuffer: what went before, in short, and the newest messages in full."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedbed.frame import HEADER, SECTIONS, quote
from seedbed.messages import Message
from seedbed.recency import buffer, conversation, token_buffer, window
from seedbed.seeds import Item, Shown
from seedbed.tokens import PER_MESSAGE, count, cut
from seedbed.variants import Summary, SummaryBuffer
from seedbed_server.memories.view import Answer, View
from seedbed_server.projections.checkpoints import Checkpoint
from seedbed_server.projections.summaries import Summaries

log = logging.getLogger(__name__)

# How long a seed waits for a summary that is not there yet, in seconds. An extractive one takes a fraction of it.
PATIENCE = 2.0
# Of a SummaryBuffer's budget, the part that the summary may take.
SUMMARY_SHARE = 3


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """Shows a summary of what is folded. Nothing is left out that no committed summary covers."""

    summaries: Summaries

    async def show(self, view: View, part: Summary | SummaryBuffer) -> Answer:
        """Show the session through a summary.

        When one is due and cannot be had in time, everything that is not folded
        is shown in full, as far as the budget goes, and the part is degraded.
        """
        if isinstance(part, Summary):
            return await self._show_summary(view, part)
        return await self._show_buffer(view, part)

    async def _show_summary(self, view: View, part: Summary) -> Answer:
        """At most ``threshold`` messages stand beside the summary of all before them."""
        system = view.record.system
        said = conversation(await view.tail(part.threshold + 1), system)
        if len(said) <= part.threshold:
            return Answer(Shown("summary", recent=buffer(said, system=system)))
        shown = {message.seq for message in window(said, part.threshold, system=system)}
        due = max(message.seq for message in said if message.seq not in shown)
        found, complete = await self._covering(view, due, _latest(said, due, part.threshold))
        folded = found.upto_seq if found else 0
        rest, lost = ([m for m in said if m.seq > folded], False) if complete else await view.after(folded)
        recent = buffer(rest, system=system)
        return Answer(
            Shown("summary", _items("summary", found, None), recent, degraded=not complete, truncated=lost),
        )

    async def _show_buffer(self, view: View, part: SummaryBuffer) -> Answer:
        """The newest messages that fit beside a summary of all before them; no summary while all fit."""
        budget = part.max_tokens if view.budget is None else min(part.max_tokens, view.budget)
        system = view.record.system
        messages = await view.tail_within(budget)
        said = buffer(messages, system=system)
        if _fits(said, token_buffer(messages, budget, system=system)):
            return Answer(Shown("summary_buffer", recent=said))
        share = max(0, budget - count(system)) // SUMMARY_SHARE
        tail = token_buffer(messages, budget - share, system=system)
        shown = {message.seq for message in tail}
        hidden = [message.seq for message in said if message.seq not in shown]
        if not hidden:  # what there is comes cut
            return Answer(Shown("summary_buffer", recent=tail, truncated=True))
        found, complete = await self._covering(view, hidden[-1], view.upto_seq)
        items = _items("summary_buffer", found, share)
        cut_short = found is not None and "".join(item.text for item in items) != found.text
        return Answer(Shown("summary_buffer", items, tail, degraded=not complete, truncated=cut_short))

    async def _covering(self, view: View, seq: int, upto: int) -> tuple[Checkpoint | None, bool]:
        """Find a summary that covers the message ``seq``, and nothing after ``upto``; False if there is none in time.

        One that ends at ``seq`` is made if need be.
        """
        session = view.ask.session
        found = await self._alive(view, seq, upto)
        if found is None or found.upto_seq < seq:
            await self.summaries.fold(view.key, session, seq)
            await self.summaries.wait_folded(view.key, session, timeout=PATIENCE)
            found = await self._alive(view, seq, upto)
        return found, found is not None and found.upto_seq >= seq

    async def _alive(self, view: View, seq: int, upto: int) -> Checkpoint | None:
        """Find a summary whose sources are all in the log: an erasure may not have come to the others yet."""
        found = await self.summaries.summary(view.key, view.ask.session, covering=seq, upto=upto)
        if found is None or len(await view.log.alive_ids(view.key, found.source_ids)) < len({*found.source_ids}):
            return None
        return found


def _latest(said: Sequence[Message], due: int, threshold: int) -> int:
    """Where the summary ends at the latest, from ``due`` on.

    Summaries that reach further than they must are there already, while one that
    ends at ``due`` has to be made. Half the threshold stays in full at least, and
    the newest turn of the user.
    """
    later = [message for message in said if message.seq > due]
    opening = max((at for at, message in enumerate(later) if message.role == "user"), default=len(later))
    first = min(opening, len(later) - (threshold + 1) // 2)
    return later[first - 1].seq if first > 0 else due


def _fits(said: tuple[Message, ...], kept: tuple[Message, ...]) -> bool:
    return said == kept


def _items(origin: str, found: Checkpoint | None, max_tokens: int | None) -> tuple[Item, ...]:
    if found is None or not found.text:
        return ()
    item = Item(origin, "summary", found.text, source_ids=found.source_ids)
    if max_tokens is not None:
        item = _within(item, max_tokens)
    return (item,) if item.text else ()


def _within(item: Item, max_tokens: int) -> Item:
    """The item cut at the end of a line, until it takes at most ``max_tokens`` as it is quoted."""
    room = max_tokens - count(f"\n\n{HEADER}\n{SECTIONS[item.kind]}\n") - PER_MESSAGE
    limit = count(item.text)
    while (cost := count(quote(item))) > max(0, room):
        limit = min(limit - 1, limit * room // cost)
        text = cut(item.text, limit)
        if not item.text.startswith(f"{text}\n"):
            text = text.rpartition("\n")[0] or text
        item = replace(item, text=text)
    return item
