"""What people type, written as a parser expects it: "im form Porto" is "I'm from Porto".

A parser that was trained on edited text takes "hes", "wfie" and "Both Tom and
Ana" for something else. Only what has one reading is mended: contractions
without their apostrophe, words one slip away from a word that extraction rests
on, "'s" that can only be a verb, and names in a message that has no capitals.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .lexicon import Lexicon
from .spelling import CONTRACTIONS, RESTED_ON

SHORTEST = 4
"""Letters of the shortest word that may be a slip: shorter ones are one slip away from too many others."""

_WORD = re.compile(r"(?<![\w'@#/.-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w@/])")
_BETWEEN = re.compile(
    r"(?P<both>\b[Bb]oth (?!of\b))"
    r"|(?P<fan>(?:\A|(?<=[.!?] ))(?P<no>[Nn]ot )?(?:[Aa] )?(?:[Bb]ig |[Hh]uge )?(?=fan of\b))"
    r"|(?P<chatter>,? (?:btw|tbh|lol|lmao|imo|ngl|haha|hehe|xd|pls|plz)(?=[\s]*(?:[,.!?;]|\Z)))"
    r"|(?P<call>\A(?:[Dd]ude|[Mm]an|[Bb]ro|[Ll]ol|[Hh]aha|[Oo]mg|[Yy]eah|[Bb]tw|[Oo]h|[Ss]o|[Tt]bh|[Hh]onestly)"
    r"(?= (?:[Ii]|[Mm]y|[Ww]e|[Oo]ur|[Hh]e|[Ss]he)\b))"
    r"|(?P<been>(?<=[^\W\d_])(?<!\b[Hh]e)(?<!\b[Ss]he)(?<!\b[Ii]t)'s(?= been\b))"
    r"|(?P<verb>(?<=[^\W\d_])(?<!\b[Hh]e)(?<!\b[Ss]he)(?<!\b[Ii]t)(?<!\b[Tt]hat)(?<!\b[Ww]hat)(?<!\b[Ll]et)"
    r"'s(?= (?:in|at|from|with|not|no longer|a|an|the|my|our|married|engaged|dead|still|back|allergic"
    r"|going|moving|getting|working|living)\b(?!-)))"
    r"|(?P<law>(?:(?<=[Mm]other)|(?<=[Ff]ather)|(?<=[Ss]ister)|(?<=[Bb]rother)|(?<=[Dd]aughter)|(?<=\b[Ss]on)"
    r"|(?<=\b[Mm][ou]m)|(?<=\b[Dd]ad)) in law\b)"
    r"|(?P<towards>\btoo(?= [A-Z]))"
    r"|(?P<joined>\b[Aa]n(?= (?:me|i|I)\b))"
    r"|(?P<origin>(?<=\b(?:am|is|'m|'s|re))\ form(?= [A-Z]))"
)
_PUT = {
    "both": "", "chatter": "", "been": " has", "verb": " is", "origin": " from", "joined": "and", "towards": "to",
    "law": "-in-law",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edit:
    """``text[start:end]`` stands for ``original[was_start:was_end]``."""

    start: int
    end: int
    was_start: int
    was_end: int


@dataclass(frozen=True, slots=True)
class Mended:
    """A text as it is parsed, and the words that it stands for. ``edits`` are in order."""

    text: str
    original: str
    edits: tuple[Edit, ...] = ()

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the mended text stands in the original."""
        return self._back(start, bisect_right(self.edits, start, key=lambda edit: edit.start), inside=0), self._back(
            end, bisect_left(self.edits, end, key=lambda edit: edit.start), inside=1
        )

    def _back(self, at: int, edits: int, *, inside: int) -> int:
        """A position after the first ``edits``; one inside of a word that was put in becomes either end of the old."""
        if not edits:
            return at
        edit = self.edits[edits - 1]
        return edit.was_end + at - edit.end if at >= edit.end else (edit.was_start, edit.was_end)[inside]


class Mender:
    """Mends texts by a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._slips = _slips(RESTED_ON)

    def mend(self, text: str, known: Iterable[str] = ()) -> Mended:
        """A text as it is parsed; ``known`` names stay as they are."""
        kept = {name.lower() for name in known}
        lowered = text == text.lower()
        changes = sorted((*self._words(text, kept, lowered), *_between(text)))
        return _apply(text, changes) if changes else Mended(text, text)

    def _words(self, text: str, kept: set[str], lowered: bool) -> Iterator[tuple[int, int, str]]:
        for match in _WORD.finditer(text):
            word = match[0]
            low = word.lower()
            if word != low and (word[1:] != low[1:] or low not in CONTRACTIONS):
                continue  # a capital: a name, or a sentence begins
            mended = self._mended(low, lowered) if low not in kept else low
            if mended != low:
                yield match.start(), match.end(), mended

    def _mended(self, word: str, lowered: bool) -> str:
        if word in CONTRACTIONS:
            return CONTRACTIONS[word]
        if len(word) < SHORTEST or not word.isascii() or "'" in word or self._lexicon.knows(word):
            return word
        near = {each for short in _shorter(word) for each in self._slips.get(short, ()) if each[0] == word[0]}
        meant = {each for each in near if _is_slip(word, each)}
        meant = {each for each in meant if sorted(each) == sorted(word)} or meant  # two letters that changed places
        if len(meant) == 1:
            return meant.pop()
        return word.capitalize() if lowered and not meant else word


def _between(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _BETWEEN.finditer(text):
        name = next(name for name, found in match.groupdict().items() if found is not None)
        if name == "fan":
            yield match.start(), match.end(), f"I'm {'not ' if match['no'] else ''}a "
        else:
            yield match.start(), match.end(), f"{match[0]}," if name == "call" else _PUT[name]


def _slips(words: Iterable[str]) -> dict[str, list[str]]:
    """Words by what is left of them without one letter: two words one slip apart share such a rest."""
    found: dict[str, list[str]] = {}
    for word in words:
        if len(word) >= SHORTEST:
            for short in _shorter(word):
                found.setdefault(short, []).append(word)
    return found


def _shorter(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def _is_slip(one: str, other: str) -> bool:
    """Whether one letter added, lost or changed, or two changed places, make one word of the other."""
    short, long = sorted((one, other), key=len)
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]


def _apply(text: str, changes: list[tuple[int, int, str]]) -> Mended:
    parts: list[str] = []
    edits: list[Edit] = []
    at = length = 0
    for start, end, new in changes:
        if start < at:
            continue
        parts += [text[at:start], new]
        length += start - at
        edits.append(Edit(length, length + len(new), start, end))
        length += len(new)
        at = end
    parts.append(text[at:])
    return Mended("".join(parts), text, tuple(edits))
