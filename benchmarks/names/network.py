"""The labeller's networks as they are trained: in torch, on padded batches, with the likelihood of right labels."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seedbed_server.models.features import Features, Floats, Indices, Seen
from seedbed_server.models.labeller import REACH, TAGS, allowed

INNER, OUTER = 96, 128
TAG_WIDTH, LABEL_WIDTH = 12, 16
DROPOUT = 0.4
EPOCHS = 12
BATCH = 64
RATE = 2e-3


@dataclass(frozen=True, slots=True)
class Example:
    """One text: what is seen of its tokens, and the numbers of their labels, (tokens,)."""

    seen: Seen
    labels: Indices


class Trained(nn.Module):
    """The same function as `labeller.Network`, with what training adds to it."""

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

    def weights(self) -> dict[str, Floats]:
        """What the labeller reads, by its names; matrices as (inputs, outputs)."""
        out: dict[str, Floats] = {}
        for name, value in self.state_dict().items():
            if not name.startswith("allowed"):
                is_matrix = value.ndim == 2 and name.startswith(("inner", "outer", "scores"))
                plain = name.removesuffix(".weight").replace(".bias", "_bias")
                out[plain] = (value.mT if is_matrix else value).numpy()
        return out

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


def train_network(width: int, features: Features, examples: Sequence[Example], seed: int) -> dict[str, Floats]:
    """The weights of one network. On one thread, so that the same arguments give the same."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    order = random.Random(seed)
    network = Trained(width, features.tags, features.labels)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-2)
    steps = EPOCHS * -(-len(examples) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    network.train()
    for epoch in range(EPOCHS):
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
        print(f"network {seed}, epoch {epoch + 1} of {EPOCHS}: loss {total / len(batches):.4f}", flush=True)
    return network.eval().weights()


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
        [torch.from_numpy(example.labels) for example in batch],
        [torch.ones(len(example.labels), dtype=torch.bool) for example in batch],
    )
    numbers, tags, labels, right, mask = (nn.utils.rnn.pad_sequence(column, batch_first=True) for column in columns)
    return numbers, tags, labels, right, mask
