"""What somebody is called by their own wish, or by others."""

from __future__ import annotations

import pytest

from .conftest import Read

# Said by Maya to Sam: (who, name).
CALLED = {
    "Call me Kate.": [("Maya", "Kate")],
    "you can call me Kate": [("Maya", "Kate")],
    "Everyone calls me Liz.": [("Maya", "Liz")],
    "Elizabeth goes by Liz.": [("Elizabeth", "Liz")],
    "Liz is short for Elizabeth.": [("Elizabeth", "Liz")],
    "My cat is called Luna.": [],  # a relation
    "Karl smiled. We adopted a cat too, she's called Luna.": [],  # not Karl
    "Please don't call me Katie.": [],
    "Can you call me Kate?": [],
    "Call me later.": [],
    "Call me Monday morning.": [],
    "Call me Maya.": [],
    "She goes by bus.": [],
    "Tom is short for his age.": [],
    'He said "call me Kate".': [],
    "I'm Maya Clarke now, I took Owen's name": [("Maya", "Maya Clarke")],
    "I'm officially Maya Clarke!": [("Maya", "Maya Clarke")],
    "I'm Maya Clarke from Leeds": [("Maya", "Maya Clarke")],
    "I'm basically Maya Scrooge now": [],
    "I was Maya Patel before": [],
    "I'm no longer Maya Patel": [],
    "I'm like Maya Clarke": [],
    "I'm Maya's sister": [],
    "I'm with Maya": [],
    "I'm Batman now": [],
    "I'm Tom Cruise now": [],
    "I'm Maya.": [],
    "This is Dana": [],
    "Am I Maya Clarke now?": [],
    "My name isn't Kate": [],
    "I wish my name was Kate": [],
}


@pytest.mark.parametrize("text", CALLED)
def test_what_somebody_is_called(read: Read, text: str) -> None:
    """By a name, asserted; not what one is asked not to say, nor when one is to be called."""
    claims = [claim for claim in read(text).claims if claim.predicate == "be called"]
    assert [(claim.subject, claim.object) for claim in claims] == CALLED[text]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I'm Ana Lindqvist now", ["Ana Lindqvist"]),
        ("I'm Ana Lindqvist, Tom's wife", []),
        ("I'm Tom", []),
    ],
)
def test_a_last_name_is_a_familys(read: Read, text: str, names: list[str]) -> None:
    """Who shares no more with the speaker's name may be another of the family, unless it is the name "now"."""
    claims = read(text, speaker="Tom Lindqvist").claims
    assert [claim.object for claim in claims if claim.predicate == "be called"] == names
