"""Trains the weights of the labeller on texts with labelled names, each as written and in lower case.

What is trained is what `Labeller` computes: small networks over frozen features,
and the transitions between labels. Each network leaves out a fifth of the texts,
another one each; on those it is scored, and the rewards are chosen.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from spacy.language import Language

from benchmarks.names import rewards
from benchmarks.names.conll import Labelled
from benchmarks.names.network import Example, train_network
from benchmarks.names.rewards import HeldOut
from seedbed_server.models.features import Features, Floats, Seen
from seedbed_server.models.labeller import TAGS, Network, runs

COMPONENTS = 64
NETWORKS = 3
FOLDS = 5

_NUMBERS = {tag: i for i, tag in enumerate(TAGS)}


@dataclass(frozen=True, slots=True)
class _Task:
    features: Features
    examples: Sequence[Example]


_task: _Task
"""What a process of the pool works on: inherited by the fork, since it is too large to be sent."""


AVERAGED = {"person": 1.5}
"""Rewards that are not the held-out texts': three networks averaged are less sure of a person than each of them alone.

Seen on the development set, which is no longer one that nobody has looked at: docs/names.md.
"""


def train(nlp: Language, texts: Sequence[Labelled], out: Path) -> str:
    """Train on ``texts`` and write the weights to ``out``, in half precision. The same texts give the same.

    Returns a table of the rates on the texts that the networks did not see.
    """
    both = [*texts, *(text.lowered() for text in texts)]
    centre, projection = _components(nlp, both)
    features = Features(nlp, centre, projection)
    examples = list(_examples(nlp, features, both))
    trained = _train_all(features, examples)
    held_out = [_hold_out(weights, _of_fold(examples, i)) for i, weights in enumerate(trained)]
    chosen = rewards.choose(held_out)
    weights: dict[str, Floats] = {"centre": centre, "projection": projection, "networks": np.array([len(trained)])}
    for i, one in enumerate(trained):
        weights |= {f"{i}.{name}": value for name, value in one.items() if name not in {"after", "first"}}
    for name in ("after", "first"):
        weights[name] = np.mean([one[name] for one in trained], axis=0) + rewards.row(chosen | AVERAGED)
    save_file({name: np.ascontiguousarray(value, np.float16) for name, value in weights.items()}, out)
    return _table(held_out, chosen)


def _components(nlp: Language, texts: Sequence[Labelled]) -> tuple[Floats, Floats]:
    """The mean of the word vectors of the texts' words, and their projection on whitened principal components."""
    words = sorted({token.text for text in texts for token in nlp.make_doc(text.text) if token.has_vector})
    rows: Floats = np.stack([np.asarray(nlp.vocab.get_vector(word), np.float32) for word in words])
    centre = rows.mean(0)
    _, sizes, directions = np.linalg.svd(rows - centre, full_matrices=False)
    deviations = sizes[:COMPONENTS, None] / np.sqrt(len(rows))
    return centre, np.ascontiguousarray((directions[:COMPONENTS] / deviations * 0.7).T, np.float32)


def _examples(nlp: Language, features: Features, texts: Sequence[Labelled]) -> Iterator[Example]:
    for text, doc in zip(texts, nlp.pipe([text.text for text in texts], batch_size=64), strict=True):
        labels = ["O"] * len(doc)
        for start, end, kind in text.names:
            inside = [token.i for token in doc if token.idx >= start and token.idx + len(token) <= end]
            for place, i in enumerate(inside):
                labels[i] = f"{'I' if place else 'B'}-{kind}"
        yield Example(features.of([doc]), np.array([_NUMBERS[label] for label in labels]))


def _train_all(features: Features, examples: Sequence[Example]) -> list[dict[str, Floats]]:
    global _task  # noqa: PLW0603  the only way into a forked process without a copy
    _task = _Task(features, examples)
    with multiprocessing.get_context("fork").Pool(min(NETWORKS, multiprocessing.cpu_count())) as pool:
        return pool.map(_train_one, range(NETWORKS), chunksize=1)


def _train_one(fold: int) -> dict[str, Floats]:
    examples = [example for i, example in enumerate(_task.examples) if _fold(i, _task.examples) != fold]
    return train_network(examples[0].seen.numbers.shape[1], _task.features, examples, fold)


def _fold(i: int, examples: Sequence[Example]) -> int:
    """A text is in the same fold as written and in lower case; the second half of the examples is the lower case."""
    return i % (len(examples) // 2) % FOLDS


def _of_fold(examples: Sequence[Example], fold: int) -> list[Example]:
    return [example for i, example in enumerate(examples) if _fold(i, examples) == fold]


def _hold_out(weights: dict[str, Floats], examples: Sequence[Example]) -> HeldOut:
    """What a network says of the examples that it was not trained on."""
    seen = [example.seen for example in examples]
    together = Seen(
        np.concatenate([one.numbers for one in seen]),
        np.concatenate([one.tags for one in seen]),
        np.concatenate([one.labels for one in seen]),
        [len(example.labels) for example in examples],
    )
    names = [set(runs(example.labels.tolist())) for example in examples]
    scores = Network(weights, "").scores(together)
    return HeldOut(scores, together.lengths, weights["after"], weights["first"], names)


def _table(held_out: Sequence[HeldOut], chosen: rewards.Rewards) -> str:
    lines = ["| type | reward | precision | recall | F1 |", "|---|---|---|---|---|"]
    for kind, figures in rewards.rates(held_out, chosen).items():
        given = f"{chosen[kind]:.1f}" if kind in chosen else ""
        lines.append(f"| {kind} | {given} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")
    return "\n".join(lines)
