"""``python -m benchmarks.names``: train the labeller, or score names, on files of labelled tokens."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.names.conll import read
from seedbed_server.app.settings import load, models_dir
from seedbed_server.models.manifest import by_role

PAGE = Path(__file__).parents[2] / "docs" / "names.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> int:
    """Run one of the two."""
    parser = argparse.ArgumentParser(prog="benchmarks.names", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="train the labeller's weights")
    train.add_argument("labelled", type=Path, help="tokens and labels in columns")
    train.add_argument("weights", type=Path, help="where they go")
    score = verbs.add_parser("score", help="score the names that are found")
    score.add_argument("labelled", type=Path, help="tokens and labels in columns, not those of the training")
    score.add_argument("--write", action="store_true", help="put the figures into docs/names.md")
    chosen = parser.parse_args()
    model = models_dir(load()) / by_role("tagger").name
    texts = read(chosen.labelled)
    if chosen.verb == "train":
        from benchmarks.names.training import train as train_weights
        from seedbed_server.models.tagger_worker import pipeline

        train_weights(pipeline(str(model)), texts, chosen.weights)
        return 0
    from benchmarks.names.scoring import report

    figures = report(texts, model)
    print(figures)
    if chosen.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{figures}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
