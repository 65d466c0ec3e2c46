"""Passing plain words changes no token."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.lang.en import English

from seedbed_server.models.tokenizing import pass_plain_words

PLAIN = English()
FASTER = English()
pass_plain_words(FASTER)

WORDS = st.sampled_from(
    [
        "cannot",
        "gonna",
        "US$5",
        "5km",
        "don't",
        "dont",
        "e.g.",
        "co-op",
        "a.m.",
        "10am",
        "(so)",
        "naïve",
        "fooBar",
        "cm",
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(WORDS, st.text(alphabet="aZz9.'-$(€é😀/", max_size=7)), max_size=6))
def test_tokens_are_the_same(words: list[str]) -> None:
    """Whatever the words, the tokens are those of the tokenizer as it comes."""
    text = " ".join(words)
    assert [(t.text, t.idx) for t in FASTER.make_doc(text)] == [(t.text, t.idx) for t in PLAIN.make_doc(text)]
