"""The recogniser run over many docs at once finds what spaCy's own does."""

from __future__ import annotations

import spacy
from spacy.tokens import Doc

from benchmarks.gold import examples
from benchmarks.texts import conversation
from seedbed_server.models.recogniser import Recogniser

from .conftest import models_dir

ODD = ["", " ", "\n\n Rome", "Rome", "in New\nYork City", "the 1990s", "London . Paris . the United States of America"]


def _entities(doc: Doc) -> list[tuple[str, str]]:
    return [(token.ent_iob_, token.ent_type_) for token in doc]


def test_entities_are_those_of_spacy() -> None:
    """Token by token, on texts of every length, in batches of mixed ones."""
    nlp = spacy.load(models_dir() / "en_core_web_md")
    texts = [*ODD, *(example.turn.text for example in examples("dev")), *(each.text for each in conversation(3, 40))]
    texts.append(" ".join(texts[7:60]))
    expected = list(nlp.pipe(texts))
    docs = list(nlp.pipe(texts, disable=["ner"]))
    Recogniser(nlp).mark(docs)
    assert sum(len(doc.ents) for doc in expected) > 100
    assert [_entities(doc) for doc in docs] == [_entities(doc) for doc in expected]
