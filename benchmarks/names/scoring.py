"""Scores names by exact spans and types: the pipeline's recogniser alone, and all that the server reads with."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from benchmarks.names.conll import Labelled, Span
from seedbed_server.app.extracting import extract_file
from seedbed_server.models.entities import TYPES as ONTONOTES
from seedbed_server.models.labeller import TYPES
from seedbed_server.models.manifest import by_role
from seedbed_server.models.tagger_worker import pipeline


@dataclass(slots=True)
class Counts:
    """True, predicted and labelled names by type."""

    true: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    labelled: Counter[str] = field(default_factory=Counter)

    def add(self, found: Iterable[Span], right: Iterable[Span]) -> None:
        """Count one text."""
        told, wanted = {span for span in found if span[2] in TYPES}, set(right)
        self.true.update(kind for _, _, kind in told & wanted)
        self.predicted.update(kind for _, _, kind in told)
        self.labelled.update(kind for _, _, kind in wanted)

    def rates(self, kinds: Sequence[str] = TYPES) -> tuple[float, float, float]:
        """Precision, recall and their harmonic mean over these types together."""
        true = sum(self.true[kind] for kind in kinds)
        precision = true / max(1, sum(self.predicted[kind] for kind in kinds))
        recall = true / max(1, sum(self.labelled[kind] for kind in kinds))
        return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def report(texts: Sequence[Labelled], models_dir: Path) -> str:
    """Tables of precision, recall and F1, as written and in lower case."""
    lowered = [text.lowered() for text in texts]
    written, lower = _served(texts, models_dir), _served(lowered, models_dir)
    alone = [_count(_alone(each, models_dir / by_role("tagger").name), each) for each in (texts, lowered)]
    lines = [
        "| type | labelled | precision | recall | F1 | precision, lower case | recall, lower case | F1, lower case |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in TYPES:
        figures = (*written.rates([kind]), *lower.rates([kind]))
        lines.append(_line(kind, written.labelled[kind], figures))
    total = sum(written.labelled.values())
    lines.append(_line("all", total, (*written.rates(), *lower.rates())))
    lines.append(_line("all, recogniser alone", total, (*alone[0].rates(), *alone[1].rates())))
    return "\n".join(lines)


def _line(name: str, labelled: int, figures: Sequence[float]) -> str:
    return f"| {name} | {labelled} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |"


def _served(texts: Sequence[Labelled], models_dir: Path) -> Counts:
    """What `seedbed extract` finds: the code of the command, on a file of messages."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "messages.jsonl"), Path(folder, "found.jsonl")
        with source.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps({"role": "user", "content": text.text}) + "\n" for text in texts)
        extract_file(models_dir, source, out, Console(stderr=True))
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return _count(([(e["start"], e["end"], e["type"]) for e in row["entities"]] for row in rows), texts)


def _alone(texts: Sequence[Labelled], model_dir: Path) -> Iterator[list[Span]]:
    nlp = pipeline(str(model_dir))
    for doc in nlp.pipe([text.text for text in texts], batch_size=64):
        yield [(e.start_char, e.end_char, ONTONOTES[e.label_]) for e in doc.ents if e.label_ in ONTONOTES]


def _count(found: Iterable[Iterable[Span]], texts: Sequence[Labelled]) -> Counts:
    counts = Counts()
    for spans, text in zip(found, texts, strict=True):
        counts.add(spans, text.names)
    return counts
