"""Buffer, Window and TokenBuffer: the newest messages, chosen by the code that agents run in process."""

from __future__ import annotations

from seedbed.messages import Message
from seedbed.recency import shown_recent, window
from seedbed.variants import Buffer, TokenBuffer, Window
from seedbed_server.memories.view import Answer, View


async def show_recency(view: View, part: Buffer | Window | TokenBuffer) -> Answer:
    """Show the newest messages of the session, as the variant says."""
    if isinstance(part, Window):
        messages = await view.tail(part.n)
    else:
        limits = [limit for limit in (getattr(part, "max_tokens", None), view.budget) if limit is not None]
        messages = await view.tail_within(min(limits, default=None))
    return Answer(shown_recent(part, messages, system=view.record.system))


async def recent(view: View, n: int) -> tuple[Message, ...]:
    """Return the last ``n`` messages, as the heavy variants show them after their own items."""
    return window(await view.tail(n), n, system=view.record.system)
