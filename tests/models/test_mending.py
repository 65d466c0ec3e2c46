"""Chat as it is typed, and as it is parsed."""

from __future__ import annotations

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.models.lexicon import Lexicon
from seedbed_server.models.mending import Mender

from .conftest import models_dir

MENDED = {
    "im form Porto": "I'm form Porto",
    "hes my borther": "he's my brother",
    "i liev wiht Tom": "I live with Tom",
    "My wfie is form Rome": "My wife is from Rome",
    "Both Tom and Ana work here": "Tom and Ana work here",
    "both of them work": "both of them work",
    "Tom's in Oslo": "Tom is in Oslo",
    "Tom's been ill": "Tom has been ill",
    "Tom's car": "Tom's car",
    "She's in Oslo": "She's in Oslo",
    "my friend luca moved": "my friend Luca moved",
    "My friend luca moved": "My friend luca moved",
    "Not a fan of jazz": "I'm not a fan of jazz",
    "I hate nuts btw, really": "I hate nuts, really",
    "see https://x.org/im_dont": "see https://x.org/im_dont",
}


@pytest.fixture(scope="module")
def mender() -> Mender:
    return Mender(Lexicon(spacy.load(models_dir() / "en_core_web_md")))


@pytest.mark.parametrize("text", MENDED)
def test_what_is_mended(mender: Mender, text: str) -> None:
    """Only what has one reading is put right."""
    assert mender.mend(text).text == MENDED[text]


def test_names_of_the_conversation_stay(mender: Mender) -> None:
    """A name that looks like a slip is none, if somebody has it."""
    assert mender.mend("wiht moved", ["wiht"]).text == "wiht moved"


@given(
    words=st.lists(
        st.sampled_from(
            ["im", "dont", "wfie", "Tom's", "in", "Both", "Ana", "and", "Bo", "btw", ",", "hes", "luca", "é"]
        )
    )
)
def test_words_that_were_not_mended_keep_their_place(mender: Mender, words: list[str]) -> None:
    """A stretch of the mended text leads back to the stretch of the original that it stands for."""
    text = " ".join(words)
    mended = mender.mend(text)
    for word in ("Ana", "Bo", "é"):
        at = mended.text.find(word)
        if at >= 0:
            start, end = mended.source(at, at + len(word))
            assert text[start:end] == word
    whole = mended.source(0, len(mended.text))
    assert 0 <= whole[0] <= whole[1] <= len(text)
