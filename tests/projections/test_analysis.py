"""Terms: what has to be found by what."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.projections.analysis import HEAD, MARKS, MAX_TERM, RUN, TAIL, WORD, is_blank, terms
from tests.timing import is_linear

FOUND = [
    ("running", "She runs every day", "an inflected word"),
    ("cafe", "Meet me at the Café", "a word without its accent"),
    ("CAFE\u0301", "the café is closed", "the same word composed otherwise"),
    ("\uff21\uff22\uff23", "abc", "full-width letters"),
    ("strasse", "Die Straße", "a letter that folds to two"),
    ("C++", "I write C++ at work", "a name with symbols"),
    ("AB-1234-X", "order ab-1234-x was late", "an order number"),
    ("ERR_CONN_RESET", "it says ERR_CONN_RESET again", "an error code"),
    ("reset", "it says ERR_CONN_RESET again", "a part of an error code"),
    ("D'Arcy", "Mr D\u2019Arcy called", "a name with an apostrophe"),
    ("maya", "that is Maya's dog", "a name in the possessive"),
    ("maya@example.com", "write to maya@example.com.", "an address"),
    ("引っ越した", "去年東京に引っ越したばかりです", "Japanese inside a sentence"),
    ("猫", "黒猫が好き", "a single Han character inside a word"),
    ("AB-1234-X", "注文番号AB-1234-Xはまだです", "an order number inside Japanese"),
    ("ครับ", "สวัสดีครับ", "Thai inside a sentence"),
    ("서울", "나는 서울에서 살아요", "a Korean word with an ending"),
    ("hi\u200dndi", "hindi", "a word with a joiner in it"),
    ("हिन्दी", "मैं हिन्दी बोलता हूँ", "a word with combining vowels"),
    ("7319", "pad " * 1000 + "the code is 7319", "a number at the end of a long text"),
    ("🔥", "that was 🔥🔥🔥", "an emoji among others"),
    ("ёлка", "новая елка", "a Cyrillic word by its bare form"),
]


@pytest.mark.parametrize(("query", "text", "what"), FOUND, ids=[what for _, _, what in FOUND])
def test_found(query: str, text: str, what: str) -> None:
    """Every term that makes the query special is among the text's terms."""
    wanted, there = terms(query), set(terms(text))
    assert wanted
    assert there.intersection(wanted), what
    if query.isascii() and not query.isalpha():
        assert there.issuperset(wanted), what


@pytest.mark.parametrize("text", ["C++", "AB-1234-X", "D'Arcy", "v1.2.3"])
def test_whole_token_is_a_term_of_its_own(text: str) -> None:
    """A rare token is a term that its parts alone do not make."""
    assert text.casefold() in terms(text)
    assert text.casefold() not in terms(" ".join(text))


@given(st.text(max_size=200))
def test_laws(text: str) -> None:
    """Terms are deterministic, bounded, without spaces, and do not depend on composition or case of ASCII."""
    found = terms(text)
    assert found == terms(text)
    assert all(0 < len(term) <= MAX_TERM and " " not in term for term in found)
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


@given(st.lists(st.text(alphabet="abcxyz019é東京'-+", min_size=1, max_size=8), max_size=8))
def test_texts_apart_make_terms_apart(words: list[str]) -> None:
    """What stands after a line break never changes the terms before it."""
    together = terms("\n".join(words))
    assert together == [term for word in words for term in terms(word)]


@pytest.mark.parametrize("run", ["(", "🔥", "a", "a-", "東", "a.'", "e\u0301", "1 ", "'", "\u0301", "a+", "x@", "ก็"])
def test_time_is_linear(run: str) -> None:
    """A run of anything is no worse than its length."""
    assert is_linear(terms, run * (80_000 // len(run)))


@given(st.text("ab1_-.'/:@&+# \u0301\u0300é東京かな한ไทยक\u094dष🔥→", max_size=30))
def test_a_word_is_letters_and_digits_each_with_its_marks(text: str) -> None:
    """However it is matched: the plain spelling of the rule finds the same words, outside unspaced scripts."""
    plain = re.compile(rf"(?:(?!{RUN})[^\W_][{MARKS}]*)+")
    assert re.findall(WORD, text) == plain.findall(text)


def test_of_a_long_text_both_ends_are_read() -> None:
    """What stands in the middle of a huge text is not analysed, what stands at its end is."""
    filler = "word " * (HEAD // 5)
    text = f"beginning {filler} middle {filler} {filler} ending"
    found = terms(text)
    assert {found[0], found[-1]} == {"begin", "end"}
    assert "middl" not in found
    assert len(found) <= (HEAD + TAIL) // 5 + 3
    assert terms(f"{filler} middle")[-1] == "middl"


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\n\t\u00a0", "\ufeff\u2060", "\x00\x1f"])
def test_blank(text: str) -> None:
    """What shows nothing is blank; anything else is not."""
    assert is_blank(text)
    assert not is_blank(text + "x")
