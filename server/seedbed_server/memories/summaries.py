"""Summary and SummaryBuffer: what went before, in short, and the newest messages in full."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from seedbed.frame import HEADER, SECTIONS, quote
from seedbed.messages import Message
from seedbed.recency import buffer, token_buffer
from seedbed.seeds import Item, Shown
from seedbed.tokens import PER_MESSAGE, count, cut
from seedbed.variants import Summary, SummaryBuffer
from seedbed_server.memories.view import Answer, View
from seedbed_server.projections.summaries import Checkpoint, Summaries

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
        said = buffer(await view.tail_within(None), system=view.record.system)
        if len(said) <= part.threshold:
            return Answer(Shown("summary", recent=said))
        due = said[len(said) - part.threshold - 1].seq
        found, complete = await self._covering(view, due)
        rest = tuple(message for message in said if found is None or message.seq > found.upto_seq)
        return Answer(Shown("summary", _items("summary", found, None), rest, degraded=not complete))

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
        found, complete = await self._covering(view, hidden[-1])
        items = _items("summary_buffer", found, share)
        cut_short = found is not None and any(item.text != found.text for item in items)
        return Answer(Shown("summary_buffer", items, tail, degraded=not complete, truncated=cut_short))

    async def _covering(self, view: View, seq: int) -> tuple[Checkpoint | None, bool]:
        """Find a summary that covers the message ``seq``, making it if need be; False if there is none in time."""
        session = view.ask.session
        found = await self.summaries.summary(view.key, session, covering=seq)
        if found is None or found.upto_seq < seq:
            await self.summaries.fold(view.key, session, seq)
            await self.summaries.wait_folded(view.key, session, timeout=PATIENCE)
            found = await self.summaries.summary(view.key, session, covering=seq)
        return found, found is not None and found.upto_seq >= seq


def _fits(said: tuple[Message, ...], kept: tuple[Message, ...]) -> bool:
    return said == kept


def _items(origin: str, found: Checkpoint | None, max_tokens: int | None) -> tuple[Item, ...]:
    if found is None or not found.text:
        return ()
    item = Item(origin, "summary", found.text, source_ids=found.source_ids)
    return (item if max_tokens is None else _within(item, max_tokens),)


def _within(item: Item, max_tokens: int) -> Item:
    """The item cut until it takes at most ``max_tokens`` as it is quoted, with the lines around it."""
    room = max_tokens - count(f"\n\n{HEADER}\n{SECTIONS[item.kind]}\n") - PER_MESSAGE
    limit = room
    while (over := count(quote(item)) - room) > 0 and limit > 0:
        limit -= over
        item = replace(item, text=cut(item.text, limit))
    return item
