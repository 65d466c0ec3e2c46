"""Whether a memory has anything to say to a query: an honest nothing instead of the k least bad.

The floor is one for the whole answer. Once some message is about what was asked,
those that follow are its surroundings, and evidence is often among them: cut one
by one at the same height, they would cost a tenth of what is found beyond the
first ten hits. What the heights cost was measured: docs/recall.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from seedbed_server.recall.layout import Floats, Layout, Mask
from seedbed_server.recall.postings import Postings
from seedbed_server.recall.stopwords import is_unspaced, without_hiragana

# The best of n unrelated messages is the higher the more there are: like a maximum of n draws, by the logarithm of n.
_ONE = 0.18
_BY_LOG = 0.04
# The name of a speaker stands before each of their messages, and so draws the query to all of them.
_NAMED = 0.05
# A message that itself holds so much of a query is related, whatever the vectors say: one word asked for alone, say.
_MOST_WORDS = 0.7
# Of a script without spaces the terms are characters and their pairs, and vectors say nothing: this share of them, in a
# message and those around it, makes it related.
_CHARACTERS = 0.10


def height(messages: int, *, names_speaker: bool) -> float:
    """The floor of a memory of so many messages, on the scale of ``reached``."""
    return _ONE + _BY_LOG * math.log(max(messages, 1)) + (_NAMED if names_speaker else 0.0)


def reached(cosines: Floats, lexical: Floats, alive: Mask, floor: float) -> bool:
    """Say whether a message alive is near enough: its cosine and half its share of the query's words. Shapes (n,).

    The order weighs words four times as much. But they are also found by chance,
    the more so the longer the messages are.
    """
    return bool(np.any((cosines + lexical / 2 >= floor) & alive))


def holds_enough(postings: Postings, terms: Sequence[str], layout: Layout) -> Mask:
    """Which messages alive hold so much of the query that they are related to it by that alone; shape (n,)."""
    enough = postings.coverage(terms, layout.alive) >= _MOST_WORDS
    if is_unspaced(terms):
        enough |= postings.score(without_hiragana(terms), layout) >= _CHARACTERS
    return enough & layout.alive
