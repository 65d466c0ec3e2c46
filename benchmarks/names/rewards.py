"""How much surer the labeller is to be: names are rarer in its training than they matter.

A reward for beginning a name of a type is added to the transitions. It is chosen by
the texts that a network was not trained on, so that neither those it was trained on
nor those of a benchmark decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from seedbed_server.models.features import Floats
from seedbed_server.models.labeller import TAGS, TYPES, Found, allowed, best_paths, runs

LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Log-odds for all types, the first step."""

STEPS = (-0.5, 0.5)
"""What is tried for each type by itself, from there."""

Rewards = dict[str, float]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Texts that a network was not trained on: its scores and transitions, and the right names of each text."""

    scores: Floats
    lengths: list[int]
    after: Floats
    first: Floats
    names: list[set[Found]]


def choose(held_out: Sequence[HeldOut]) -> Rewards:
    """The rewards with the best F1 over all types, first one for all, then each type's."""
    best = max((dict.fromkeys(TYPES, level) for level in LEVELS), key=lambda tried: _f1(held_out, tried))
    for kind in TYPES:
        ways = [best, *({**best, kind: best[kind] + step} for step in STEPS)]
        best = max(ways, key=lambda tried: _f1(held_out, tried))
    return best


def row(rewards: Rewards) -> Floats:
    """What is added to the score of each label, (labels,)."""
    return np.array([rewards[tag[2:]] if tag.startswith("B") else 0.0 for tag in TAGS], np.float32)


def rates(held_out: Sequence[HeldOut], rewards: Rewards) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of each type, and of all together."""
    true: Counter[str] = Counter()
    said: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for found, names in _found(held_out, rewards):
        for counts, those in ((true, found & names), (said, found), (right, names)):
            counts.update(kind for _, _, kind in those)
            counts["all"] += len(those)
    out = {}
    for kind in (*TYPES, "all"):
        precision, recall = true[kind] / max(1, said[kind]), true[kind] / max(1, right[kind])
        out[kind] = precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)
    return out


def _f1(held_out: Sequence[HeldOut], rewards: Rewards) -> float:
    return rates(held_out, rewards)["all"][2]


def _found(held_out: Sequence[HeldOut], rewards: Rewards) -> Iterator[tuple[set[Found], set[Found]]]:
    after, first = (each + row(rewards) for each in allowed())
    for part in held_out:
        bounds = list(pairwise(accumulate(part.lengths, initial=0)))
        # Texts of like length together: what is padded costs as much as what is not.
        order = sorted(range(len(bounds)), key=part.lengths.__getitem__)
        for some in (order[i : i + 256] for i in range(0, len(order), 256)):
            scores = np.concatenate([part.scores[bounds[i][0] : bounds[i][1]] for i in some])
            lengths = [part.lengths[i] for i in some]
            paths = best_paths(scores, lengths, part.after + after, part.first + first)
            for i, path in zip(some, paths, strict=True):
                yield set(runs(path)), part.names[i]
