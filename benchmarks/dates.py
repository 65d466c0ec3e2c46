"""``python -m benchmarks.dates DateTimeModel.json``: how many times of a public specification are resolved right.

The file is the English one of Microsoft's Recognizers-Text (MIT): sentences with
a reference time and the days that their expressions mean. Read are days and
ranges of days without a clock time, whose sentence names one of them; right is
an interval that equals one of the readings which the specification allows.
"Around" is a wider one that holds it: "two years ago" is the day to the
specification, and the year to `dates`. Shown are all cases, and those in words
that chat uses, without codes and figures such as "2019-H2" and "5/12".
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seedbed_server.models.dates import Interval, times

KINDS = ("datetimeV2.date", "datetimeV2.daterange")
EDGES = ("since", "until", "before", "after", "from", "between", "by")
"""Words of expressions that are about one side of a time: those are read by the clause, not by the grammar of times."""


CHAT = re.compile(
    r"(?:the|a|an|of|on|in|last|this|next|past|previous|coming|ago|from|now|time|couple|few|and"
    r"|day|week|month|year|weekend|yesterday|today|tomorrow|before|after|night"
    r"|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|jan\w*|feb\w*|mar(?:ch)?|apr\w*|may|june?|july?|aug\w*|sept?\w*|oct\w*|nov\w*|dec\w*"
    r"|\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d|one|two|three|four|five|six|seven|eight|nine|ten|[s,' ])+"
)
"""Expressions of words that chat uses; a plural "s" is a word of its own."""


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence, its reference time, and the intervals that its one expression may mean; ``chat``: in chat's words."""

    text: str
    chat: bool
    reference: datetime
    kind: str
    meant: tuple[Interval, ...]


def cases(rows: Sequence[Mapping[str, Any]]) -> Iterator[Case]:
    """Those rows of the specification that name one day or range of days."""
    for row in rows:
        found: list[Any] = row.get("Results") or []
        reference = (row.get("Context") or {}).get("ReferenceDateTime")
        if len(found) != 1 or not reference or found[0].get("TypeName") not in KINDS:
            continue
        if any(word in found[0]["Text"].lower().split() for word in EDGES):
            continue
        values = found[0].get("Resolution", {}).get("values", ())
        if not any("Mod" in value for value in values) and (meant := tuple(_meant(values))):
            at = datetime.fromisoformat(reference).replace(tzinfo=UTC)
            chat = CHAT.fullmatch(found[0]["Text"].lower()) is not None
            yield Case(row["Input"], chat, at, found[0]["TypeName"].split(".")[1], meant)


def _meant(values: Sequence[Mapping[str, str]]) -> Iterator[Interval]:
    for value in values:
        try:
            if "value" in value:
                day = datetime.fromisoformat(value["value"]).replace(tzinfo=UTC)
                yield day, day + timedelta(1)
            elif "start" in value and "end" in value:
                begin, end = (datetime.fromisoformat(value[side]).replace(tzinfo=UTC) for side in ("start", "end"))
                yield begin, end
        except ValueError:
            continue


def verdict(case: Case) -> str:
    """What became of a case: "right", "around", "wrong" or "missed"."""
    found = [
        interval
        for time in times(case.text)
        for ahead in (False, True)
        if (interval := time.interval(case.reference, ahead=ahead)) is not None
    ]
    if not found:
        return "missed"
    if any(interval in case.meant for interval in found):
        return "right"
    if any(begin <= start and stop <= end for begin, end in found for start, stop in case.meant):
        return "around"
    return "wrong"


def figures(read: Sequence[Case]) -> Iterator[str]:
    """Lines of figures, by kind."""
    yield f"{'':17}{'cases':>7}{'right':>8}{'around':>8}{'wrong':>8}{'missed':>8}"
    for kind, chat in (("date", False), ("daterange", False), ("date", True), ("daterange", True)):
        counts = Counter(verdict(case) for case in read if case.kind == kind and (case.chat or not chat))
        total = max(counts.total(), 1)
        shares = "".join(f"{counts[name] / total:8.1%}" for name in ("right", "around", "wrong", "missed"))
        yield f"{kind + (' (chat)' if chat else ''):17}{counts.total():7}{shares}"


def main() -> None:
    """Read, resolve, print; with --show, the cases that are not right."""
    parser = argparse.ArgumentParser(prog="benchmarks.dates", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--show", action="store_true", help="print what is not resolved right")
    arguments = parser.parse_args()
    read = list(cases(json.loads(arguments.path.read_text(encoding="utf-8-sig"))))
    print("\n".join(figures(read)))
    for case in read if arguments.show else ():
        if (result := verdict(case)) != "right":
            meant = " or ".join(f"{begin:%Y-%m-%d}..{end:%Y-%m-%d}" for begin, end in case.meant)
            print(f"{result:7}{'chat ' if case.chat else '     '}{case.text} ({case.reference:%Y-%m-%d}) {meant}")


if __name__ == "__main__":
    main()
