"""``python -m benchmarks.names``: train the labeller, score names on files of labelled tokens, or time the reading."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.names.conll import read
from seedbed_server.app.settings import load, models_dir
from seedbed_server.models.manifest import by_role

PAGE = Path(__file__).parents[2] / "docs" / "names.md"


def main() -> int:
    """Run one of the three."""
    chosen = _arguments().parse_args()
    root = models_dir(load())
    model = root / by_role("tagger").name
    if chosen.verb == "train":
        from benchmarks.names.training import train
        from seedbed_server.models.tagger_worker import pipeline

        figures = train(pipeline(str(model)), read(chosen.labelled), chosen.weights)
    elif chosen.verb == "score":
        from benchmarks.names.scoring import report as scored

        figures = scored(read(chosen.labelled), root)
    else:
        from benchmarks.names.speed import report as timed

        figures = timed(model, chosen.against)
    print(figures)
    if chosen.verb == "score" and chosen.write:
        _write(figures)
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.names", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="train the labeller's weights")
    train.add_argument("labelled", type=Path, help="tokens and labels in columns")
    train.add_argument("weights", type=Path, help="where they go")
    score = verbs.add_parser("score", help="score the names that are found")
    score.add_argument("labelled", type=Path, help="tokens and labels in columns, not those of the training")
    speed = verbs.add_parser("speed", help="processor time of a message, names and claims")
    speed.add_argument("against", help="the commit whose code it is compared with")
    score.add_argument("--write", action="store_true", help="put the figures into docs/names.md")
    return parser


def _write(figures: str) -> None:
    """Replaces what stands between the page's two marks."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- score -->\n")
    _, end, tail = rest.partition("<!-- end of score -->")
    PAGE.write_text(f"{head}{begin}{figures}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
