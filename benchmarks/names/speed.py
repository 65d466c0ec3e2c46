"""What reading a message costs, in processor time, and against another state of this code.

A child process for each state of the code, one after the other, several times
over, each on one thread; so that what else the machine does touches both alike.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.texts import conversation

ROOT = Path(__file__).parents[2]
WORDS = 20
MESSAGES = 400
ROUNDS = 3

# Runs on what both states of the code have: the worker, and turns as dicts.
_CHILD = """
import json, sys, time
sys.modules["torch"] = None
from seedbed_server.models.tagger_worker import create
model, turns = json.load(sys.stdin)
worker = create({"model_dir": model})
for _ in worker.extract(turns[:64]): pass
start = time.process_time()
for _ in worker.extract(turns): pass
print((time.process_time() - start) / len(turns))
"""


def report(model_dir: Path, against: str) -> str:
    """A table of milliseconds a message, messages a second, and the ratio to the code of the commit ``against``.

    Raises subprocess.CalledProcessError if there is no such commit, or a child fails.
    """
    turns = _turns()
    with tempfile.TemporaryDirectory() as folder:
        _unpack(against, Path(folder))
        trees = {"this code": ROOT, against: Path(folder)}
        costs: dict[str, list[float]] = {name: [] for name in trees}
        for _ in range(ROUNDS):
            for name, tree in trees.items():
                costs[name].append(_cost(tree, model_dir, turns))
    medians = {name: statistics.median(each) for name, each in costs.items()}
    lines = ["| code | CPU ms a message | messages a second and core |", "|---|---|---|"]
    lines += [f"| {name} | {1000 * cost:.2f} | {1 / cost:.0f} |" for name, cost in medians.items()]
    ratio = medians["this code"] / medians[against]
    return "\n".join([*lines, "", f"Ratio of the costs: {ratio:.2f}; {MESSAGES} messages of {WORDS} words."])


def _turns() -> list[Mapping[str, object]]:
    words = " ".join(message.text for message in conversation(0, 2 * MESSAGES)).split()
    texts = (" ".join(words[at : at + WORDS]) for at in range(0, MESSAGES * WORDS, WORDS))
    when = datetime(2023, 1, 9, tzinfo=UTC).isoformat()
    return [{"text": text, "speaker": "Maya", "listener": "Tom", "time": when} for text in texts]


def _unpack(commit: str, folder: Path) -> None:
    archive = folder / "code.tar"
    command = ["git", "-C", str(ROOT), "archive", "--output", str(archive), commit, "server", "clients/python"]
    subprocess.run(command, check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")


def _cost(tree: Path, model_dir: Path, turns: Sequence[Mapping[str, object]]) -> float:
    """Seconds of processor time a message."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = os.pathsep.join(str(tree / part) for part in ("server", "clients/python"))
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([str(model_dir), turns]),
        env={**os.environ, **threads, "PYTHONPATH": paths},
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
