"""The child that reads texts with spaCy: names and claims of every turn.

Runs alone in its process, so one reader uses the pipeline at a time. Texts are
read in micro-batches, each in a memory zone of its own, or the pipeline's store
of strings would grow with every new word; nothing of spaCy outlives its batch.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import NumpyOps

from .contract import Claim, Extraction, Span, Turn
from .entities import Names, find_names
from .labeller import Found as Labelled
from .labeller import Labeller, load
from .lemmas import Lemmas
from .lexicon import Lexicon
from .mending import Mended, Mender
from .phrases import Scene
from .reading import Piece, pieces
from .recogniser import Recogniser
from .relations import relations
from .second_look import FirstLook, SecondLook
from .supposing import supposed
from .teaching import taught
from .tokenizing import pass_plain_words
from .trees import quoted_tokens
from .triples import Triples
from .weights import labeller_file

logger = logging.getLogger(__name__)

UNUSED_PIPES = ["senter", "attribute_ruler", "lemmatizer"]
"""Left out: sentences come from the parser, and `Lemmas` reads the lemmatizer's tables on demand."""

BATCH_PIECES = 64
BATCH_CHARACTERS = 8_000
"""A micro-batch ends at either: about 0.4 s, the longest that an urgent request waits. Smaller ones are slower."""

CLAIMS_LIMIT = 500
"""Claims of one turn that are kept."""


@dataclass(slots=True)
class _Read:
    """What has been read of one turn so far."""

    turn: Turn
    entities: list[Span] = field(default_factory=list)
    claims: dict[tuple[str, str, str, bool], Claim] = field(default_factory=dict)
    supposed: list[Span] = field(default_factory=list)
    supposing: list[Claim] = field(default_factory=list)
    failed: bool = False


@dataclass(slots=True)
class _Found:
    """What one piece of a turn names and says; a piece of somebody else's words has no ``look``."""

    spans: list[Span]
    look: FirstLook | None = None
    supposed: list[Span] = field(default_factory=list)
    supposing: list[Claim] = field(default_factory=list)


class TaggerWorker:
    """Operations of the child process "tagger"."""

    def __init__(self, nlp: Language, labeller: Labeller) -> None:
        self._nlp = nlp
        self._recogniser = Recogniser(nlp)
        self._labeller = labeller
        self._mender = Mender(Lexicon(nlp))
        self._triples = Triples(Lemmas(nlp))
        self._second_look = SecondLook(nlp, self._triples)

    def extract(self, turns: Sequence[Mapping[str, Any]]) -> Generator[None, None, list[dict[str, Any] | None]]:
        """Reads turns (`Turn.to_wire`) into `Extraction.to_wire`, in order; None for one that cannot be read.

        Yields between micro-batches, so that something more urgent may go first.
        """
        reads = [_accept(wire) for wire in turns]
        for batch in _batches(reads):
            self._read(batch)
            yield
        return [_result(read) for read in reads]

    def _read(self, batch: list[tuple[_Read, Piece]]) -> None:
        """Reads one micro-batch; if the pipeline fails on it, piece by piece."""
        try:
            found = self._parse(batch)
        except Exception:  # noqa: BLE001  one text must never cost the others; which error says nothing
            logger.warning("tagger: batch failed, reading its texts one by one")
            found = [self._parse_alone(each) for each in batch]
        for (read, _), result in zip(batch, found, strict=True):
            if result is None:
                read.failed = True
                continue
            read.entities.extend(result.spans)
            read.supposed.extend(result.supposed)
            read.supposing.extend(result.supposing)
            for claim in result.look.claims if result.look else ():
                read.claims.setdefault((claim.subject, claim.predicate, claim.object, claim.negated), claim)

    def _parse_alone(self, each: tuple[_Read, Piece]) -> _Found | None:
        try:
            return self._parse([each])[0]
        except Exception:  # noqa: BLE001  counted as skipped by the caller
            logger.warning("tagger: text skipped")
            return None

    def _parse(self, batch: list[tuple[_Read, Piece]]) -> list[_Found | None]:
        with self._nlp.memory_zone():
            mended = [self._mender.mend(piece.text, read.turn.persons) for read, piece in batch]
            texts = [each.text for each in mended]
            docs = list(self._nlp.pipe(texts, batch_size=len(batch), disable=["ner"]))
            self._recogniser.mark(docs)
            labelled = self._labeller.of(docs)
            found = [
                self._understand(read.turn, piece, text, doc, names)
                for (read, piece), text, doc, names in zip(batch, mended, docs, labelled, strict=True)
            ]
            looked = [each for each in found if each.look]
            again = self._second_look.claims([each.look for each in looked if each.look])
            for each, claims in zip(looked, again, strict=True):
                each.supposing = claims
            return [*found]

    def _understand(self, turn: Turn, piece: Piece, mended: Mended, doc: Doc, labelled: Sequence[Labelled]) -> _Found:
        related = relations(doc)
        names = find_names(doc, mended.text, turn.persons, related, labelled)
        if not piece.said:
            return _Found(_placed(names, mended, piece.start))
        quoted = quoted_tokens(doc, mended.text)
        scene = Scene(doc, names, turn.speaker, turn.listener, quoted, related, turn.time)
        may_be = supposed(doc, names)
        names, claims = taught(names, self._triples.of(scene), turn.persons)
        look = FirstLook(scene, claims, may_be)
        spans = _placed(names, mended, piece.start)
        return _Found(spans, look, _placed(Names(doc, may_be), mended, piece.start) if may_be else [])


def create(settings: Mapping[str, Any]) -> TaggerWorker:
    """Loads the pipeline from ``settings["model_dir"]``, an absolute path.

    Raises KeyError without that setting, OSError if there is no model.
    """
    nlp = pipeline(settings["model_dir"])
    worker = TaggerWorker(nlp, Labeller(nlp, load(labeller_file())))
    for _ in worker.extract([Turn("Warm up.", "", "", None).to_wire()]):
        pass
    return worker


def pipeline(model_dir: str) -> Language:
    """Loads spaCy's pipeline, made faster without a change to what it finds. Raises OSError if there is no model."""
    nlp = spacy.load(model_dir, disable=UNUSED_PIPES)
    _multiply_with_numpy(nlp)
    pass_plain_words(nlp)
    return nlp


def _multiply_with_numpy(nlp: Language) -> None:
    """NumPy's BLAS multiplies these matrices half as fast again as the one that spaCy brings."""
    ops = NumpyOps(use_blis=False)
    for _, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        for node in model.walk() if model is not None else ():
            node.ops = ops


def _placed(names: Names, mended: Mended, start: int) -> list[Span]:
    """The names of a piece that stands at ``start``, where they stand in the message as it was written."""
    if not mended.edits:
        return names.spans(start)
    places = [(span, mended.source(span.start, span.end)) for span in names.spans(0)]
    return [replace(span, start=start + first, end=start + last) for span, (first, last) in places]


def _accept(wire: Mapping[str, Any]) -> _Read:
    try:
        return _Read(Turn.from_wire(wire))
    except (KeyError, TypeError, ValueError):
        logger.warning("tagger: turn not understood")
        return _Read(Turn("", "", "", None), failed=True)


def _batches(reads: list[_Read]) -> Iterator[list[tuple[_Read, Piece]]]:
    """The pieces of all turns, in micro-batches."""
    batch: list[tuple[_Read, Piece]] = []
    size = 0
    for read in reads:
        for piece in pieces(read.turn.text):
            batch.append((read, piece))
            size += len(piece.text)
            if len(batch) >= BATCH_PIECES or size >= BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _result(read: _Read) -> dict[str, Any] | None:
    """The reply for one turn. Spans carry the words of the message as it was written."""
    if read.failed:
        return None
    text = read.turn.text
    shouted = text.isupper()

    def written(span: Span) -> Span:
        words = text[span.start : span.end]
        return replace(span, text=words, certain=span.certain and words[:1].isupper() and not shouted)

    return Extraction(
        tuple(map(written, read.entities)),
        tuple(list(read.claims.values())[:CLAIMS_LIMIT]),
        tuple(map(written, read.supposed)),
        tuple(read.supposing[:CLAIMS_LIMIT]),
    ).to_wire()
