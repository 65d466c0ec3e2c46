"""``python -m benchmarks.gold dev|heldout``: how right the triples are that the product's own extractor reads.

The messages, their triples and the rules are in tests/gold. Of the half that is
held out, nothing but figures is printed: whoever works on the extractor must
not learn it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from benchmarks.matching import Gold, Judged, Statement, Verdict, judge, lenient
from seedbed_server.app.settings import load, models_dir
from seedbed_server.models.contract import Extraction, Turn
from seedbed_server.models.tagger import Tagger

FOLDER = Path(__file__).parents[1] / "tests" / "gold"
HALVES = ("dev", "heldout")
SHOWN = "dev"  # the only half whose messages may be printed
STARTING = 120.0  # seconds that the tagger may take to load


class Reader(Protocol):
    """What is measured: the tagger, or whatever else reads turns."""

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        """One extraction a turn, in order; None for a turn that could not be read."""
        ...


@dataclass(frozen=True, slots=True)
class Example:
    """A gold message as the tagger reads it, and what it should find there."""

    id: str
    kind: str
    turn: Turn
    gold: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """An example, the claims that were extracted from it, and both judgements."""

    example: Example
    claims: tuple[Statement, ...]
    strict: Judged
    lenient: Judged


def examples(half: str) -> list[Example]:
    """One half of the gold set, in the order of its file. Raises KeyError or ValueError when the file is malformed."""
    lines = (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_example(line) for line in lines]


def _example(line: str) -> Example:
    row = json.loads(line)
    turn = Turn(row["content"], row["name"], row["to"], datetime.fromisoformat(row["time"]))
    return Example(row["id"], row["kind"], turn, tuple(Gold.read(triple) for triple in row["triples"]))


async def extracted(reader: Reader, read: Sequence[Example]) -> list[Result]:
    """What the reader, which must be ready, claims of each; of a message that it cannot read, nothing."""
    found = await reader.extract([example.turn for example in read])
    return [
        result(
            example,
            tuple(
                Statement(claim.subject, claim.predicate, claim.object, claim.negated, claim.modality)
                for claim in (extraction.claims if extraction else ())
            ),
        )
        for example, extraction in zip(read, found, strict=True)
    ]


def result(example: Example, claims: tuple[Statement, ...]) -> Result:
    """The example with claims about it, judged."""
    return Result(example, claims, judge(claims, example.gold), judge(claims, example.gold, lenient))


def figures(results: Sequence[Result]) -> Iterator[str]:
    """Lines of figures only: no word of a message, a claim or a triple is in them."""
    yield f"{'':16}{'messages':>9}{'asked':>7}{'found':>7}{'right':>7}{'wrong':>7}{'P':>8}{'R':>8}{'F1':>8}"
    yield _row("all, strict", len(results), _sum(result.strict for result in results))
    yield _row("all, lenient", len(results), _sum(result.lenient for result in results))
    for kind in dict.fromkeys(result.example.kind for result in results):
        of_kind = [result for result in results if result.example.kind == kind]
        yield _row(kind, len(of_kind), _sum(result.strict for result in of_kind))
    total = _sum(result.strict for result in results)
    silent = [result for result in results if all(triple.optional for triple in result.example.gold)]
    broken = sum(bool(result.strict.wrong) for result in silent)
    pronouns = sum(claim.pronouns() for result in results for claim in result.claims)
    yield f"right claims in a modality that the gold allows: {total.agreeing} of {total.right}"
    yield f"messages without a fact to find that got a wrong claim: {broken} of {len(silent)}"
    yield f"pronoun nodes (must be 0): {pronouns}"


def mistakes(results: Sequence[Result]) -> Iterator[str]:
    """Every message that is not all right: what was missed, and what was claimed wrongly."""
    for result in results:
        example, judged = result.example, result.strict
        if judged.missed or judged.wrong:
            yield f"\n{example.id} {example.kind}: {example.turn.speaker}: {example.turn.text}"
            yield from (f"  missed {_shown(triple.ways[0])}" for triple in judged.missed)
            yield from (f"  wrong  {_shown(claim)}" for claim in judged.wrong)


def _sum(judged: Iterator[Judged]) -> Verdict:
    return sum((each.verdict for each in judged), Verdict())


def _row(name: str, messages: int, of: Verdict) -> str:
    shares = "".join(f"{'–' if share is None else f'{share:.1%}':>8}" for share in (of.precision, of.recall, of.f1))
    return f"{name:16}{messages:9}{of.asked:7}{of.found:7}{of.right:7}{of.wrong:7}{shares}"


def _shown(said: Statement) -> str:
    no = "not " if said.negated else ""
    modality = "" if said.modality == "asserted" else f" [{said.modality}]"
    return f"({said.subject} | {no}{said.predicate} | {said.object}){modality}"


async def _extracted(half: str) -> list[Result]:
    tagger = Tagger(models_dir(load()))
    await tagger.child.start()
    try:
        await tagger.child.wait_ready(STARTING)
        return await extracted(tagger, examples(half))
    finally:
        await tagger.child.stop()


def main() -> None:
    """Extract, judge, print; the mistakes of one half only."""
    parser = argparse.ArgumentParser(prog="benchmarks.gold", description=__doc__)
    parser.add_argument("half", choices=HALVES)
    half = parser.parse_args().half
    results = asyncio.run(_extracted(half))
    print("\n".join(figures(results)))
    if half == SHOWN:
        print("\n".join(mistakes(results)))


if __name__ == "__main__":
    main()
