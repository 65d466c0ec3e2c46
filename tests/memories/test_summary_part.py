"""Summaries over a real log and a derived store that lags behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from seedbed import Message, Summary, SummaryBuffer
from seedbed_server.log import Log, NewMemory
from seedbed_server.memories import summaries as room
from seedbed_server.memories.summaries import SummaryPart
from seedbed_server.memories.view import Ask, View
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.summaries import Summaries
from seedbed_server.projections.summarisers import Draft


class Joining:
    """A summariser that needs no model: all that was said, in a row."""

    fingerprint = "joining"

    async def fold(self, before: Draft | None, block: Sequence[Message]) -> Draft:
        text = " ".join([*([before.text] if before else []), *(m.text for m in block)])
        return Draft(text, (*(before.sources if before else ()), *((m.seq, m.id) for m in block)))


@pytest.mark.parametrize("variant", [Summary(2), SummaryBuffer(60)])
async def test_a_summary_of_something_erased_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: Summary | SummaryBuffer
) -> None:
    """From the moment of the erasure, though the derived store has not heard of it: what is left is shown in full."""
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    derived = await Derived.open(tmp_path / "derived", [Summaries.schema])
    made = Summaries(derived, log, Joining())
    said = ["The secret is Rosebud.", *(f"This is the number {n} of many things that are said here." for n in range(9))]
    stored = await log.append("ns", "m", "s", [Message.user(text) for text in said], create=NewMemory(variant, ""))
    folding = asyncio.create_task(made.run())
    record = await log.get("ns", "m")
    await made.fold(record.key, "s")
    assert await made.wait_folded(record.key, "s")
    folding.cancel()
    budget = variant.max_tokens if isinstance(variant, SummaryBuffer) else None
    view = View(log, record, Ask("s"), record.last_seq, budget)
    before = (await SummaryPart(made).show(view, variant)).shown
    assert not before.degraded
    assert "Rosebud" in before.items[0].text
    await log.forget("ns", "m", [stored.ids[0]])
    after = (await SummaryPart(made).show(view, variant)).shown
    assert after.degraded
    assert after.items == ()
    assert after.recent[-1].text == said[-1]
    if isinstance(variant, Summary):
        assert [message.text for message in after.recent] == said[1:]
    await derived.close()
    await log.close()
