"""The parent's side of the tagger: turns to entities and claims, through its child process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seedbed_server.models.contract import RULES, Extraction, Turn
from seedbed_server.models.manifest import by_role, labeller
from seedbed_server.processes import Child, Priority

TIMEOUT = 600.0
"""Seconds for one call; what hangs is found by the watchdog before."""


AT_ONCE = 32
"""Turns that it reads in moments, and that are worth a call."""


class Tagger:
    """Reads turns for the entities they name and the claims they make.

    ``fingerprint`` names the weights and the version of the rules that make
    claims out of a parse. Start, stop and watch ``child``.
    """

    def __init__(self, models_dir: Path, *, threads: int = 1) -> None:
        model = by_role("tagger")
        self.name = model.name
        self.fingerprint = model.fingerprint(RULES, labeller().sha256)
        self.child = Child(
            "tagger",
            "seedbed_server.models.tagger_child:create",
            {"models_dir": str(models_dir.absolute())},
            threads=threads,
            niceness=10,
        )

    @property
    def at_once(self) -> int:
        """How many turns to give it in one call."""
        return AT_ONCE

    async def extract(self, turns: Sequence[Turn], *, urgent: bool = False) -> list[Extraction | None]:
        """One extraction a turn, in order; None for a turn that could not be read. PartUnavailableError."""
        if not turns:
            return []
        payload = {"turns": [turn.to_wire() for turn in turns]}
        priority = Priority.URGENT if urgent else Priority.BULK
        found = await self.child.call("extract", payload, priority=priority, timeout=TIMEOUT)
        return [Extraction.from_wire(entry) if entry is not None else None for entry in found]

    async def probe(self) -> None:
        """Read something harmless. PartUnavailableError."""
        await self.extract([Turn("How are you?", "", "", None)])
