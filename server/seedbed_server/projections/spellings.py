"""Names that may be one name in two spellings: "Elena" and "Elenna". Whether they are is for evidence to say."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations

LONGEST = 40
SHORTEST = 5
"""Letters of the longest and the shortest name that may be another's spelling: shorter ones are like too many."""

WORDS = 3
CROWD = 8
"""Names one letter apart: where there are more, one letter makes a name and no slip, and none of them are compared."""

_SOUNDS = (("ph", "f"), ("ck", "k"), ("c", "k"), ("y", "i"), ("z", "s"))
_VOWELS = set("aeiou")
_DIGIT = re.compile(r"\d")
_TWICE = re.compile(r"(.)\1")


def sound(word: str) -> str:
    """A word without what spellings of one name differ in: accents, doubled letters, "ph" and "f", a silent "h"."""
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    for written, said in _SOUNDS:
        bare = bare.replace(written, said)
    return _TWICE.sub(r"\1", bare[:1] + bare[1:].replace("h", ""))


def likeness(one: str, other: str) -> int:
    """How alike two forms of names are: 2 if they sound the same, 1 if a vowel inside of a word differs, else 0.

    Names of as many words that differ in one of them; the ends of the word are the
    same, as another ending is another name ("Daniel", "Daniela").
    """
    pairs = zip(one.split(" "), other.split(" "), strict=False)
    apart = [(a, b) for a, b in pairs if a != b]
    if one.count(" ") != other.count(" ") or len(apart) != 1:
        return 0
    a, b = apart[0]
    if min(len(a), len(b)) < SHORTEST or not (a + b).isalpha():
        return 0
    heard, also = sound(a), sound(b)
    if heard == also or _swapped(a, b):
        return 2
    inside = heard[:1] == also[:1] and heard[-1:] == also[-1:]
    return 1 if inside and min(len(a), len(b)) > SHORTEST and _a_vowel_apart(heard, also) else 0


def _swapped(a: str, b: str) -> bool:
    """Whether two letters inside have changed places."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    return 0 < at < len(a) - 1 and a == b[:at] + b[at : at + 2][::-1] + b[at + 2 :]


def _a_vowel_apart(a: str, b: str) -> bool:
    """Whether one vowel more, or another one, makes the one of the other; a consonant makes another name."""
    short, long = sorted((a, b), key=len)
    at = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    changed = short[at:][: len(short) == len(long)] + long[at : at + 1]
    return short[at + (len(short) == len(long)) :] == long[at + 1 :] and set(changed) <= _VOWELS


class Spellings:
    """The pairs of names, by id, that are alike. It does not matter in which order names come."""

    def __init__(self) -> None:
        self._near: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._known: set[str] = set()
        self._meetings: Counter[tuple[str, str]] = Counter()  # of each pair that is alike, in what is no crowd
        self._likeness: dict[tuple[str, str], int] = {}

    def add(self, i: str, form: str) -> None:
        """Take in a name that has ``form``: it meets those that are the same without one letter of theirs.

        A name with a number has no other spelling, and one that is very long is no name: it would meet as many as it
        has letters.
        """
        if i in self._known or not SHORTEST <= len(form) <= LONGEST or form.count(" ") >= WORDS or _DIGIT.search(form):
            return
        self._known.add(i)
        heard = " ".join(map(sound, form.split(" ")))
        for rest in {heard, *(heard[:at] + heard[at + 1 :] for at in range(len(heard)))}:
            near = self._near[rest]
            if len(near) < CROWD:
                self._meet(((i, form), other) for other in near)
            elif len(near) == CROWD:
                self._part(combinations(near, 2))
            near.append((i, form))

    def pairs(self) -> dict[tuple[str, str], int]:
        """The pairs, in order, with their `likeness`; none among names of which there is a `CROWD`."""
        return {pair: self._likeness[pair] for pair, meetings in sorted(self._meetings.items()) if meetings > 0}

    def _meet(self, pairs: Iterable[tuple[tuple[str, str], tuple[str, str]]]) -> None:
        for (i, form), (other, its_form) in pairs:
            pair = (min(i, other), max(i, other))
            if pair not in self._likeness:
                self._likeness[pair] = likeness(form, its_form)
            self._meetings[pair] += self._likeness[pair] > 0

    def _part(self, pairs: Iterable[tuple[tuple[str, str], tuple[str, str]]]) -> None:
        for (i, _), (other, _) in pairs:
            pair = (min(i, other), max(i, other))
            self._meetings[pair] -= self._likeness[pair] > 0
