"""``seedbed eval recall``: a labelled data set through the public API, rankings out.

A data set is JSON Lines, gzipped or not, a conversation a line: ``conversation``,
``messages`` (``id``, ``session``, ``role``, ``name``, ``content``, ``time``) and
``questions`` (``id``, ``query``, and optionally ``before``: the question is asked
in the middle of the conversation, ahead of that message). A line of rankings is
``{"id", "hits": [message ids], "seed": {"ids", "tokens"}, "ms"}``; ``ms`` is the
time of the Recall call as the caller sees it. A message that says nothing is left
out: no memory takes it, and nothing could be found in it.

Questions that no conversation answers, one a line, may be asked of every memory
beside its own: the right answer to them is nothing.
"""

from __future__ import annotations

import gzip
import json
import time
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.progress import Progress

from seedbed import Client, Hybrid, Message, Vector
from seedbed.client import RemoteMemory
from seedbed.messages import is_blank_text
from seedbed_server.app.files import reading, writing
from seedbed_server.app.waiting import wait_applied

BATCH = 500


class BadDatasetError(ValueError):
    """A line of the data set is no conversation; the text says which, and nothing of its content."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate: ``limit`` hits a question, ``max_tokens`` for the seed.

    ``unrelated`` is a file of questions without an answer; lines that begin with # are none.
    """

    dataset: Path
    rankings: Path
    limit: int
    max_tokens: int
    unrelated: Path | None = None


@dataclass(slots=True)
class Evaluated:
    """How many questions were asked, and how many unrelated ones, of which so many found nothing."""

    answered: int = 0
    unrelated: int = 0
    nothing: int = 0


def evaluate(client: Client, options: Options, progress: Progress) -> Evaluated:
    """Write the rankings of every question. The memories are deleted afterwards.

    Raises BadDatasetError and FileError, before the first call but for a disk that gets full.
    """
    run = uuid.uuid4().hex[:8]
    found = Evaluated()
    unrelated = _unrelated(options.unrelated)
    conversations = list(_conversations(options.dataset))
    asked = sum(len(conversation["questions"]) for conversation in conversations)
    written = sum(len(conversation["messages"]) for conversation in conversations)
    bars = progress.add_task("messages", total=written), progress.add_task("questions", total=asked)
    with writing(options.rankings) as out:
        for conversation in conversations:
            name = f"eval-{run}/{conversation['conversation']}"
            trial = Trial(client, name, Hybrid(Vector(k=options.limit), max_tokens=options.max_tokens))
            for line in _answers(trial, conversation, options, progress, bars):
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                found.answered += 1
            if unrelated:
                wait_applied(client, name)
                memory = trial.memory()
                found.nothing += sum(not memory.recall(query).hits for query in unrelated)
                found.unrelated += len(unrelated)
            client.delete_memory(name)
    return found


@dataclass(frozen=True, slots=True)
class Trial:
    """One conversation under evaluation, as a memory of its own."""

    client: Client
    name: str
    variant: Hybrid

    def memory(self, session: str = "default") -> RemoteMemory:
        """Return a handle on the memory."""
        return self.client.memory(self.name, self.variant, session=session)


def _answers(
    trial: Trial, conversation: dict[str, Any], options: Options, progress: Progress, bars: tuple[Any, Any]
) -> Iterator[dict[str, Any]]:
    """Write the conversation up to each question, wait until it is applied, and ask."""
    messages = conversation["messages"]
    place = {message["id"]: at for at, message in enumerate(messages)}
    due = sorted(conversation["questions"], key=lambda q: place.get(q.get("before"), len(messages)))
    done = 0
    for question in due:
        upto = place.get(question.get("before"), len(messages))
        if done < upto:
            _write(trial, messages[done:upto])
            progress.advance(bars[0], upto - done)
            done = upto
            wait_applied(trial.client, trial.name)
        yield _ask(trial.memory(), question, options)
        progress.advance(bars[1])
    if done < len(messages):
        _write(trial, messages[done:])
        progress.advance(bars[0], len(messages) - done)


def _write(trial: Trial, rows: list[dict[str, Any]]) -> None:
    for session, group in groupby(rows, key=lambda row: row["session"]):
        batch = [_message(row) for row in group if not is_blank_text(row["content"])]
        for start in range(0, len(batch), BATCH):
            trial.memory(session).write(batch[start : start + BATCH])


def _message(row: dict[str, Any]) -> Message:
    said = datetime.fromisoformat(row["time"]) if row.get("time") else None
    return Message(row["role"], (row["content"],), row.get("name", ""), time=said, id=row["id"])


def _ask(memory: RemoteMemory, question: dict[str, Any], options: Options) -> dict[str, Any]:
    started = time.perf_counter()
    recalled = memory.recall(question["query"], k=options.limit)
    took = (time.perf_counter() - started) * 1000
    seed = memory.seed(question["query"], max_tokens=options.max_tokens)
    return {
        "id": question["id"],
        "hits": [hit.message.id for hit in recalled.hits],
        "seed": {"ids": list(seed.source_ids), "tokens": seed.tokens},
        "ms": round(took, 2),
    }


def _unrelated(file: Path | None) -> list[str]:
    if file is None:
        return []
    with reading(file):
        lines = file.read_bytes().decode(errors="replace").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with reading(path), opened(path, "rb") as lines:
        try:
            rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        except (EOFError, zlib.error):
            raise BadDatasetError("it is cut off, or damaged") from None
    for number, line in rows:
        try:
            yield _checked(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadDatasetError(f"line {number} is not a conversation") from None


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    texts = [row["conversation"], *(question[key] for question in row["questions"] for key in ("id", "query"))]
    texts += [message[key] for message in row["messages"] for key in ("id", "session", "role", "content")]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return row
