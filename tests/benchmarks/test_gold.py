"""The gold files are well formed, and what is printed of the half that is held out tells nothing of it.

Failures name messages by id only: whoever works on the extractor may read them.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from benchmarks import gold
from benchmarks.matching import Statement
from seedbed_server.models.contract import MODALITIES, Claim, Extraction, Turn

FIELDS = {"id", "role", "name", "to", "content", "time", "triples", "kind"}
SAID = {"subject", "predicate", "object", "negated", "modality"}
DATED = SAID | {"valid_from", "valid_to"}


def _rows(half: str) -> list[dict[str, Any]]:
    lines = (gold.FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _well_said(way: dict[str, Any]) -> bool:
    texts = (way["subject"], way["predicate"], way["object"])
    return (
        all(text and text == text.strip() for text in texts)
        and isinstance(way["negated"], bool)
        and way["modality"] in {"", *MODALITIES} - {"asserted"}
        and not Statement.read(way).pronouns()
    )


def _dates_in_order(triple: dict[str, Any]) -> bool:
    dates = [date.fromisoformat(triple[field]) for field in ("valid_from", "valid_to") if triple[field]]
    return dates == sorted(dates)


def _well_formed(row: dict[str, Any]) -> bool:
    ways = [way for triple in row["triples"] for way in (triple, *triple.get("or", ()))]
    return (
        row.keys() == FIELDS
        and row["role"] in {"user", "assistant"}
        and all(row[field] for field in ("name", "content", "kind"))
        and datetime.fromisoformat(row["time"]).utcoffset() is not None
        and all(DATED <= triple.keys() <= DATED | {"or", "optional"} for triple in row["triples"])
        and all(way.keys() == SAID for triple in row["triples"] for way in triple.get("or", ()))
        and all(triple.get("optional", True) is True and triple.get("or") != [] for triple in row["triples"])
        and all(map(_well_said, ways))
        and all(map(_dates_in_order, row["triples"]))
    )


@pytest.mark.parametrize("half", gold.HALVES)
def test_every_line_is_well_formed(half: str) -> None:
    rows = _rows(half)
    assert [row["id"] for row in rows if not _well_formed(row)] == []
    assert [row["id"] for row in rows] == [f"{half}-{number:03d}" for number in range(1, len(rows) + 1)]


@pytest.mark.parametrize("half", gold.HALVES)
def test_no_triple_of_a_message_is_asked_for_twice(half: str) -> None:
    """One claim must not be able to find two triples."""
    doubled = []
    for example in gold.examples(half):
        ways = [{way.normal() for way in triple.ways} for triple in example.gold if not triple.optional]
        if len(set().union(*ways)) != sum(map(len, ways)):
            doubled.append(example.id)
    assert doubled == []


def test_the_halves_are_alike_and_share_no_message() -> None:
    dev, heldout = map(_rows, gold.HALVES)
    assert Counter(row["kind"] for row in dev) == Counter(row["kind"] for row in heldout)
    in_both = len({row["content"] for row in dev} & {row["content"] for row in heldout})
    assert in_both == 0


@pytest.mark.parametrize("half", gold.HALVES)
def test_about_a_third_of_the_messages_have_no_fact_to_find(half: str) -> None:
    """Small talk, advice, questions, what is imagined or ironic: precision is tested on these."""
    examples = gold.examples(half)
    silent = sum(all(triple.optional for triple in example.gold) for example in examples)
    assert 0.2 <= silent / len(examples) <= 0.4


def _example() -> gold.Example:
    row = {
        "id": "x-001", "kind": "places", "content": "Quokkas! I live in Wollongong.", "name": "Zebedee", "to": "",
        "time": "2026-01-01T00:00:00+00:00",
        "triples": [{"subject": "Zebedee", "predicate": "live in", "object": "Wollongong", "negated": False,
                     "modality": "", "valid_from": None, "valid_to": None}],
    }  # fmt: skip
    return gold._example(json.dumps(row))


class _Scripted:
    """A tagger that answers every message as it was told to."""

    def __init__(self, *answers: Extraction | None) -> None:
        self.answers = list(answers)
        self.turns: list[Turn] = []

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        self.turns += turns
        return self.answers


async def test_what_the_tagger_says_is_judged_message_by_message() -> None:
    """Also of a message that it could not read, of which it says nothing."""
    claim = Claim("Zebedee", "live in", "Wollongong", negated=False, modality="asserted", surface="live")
    tagger = _Scripted(Extraction((), (claim,)), None)
    read, unread = await gold.extracted(tagger, [_example(), _example()])
    assert (read.strict.verdict.found, read.strict.verdict.agreeing) == (1, 1)
    assert (unread.claims, unread.strict.verdict.found) == ((), 0)
    assert tagger.turns[0] == Turn("Quokkas! I live in Wollongong.", "Zebedee", "", datetime(2026, 1, 1, tzinfo=UTC))


SECRETS = ("Quokkas", "Wollongong", "Zebedee", "Atlantis", "x-001")


def test_figures_hold_no_word_of_what_was_read() -> None:
    results = [gold.result(_example(), (Statement("Zebedee", "dwell in", "Atlantis"), Statement("he", "like", "it")))]
    text = "\n".join(gold.figures(results))
    assert not any(secret in text for secret in SECRETS)
    assert "pronoun nodes (must be 0): 2" in text


def test_mistakes_show_what_was_missed_and_what_was_wrong() -> None:
    wrong = Statement("Zebedee", "dwell in", "Atlantis", negated=True, modality="planned")
    text = "\n".join(gold.mistakes([gold.result(_example(), (wrong,))]))
    assert "missed (Zebedee | live in | Wollongong)" in text
    assert "wrong  (Zebedee | not dwell in | Atlantis) [planned]" in text


def test_what_is_all_right_is_not_among_the_mistakes() -> None:
    assert list(gold.mistakes([gold.result(_example(), (Statement("Zebedee", "live in", "Wollongong"),))])) == []


@pytest.mark.parametrize(("half", "shown"), [("dev", True), ("heldout", False)])
def test_only_the_mistakes_of_dev_are_printed(
    half: str, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def extracted(_: str) -> list[gold.Result]:
        await asyncio.sleep(0)
        return [gold.result(_example(), (Statement("Zebedee", "dwell in", "Atlantis"),))]

    monkeypatch.setattr(gold, "_extracted", extracted)
    monkeypatch.setattr("sys.argv", ["gold", half])
    gold.main()
    printed = capsys.readouterr().out
    assert [secret in printed for secret in SECRETS] == [shown] * len(SECRETS)
