"""From text to the terms that lexical search compares.

The same text always gives the same terms, in time that is linear in its length
and bounded, and a query is analysed by the very same function. Rules, in order:

- NFKC and case folding; invisible joiners go; a zero-width space is a space.
- A word in Latin script becomes its English Snowball stem; where accents can be
  taken off, the bare form's stem stands beside it. Other words stay whole.
- A run of a script that is written without spaces becomes its character pairs;
  single Han characters are words too, so they stand beside their pairs. Words
  of other scripts in its midst ("注文AB-12の件") end it.
- Words tied by a hyphen, dot, apostrophe and the like ("d'arcy", "ab-1234-x",
  "maya@example.com") or followed by + or # ("c++") also stand as a whole, so
  that rare names and numbers are found exactly.
- A symbol or emoji is a term; repeated, it is one.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import Stemmer

FINGERPRINT = f"terms-3/snowball-english-{Stemmer.version()}"
HEAD, TAIL = 128 * 1024, 16 * 1024
"""Code points of a longer text that are analysed, at its beginning and its end: some tenths of a second at most.

What the encoder reads of a message is about as long (32,768 tokens).
"""
MAX_TERM = 64  # code points; a longer run (base64, hashes) is known by its beginning


# By code point, up to the end of the planes that have marks and invisible characters.
_CATEGORIES = tuple(map(unicodedata.category, map(chr, range(0x20000))))


def _marks(categories: Sequence[str]) -> str:
    """All combining marks, as the inside of a character class: they belong to the word they follow."""
    marks = {point for point, category in enumerate(categories) if category in {"Mn", "Mc", "Me"}}
    first = sorted(point for point in marks if point - 1 not in marks)
    last = sorted(point for point in marks if point + 1 not in marks)
    runs = zip(first, last, strict=True)
    return "".join(f"{chr(begin)}-{chr(end)}" for begin, end in runs) + "\U000e0100-\U000e01ef"


MARKS = _marks(_CATEGORIES)
# Scripts without spaces between words (Unicode Standard Annex 29 leaves them to dictionaries): Thai, Lao, Myanmar,
# Khmer, kana, bopomofo, Hangul (spaced, but with endings that a pair steps over), Han and its extensions.
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u309f\u30a0-\u30ff\u3100-\u312f\u31f0-\u31ff\uac00-\ud7af" + _HAN
)
# Letters and digits of all other scripts, with their marks. Each run is taken in one step and never given back: a step
# for each character would hold every other thread for seconds over a megabyte without a space.
WORD = rf"[^\W_{_UNSPACED}]++(?:[{MARKS}]++[^\W_{_UNSPACED}]*+)*+"
RUN = rf"(?=\w)[{_UNSPACED}](?:(?=[\w{MARKS}])[{_UNSPACED}{MARKS}])*+"
TOKEN = re.compile(
    rf"(?P<words>{WORD}(?:[-_.'/:@&]{WORD})*[+#]{{0,3}})|(?P<run>{RUN})"
    rf"|(?P<symbol>[\u2190-\u2bff\U0001f000-\U0001faff])(?P=symbol)*"
)
_PART = re.compile(WORD)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_IS_HAN = re.compile(rf"[{_HAN}]")
_LATIN = re.compile(r"[a-z\u00df-\u024f\u1e00-\u1eff'0-9]+")
# Endings that English ties to a word by an apostrophe; the stemmer knows them.
_CONTRACTION = re.compile(r"[^\W\d_]+'(?:s|t|d|m|ll|re|ve)")
_INVISIBLE = dict.fromkeys(point for point, category in enumerate(_CATEGORIES) if category == "Cf")
del _CATEGORIES  # a megabyte
_CLEAN: dict[int, str | None] = _INVISIBLE | {0x200B: " ", 0x2019: "'", 0x2018: "'", 0x2BC: "'", 0xFF07: "'"}
_BARE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "\u0131": "i", "ð": "d", "þ": "th"})
_ACCENTED = re.compile(r"[^\x00-\x7f]")
_VISIBLE = re.compile(rf"[^\s\x00-\x1f\x7f-\x9f\u200b{''.join(map(chr, _INVISIBLE))}]")

_local = threading.local()


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in their order, repeated as often as they stand there. None holds a space.

    Of a text longer than HEAD and TAIL together only these are read.
    """
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    stem = _stemmer()
    found: list[str] = []
    for match in TOKEN.finditer(normalise(text)):
        if match["words"]:
            _token(match["words"], stem, found)
        elif match["run"]:
            _pairs(match["run"], found)
        else:
            found.append(match["symbol"])
    return found


def normalise(text: str) -> str:
    """NFKC, case folded, without invisible characters: how words are compared everywhere."""
    folded = unicodedata.normalize("NFKC", text).translate(_CLEAN).casefold()
    return unicodedata.normalize("NFKC", folded)


def is_blank(text: str) -> bool:
    """True when there is nothing to see: spaces, control and zero-width characters only."""
    return _VISIBLE.search(text) is None


def is_unspaced(text: str) -> bool:
    """True when some of it is in a script that is written without spaces between words."""
    return _IS_UNSPACED.search(text) is not None


def _token(token: str, stem: Stemmer.Stemmer, found: list[str]) -> None:
    """Add the terms of one token: its words, and itself if it is more than a word."""
    if token.isascii() and token.isalnum():  # nearly all of them
        found.append(stem.stemWord(token[:MAX_TERM]))
        return
    if _CONTRACTION.fullmatch(token):
        _word(token, stem, found)
        return
    parts = _PART.findall(token)
    for part in parts:
        _word(part, stem, found)
    if len(token) <= MAX_TERM and token != parts[0]:
        found.append(token)


def _word(word: str, stem: Stemmer.Stemmer, found: list[str]) -> None:
    word = word[:MAX_TERM]
    if not _LATIN.fullmatch(word):
        found.append(word)
        bare = _without_accents(word)
        if bare != word:
            found.append(stem.stemWord(bare))
        return
    found.append(stem.stemWord(word))
    if _ACCENTED.search(word):
        bare = stem.stemWord(_without_accents(word))
        if bare != found[-1]:
            found.append(bare)


def _pairs(run: str, found: list[str]) -> None:
    if len(run) == 1:
        found.append(run)
        return
    for first, second in pairwise(run):
        if _IS_HAN.match(first):
            found.append(first)
        found.append(first + second)
    if _IS_HAN.match(run[-1]):
        found.append(run[-1])


def _without_accents(word: str) -> str:
    """The bare Latin, Greek or Cyrillic form; in other scripts a mark is part of the word."""
    if ord(word[0]) >= 0x530 and not 0x1E00 <= ord(word[0]) <= 0x1FFF:
        return word
    parts = unicodedata.normalize("NFD", word)
    return "".join(c for c in parts if not unicodedata.combining(c)).translate(_BARE)


def _stemmer() -> Stemmer.Stemmer:
    """The thread's own stemmer: one may not be used by two threads at once."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english", 50_000)
    return _local.stemmer
