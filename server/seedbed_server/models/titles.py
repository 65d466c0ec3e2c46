"""Works and products by how they are written: a title in quotation marks, and a line of devices with its number.

Both are rarer in labelled chat than a tagger needs to learn them by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Doc

from .labeller import Found

_WORD = r"[A-Z0-9][\w'\u2019-]*"
_SMALL = r"(?:of|the|a|an|in|and|to|for|on|with|at|by|from|is|my|&)"
_CUE = (
    r"watch\w*|saw|seen|read\w*|listen\w* to|film|movie|album|song|single|track|book|novel|show|game|series"
    r"|titled|called"
)
_TITLE = re.compile(
    rf"(?P<cue>\b(?i:{_CUE}) ?,? )?"
    rf"(?<!said )(?<!says )(?<!said, )(?<!says, )[\"\u201c] ?"
    rf"(?P<title>{_WORD}(?P<more>(?: {_SMALL}){{0,3}} {_WORD}){{0,7}}) ?[\"\u201d]"
)
"""A title in quotation marks; a single word is one only behind a word that announces it; what is said is none."""

_DEVICE = re.compile(
    r"(?<![\w@#./-])(?i:iphone|ipad|ipod|xbox|playstation|kindle|macbook|galaxy s\d+|ps[2-5])"
    r"(?: (?:(?i:pro|air|nano|mini|plus|max|ultra|touch|live)\b|One\b|\d{1,3}[a-z]?\b)){0,3}(?![\w/-]|\.\w)"
)


def titled(doc: Doc, text: str) -> Iterator[Found]:
    """The works and products of a doc, which was made from ``text``, as first and last token and type."""
    for match in _TITLE.finditer(text):
        if match["cue"] or match["more"]:
            yield from _found(doc, *match.span("title"), "work")
    for match in _DEVICE.finditer(text):
        yield from _found(doc, *match.span(), "product")


def _found(doc: Doc, start: int, end: int, kind: str) -> Iterator[Found]:
    span = doc.char_span(start, end)
    if span is not None:
        yield span.start, span.end - 1, kind
