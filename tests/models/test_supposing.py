"""Words that may be names: which are handed on, and what is said if they are."""

from __future__ import annotations

import pytest

from .conftest import Read

# Said by Maya to Sam: words that are supposed to be names.
SUPPOSED = {
    "I think rose lives in Berlin": ["rose"],
    "ask bill about it": ["bill"],
    "Yesterday will called me, and I told mark.": ["will", "mark"],
    "May I ask? Talked to grace, she moved to Oslo.": ["grace"],
    # Words for what they are words for.
    "The rose is red, and I bought a rose for mum.": [],
    "I hope you may visit, will you? Mark my words.": [],
    "We called bill collectors, and it may be late.": [],
    "It was a matter of hope and grace; she spoke with joy.": [],
    "the bill called for a vote": [],
    "my boss said no and the doctor called": [],
    "he called, everyone said so, nobody asked": [],
}


@pytest.mark.parametrize("text", SUPPOSED)
def test_which_words_may_be_names(read: Read, text: str) -> None:
    """Only where somebody stands; what is surely a name is among the names already."""
    found = read(text)
    assert [span.text for span in found.supposed] == [
        word for word in SUPPOSED[text] if word not in {span.text for span in found.entities}
    ]
    assert all(text[span.start : span.end] == span.text and not span.certain for span in found.supposed)


def test_what_is_said_if_they_are(read: Read) -> None:
    """Claims about a supposed name are apart from the others, and say what they rest on."""
    found = read("I think rose lives in Berlin, and I love Lisbon.")
    assert [(claim.subject, claim.predicate, claim.object) for claim in found.claims] == [("Maya", "love", "Lisbon")]
    (claim,) = found.supposing
    assert (claim.subject, claim.predicate, claim.object, claim.rests_on) == ("Rose", "live in", "Berlin", ("Rose",))


CERTAIN = {
    "I met Elena in Braga": ["Elena"],
    "elena called me": [],
    "I met Grace in Rome": ["Grace"],
    "Rose lives here": [],
    "I MET ELENA": [],
    "my dog Rex barks": ["Rex"],
}


@pytest.mark.parametrize("text", CERTAIN)
def test_what_is_certain(read: Read, text: str) -> None:
    """Persons and pets that are written as names; a capital tells nothing at the start of a sentence, or in shouting."""
    assert [span.text for span in read(text).entities if span.certain] == CERTAIN[text]
