"""The labeller: its decoding against an exhaustive search, its window against a plain one, and its weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.models import weights
from seedbed_server.models.labeller import REACH, TAGS, TYPES, _window, allowed, best_paths, runs
from seedbed_server.models.manifest import ModelFile, labeller
from seedbed_server.models.tagger_worker import TaggerWorker

from .conftest import Read

LENGTHS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(st.integers(0, 999), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_the_best_sequence_is_the_best_of_all(seed: int, lengths: list[int]) -> None:
    """For every text of a batch, whatever the lengths of the others, no sequence of labels scores higher."""
    random = np.random.default_rng(seed)
    after, first = (random.normal(size=each.shape).astype(np.float32) + each for each in allowed())
    scores = random.normal(size=(sum(lengths), len(TAGS))).astype(np.float32)
    start = 0
    for path, length in zip(best_paths(scores, lengths, after, first), lengths, strict=True):
        rows = scores[start : start + length]
        start += length

        def score(way: tuple[int, ...], rows: np.ndarray = rows) -> float:
            steps = sum(float(after[a, b]) for a, b in itertools.pairwise(way))
            return float(first[way[0]]) + steps + sum(float(rows[i, tag]) for i, tag in enumerate(way))

        best = max(score(way) for way in itertools.product(range(len(TAGS)), repeat=length))
        assert score(tuple(path)) == pytest.approx(best, abs=1e-4)


@given(LENGTHS, st.integers(1, 3))
def test_a_window_stays_within_its_text(lengths: list[int], width: int) -> None:
    """Each row stands between its neighbours of the same text, and zeros stand for those that there are not."""
    rows = np.arange(1, sum(lengths) * width + 1, dtype=np.float32).reshape(-1, width)
    expected = []
    for start, length in zip(np.cumsum([0, *lengths]), lengths, strict=False):
        for i in range(length):
            near = [rows[start + j] if 0 <= j < length else np.zeros(width) for j in range(i - REACH, i + REACH + 1)]
            expected.append(np.concatenate(near))
    assert np.array_equal(_window(rows, lengths), np.array(expected))


@given(st.lists(st.sampled_from(range(len(TAGS))), max_size=8))
def test_names_are_runs_of_labels(path: list[int]) -> None:
    """Names stand in order and apart; every beginning is in one; all types are known."""
    found = list(runs(path))
    assert all(a[1] < b[0] for a, b in itertools.pairwise(found))
    assert all(kind in TYPES and TAGS[path[first]][2:] == kind for first, _, kind in found)
    covered = {i for first, last, _ in found for i in range(first, last + 1)}
    assert covered == {i for i, tag in enumerate(path) if TAGS[tag] != "O"}


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file in the package is the manifest's; another sha256 is refused."""
    assert weights.labeller_file().stat().st_size == labeller().size
    file = labeller()
    monkeypatch.setattr(weights, "labeller", lambda: ModelFile(file.path, file.size, "0" * 64))
    with pytest.raises(weights.WeightsError, match=r"names\.safetensors is altered"):
        weights.labeller_file()


def test_docs_without_tokens_name_nothing(worker: TaggerWorker) -> None:
    """An empty doc among others gives no names and hurts none."""
    docs = list(worker._nlp.pipe(["", "Maya lives in Porto.", ""]))
    first, _, last = worker._labeller.of(docs)
    assert (first, last) == ([], [])
    assert worker._labeller.of([]) == []


@pytest.mark.parametrize("text", ["i told sam about it", "SAM was there", "Did Sam call?"])
def test_who_takes_part_is_found_however_written(read: Read, text: str) -> None:
    """The name of somebody who is there is found in lower case and in capitals."""
    (span,) = (span for span in read(text, speaker="Maya", listener="Sam").entities if span.type == "person")
    assert span.text.casefold() == "sam"


def test_a_verb_is_no_name_because_somebody_is_called_so(read: Read) -> None:
    """Will is there, and "will" is still a verb."""
    assert read("i will do it", speaker="Will").entities == ()
