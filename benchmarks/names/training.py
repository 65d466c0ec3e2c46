"""Trains the weights of the labeller on texts with labelled names, each as written and in lower case.

What is trained is what `Labeller` computes: small networks over frozen features,
and the transitions between labels. The likelihood is that of a linear-chain
conditional random field; names are rarer than they matter, so a reward for the
beginning of a name is added to the transitions in the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from spacy.language import Language
from torch import Tensor, nn

from benchmarks.names.conll import Labelled
from seedbed_server.models.features import Features, Floats, Seen
from seedbed_server.models.labeller import REACH, TAGS, allowed

COMPONENTS = 64
INNER, OUTER = 96, 128
TAG_WIDTH, LABEL_WIDTH = 12, 16
DROPOUT = 0.4
EPOCHS = 12
BATCH = 64
RATE = 2e-3
NETWORKS = 2
REWARD = 1.0
"""Log-odds added to the beginning of a name: the best on a held-out fifth of the training texts."""

_NUMBERS = {tag: i for i, tag in enumerate(TAGS)}


@dataclass(frozen=True, slots=True)
class Example:
    """One text: what is seen of its tokens, and their labels, (tokens,)."""

    seen: Seen
    labels: Tensor


class Network(nn.Module):
    """The same function as in `labeller`, on padded batches, with what training adds to it."""

    def __init__(self, width: int, tags: int, labels: int) -> None:
        super().__init__()
        self.tags = nn.Embedding(tags, TAG_WIDTH)
        self.labels = nn.Embedding(labels, LABEL_WIDTH)
        self.inner = nn.Linear(width + TAG_WIDTH + LABEL_WIDTH, INNER)
        self.outer = nn.Linear(INNER * (2 * REACH + 1), OUTER)
        self.scores = nn.Linear(OUTER, len(TAGS))
        self.after = nn.Parameter(torch.zeros(len(TAGS), len(TAGS)))
        self.first = nn.Parameter(torch.zeros(len(TAGS)))
        self.drop = nn.Dropout(DROPOUT)
        after, first = allowed()
        self.register_buffer("allowed_after", torch.from_numpy(after))
        self.register_buffer("allowed_first", torch.from_numpy(first))

    def loss(self, numbers: Tensor, tags: Tensor, labels: Tensor, right: Tensor, mask: Tensor) -> Tensor:
        """The mean negative log-likelihood per token of the ``right`` labels; all arguments are (texts, tokens, …)."""
        known = torch.cat([numbers, self.tags(tags), self.labels(labels)], -1)
        inner = torch.relu(self.inner(self.drop(known))) * mask[..., None]
        around = nn.functional.pad(self.drop(inner), (0, 0, REACH, REACH))
        window = torch.cat([around[:, i : i + mask.shape[1]] for i in range(2 * REACH + 1)], -1)
        scores = self.scores(self.drop(torch.relu(self.outer(window))))
        return self._loss(scores, right, mask)

    def _loss(self, scores: Tensor, right: Tensor, mask: Tensor) -> Tensor:
        after = self.after + self.get_buffer("allowed_after")
        every = scores[:, 0] + self.first + self.get_buffer("allowed_first")
        one = every.gather(1, right[:, :1])[:, 0]
        for at in range(1, scores.shape[1]):
            going = mask[:, at]
            every = torch.where(going[:, None], torch.logsumexp(every[:, :, None] + after, 1) + scores[:, at], every)
            step = scores[:, at].gather(1, right[:, at : at + 1])[:, 0] + after[right[:, at - 1], right[:, at]]
            one = one + step * going
        return (torch.logsumexp(every, 1) - one).sum() / mask.sum()


def train(
    nlp: Language, texts: Sequence[Labelled], out: Path, *, networks: int = NETWORKS, epochs: int = EPOCHS
) -> None:
    """Train on ``texts`` and write the weights to ``out``, in half precision. The same texts give the same."""
    both = [*texts, *(text.lowered() for text in texts)]
    centre, projection = _components(nlp, both)
    features = Features(nlp, centre, projection)
    examples = list(_examples(nlp, features, both))
    trained = [_train_one(features, examples, seed, epochs) for seed in range(networks)]
    weights: dict[str, Floats] = {"centre": centre, "projection": projection, "networks": np.array([networks])}
    for i, network in enumerate(trained):
        for name, value in network.state_dict().items():
            if name.startswith(("tags", "labels", "inner", "outer", "scores")):
                plain = name.removesuffix(".weight").replace(".bias", "_bias")
                is_matrix = value.ndim == 2 and not name.startswith(("tags", "labels"))
                weights[f"{i}.{plain}"] = (value.mT if is_matrix else value).numpy()
    begins = np.array([REWARD * tag.startswith("B") for tag in TAGS])
    weights["after"] = np.mean([network.after.detach().numpy() for network in trained], 0) + begins
    weights["first"] = np.mean([network.first.detach().numpy() for network in trained], 0) + begins
    save_file({name: np.ascontiguousarray(value, np.float16) for name, value in weights.items()}, out)


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
        yield Example(features.of([doc]), torch.tensor([_NUMBERS[label] for label in labels]))


def _train_one(features: Features, examples: Sequence[Example], seed: int, epochs: int) -> Network:
    torch.manual_seed(seed)
    order = random.Random(seed)
    network = Network(examples[0].seen.numbers.shape[1], features.tags, features.labels)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-2)
    steps = epochs * -(-len(examples) // BATCH) + epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    network.train()
    for epoch in range(epochs):
        total = 0.0
        batches = list(_batches(examples, order))
        for batch in batches:
            loss = network.loss(*_padded(batch))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        print(f"network {seed}, epoch {epoch + 1} of {epochs}: loss {total / len(batches):.4f}", flush=True)
    return network.eval()


def _batches(examples: Sequence[Example], order: random.Random) -> Iterator[list[Example]]:
    """All examples once, in batches of texts of like length, in a new order."""
    mixed = order.sample(list(examples), len(examples))
    mixed.sort(key=lambda example: len(example.labels) + order.random() * 5)
    batches = [mixed[i : i + BATCH] for i in range(0, len(mixed), BATCH)]
    order.shuffle(batches)
    yield from batches


def _padded(batch: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Numbers, tags, labels, right labels and mask, each (texts, tokens, …)."""
    seen = [example.seen for example in batch]
    columns = (
        [torch.from_numpy(one.numbers) for one in seen],
        [torch.from_numpy(one.tags) for one in seen],
        [torch.from_numpy(one.labels) for one in seen],
        [example.labels for example in batch],
        [torch.ones(len(example.labels), dtype=torch.bool) for example in batch],
    )
    numbers, tags, labels, right, mask = (nn.utils.rnn.pad_sequence(column, batch_first=True) for column in columns)
    return numbers, tags, labels, right, mask
