"""``python -m benchmarks``: run them, print what was found, and with ``--write`` keep it in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks import graphing, ingesting, legs, scale, seeding, starting, writing
from benchmarks.outcome import Outcome
from seedbed_server.app.settings import load, models_dir
from seedbed_server.models.manifest import by_role

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> int:
    """Run the benchmarks; the exit code is 1 when a bar does not hold."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "only",
        nargs="*",
        metavar="NAME",
        help="start, write, ingest, seed, legs, graph or scale; default: all but scale",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it runs, not for figures")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--messages", type=int, default=50_000, help="of scale (default: %(default)s)")
    parser.add_argument("--memories", type=int, default=500, help="of scale (default: %(default)s)")
    parser.add_argument("--data-dir", type=Path, help="of scale: keep what is written, and go on with it")
    chosen = parser.parse_args()
    names = chosen.only or list(_benchmarks(Path(), quick=False))
    before = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="seedbed-bench-") as folder:
        every = _benchmarks(Path(folder), quick=chosen.quick)
        data_dir = chosen.data_dir or Path(folder)
        every["scale"] = partial(scale.run, data_dir, messages=chosen.messages, memories=chosen.memories)
        unknown = sorted(set(names) - every.keys())
        if unknown:
            parser.error(f"no such benchmark: {', '.join(unknown)}")
        found = []
        for name in names:
            print(f"{name} …", file=sys.stderr, flush=True)
            found.append(every[name]())
    text = _report(found, before)
    print(text)
    if chosen.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0 if all(bar.holds for outcome in found for bar in outcome.bars) else 1


def _benchmarks(folder: Path, *, quick: bool) -> dict[str, Callable[[], Outcome]]:
    models = models_dir(load())
    encoder = models / by_role("encoder").name
    if quick:
        return {
            "start": lambda: starting.run(folder, rounds=1, messages=160),
            "write": lambda: writing.run(folder, rounds=1, seconds=1.0),
            "ingest": lambda: ingesting.run(folder, encoder, rounds=1, messages=256),
            "seed": lambda: seeding.run(folder, models, messages=600, queries=30),
            "legs": lambda: legs.run(messages=600, queries=30),
            "graph": lambda: graphing.run(facts=1_000, rounds=20),
        }
    return {
        "start": lambda: starting.run(folder, rounds=5, messages=1_000),
        "write": lambda: writing.run(folder, rounds=5, seconds=3.0),
        "ingest": lambda: ingesting.run(folder, encoder, rounds=3, messages=1_000),
        "seed": lambda: seeding.run(folder, models, messages=10_000, queries=200),
        "legs": lambda: legs.run(messages=10_000, queries=200),
        "graph": lambda: graphing.run(facts=10_000, rounds=200),
    }


def _report(found: Sequence[Outcome], before: tuple[float, float, float]) -> str:
    bars = _table(("Bar", "Limit", "Measured", "Holds"), (bar.row() for outcome in found for bar in outcome.bars))
    figures = _table(("Figure", "Value"), (figure for outcome in found for figure in outcome.figures))
    now = datetime.now(UTC)
    machine = (
        f"Measured on {now:%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores; "
        f"load {before[0]:.1f} before, {os.getloadavg()[0]:.1f} after (the benchmarks' own included)."
    )
    return f"{bars}\n\n{figures}\n\n{machine}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
