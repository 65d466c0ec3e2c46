"""Second verbs on hand-made trees, which a parser seldom gives."""

from __future__ import annotations

import spacy
from spacy.tokens import Doc

from seedbed_server.models.activities import new_post
from seedbed_server.models.clauses import Clause
from seedbed_server.models.entities import Names
from seedbed_server.models.phrases import Node, Scene
from seedbed_server.models.stance import Stance


def test_a_second_verb_may_be_the_first_word() -> None:
    """Before it stands nothing that could be a "to"."""
    doc = Doc(
        spacy.blank("en").vocab, ["Managing", "was", "promoted"], heads=[2, 2, 2], deps=["xcomp", "auxpass", "ROOT"]
    )
    scene = Scene(doc, Names(doc, []), "Maya", "Sam", frozenset())
    clause = Clause(scene, doc[2], "promote", Stance(), Node("Maya", "person"))
    assert clause.base == "be promoted"
    assert list(new_post(clause)) == []
