"""Titles and devices, which are told by how they are written."""

from __future__ import annotations

import pytest
from spacy.lang.en import English

from seedbed_server.models.titles import titled

ENGLISH = English()

WRITTEN = {
    'I just read "Emma" again': ["Emma/work"],
    'we watched "The Lord of the Rings" twice': ["The Lord of the Rings/work"],
    "\u201cBridge of Water\u201d is on": ["Bridge of Water/work"],
    '"Emma" is my sister': [],
    'He said "Hello There" to me': [],
    'a "very good" idea': [],
    "my iPhone 13 Pro broke": ["iPhone 13 Pro/product"],
    "the ps5 and the galaxy s9": ["ps5/product", "galaxy s9/product"],
    "see shop.example/ipad or #iphone": [],
    "I lost my iPhone.": ["iPhone/product"],
    "an ipad 2nd hand": ["ipad/product"],
}


@pytest.mark.parametrize("text", WRITTEN)
def test_how_a_name_is_written(text: str) -> None:
    """Exactly these are found, with their types."""
    doc = ENGLISH.make_doc(text)
    assert [f"{doc[first : last + 1].text}/{kind}" for first, last, kind in titled(doc, text)] == WRITTEN[text]
