"""How the processes of a space stand, and a change from one to another, as status reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seedbed_server.log import Head
from seedbed_server.processes import Child
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.spaces import Space

REEMBED = "reembed"


@dataclass(slots=True)
class PartState:
    """A part; ``state`` is "starting", "ready" or "down"."""

    name: str
    state: str
    restarts: int
    detail: str


def process_part(child: Child, runs: str = "") -> PartState:
    """A process; one that is ready tells what it ``runs``."""
    return PartState(child.name, child.state, child.restarts, runs if runs and child.state == "ready" else child.detail)


def progress_part(space: Space, doing: str, cursors: Cursors, heads: Sequence[Head], waits_for: str) -> PartState:
    """A change under way: to which model, ``doing`` what, how far, and what it waits for ("" for nothing)."""
    done = sum(min(cursors.applied.get(head.key, 0), head.last_seq) for head in heads)
    said = f"{space.encoder.name}: {doing}, {done} of {sum(head.last_seq for head in heads)} messages"
    children = (space.encoder.child, space.index.child)
    restarts = sum(child.restarts for child in children)
    child = next((child for child in children if child.name == waits_for), None)
    if waits_for and child is None:
        return PartState(REEMBED, "down", restarts, f"{said}, waits for {waits_for}")
    if child is None or child.state == "ready":  # one that is ready is about to be asked again
        return PartState(REEMBED, "starting", restarts, said)
    return PartState(REEMBED, child.state, restarts, f"{said}, waits for {waits_for} ({child.detail})")
