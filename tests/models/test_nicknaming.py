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
}


@pytest.mark.parametrize("text", CALLED)
def test_what_somebody_is_called(read: Read, text: str) -> None:
    """By a name, asserted; not what one is asked not to say, nor when one is to be called."""
    claims = [claim for claim in read(text).claims if claim.predicate == "be called"]
    assert [(claim.subject, claim.object) for claim in claims] == CALLED[text]
