"""Counting and cutting by tokens."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed.messages import Media, Message, ToolCall
from seedbed.tokens import count, cut, message_tokens
from tests.client.conversations import hostile, law, plain
from tests.timing import is_linear


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("tiktoken is great!", 6), ("antidisestablishmentarianism", 6)],
)
def test_counts_as_cl100k_base(text: str, tokens: int) -> None:
    """The figures that tiktoken and the OpenAI cookbook give for cl100k_base; special tokens are plain text."""
    assert count(text) == tokens


def test_lone_surrogates_count_as_replacement_characters() -> None:
    """A broken text from a model is counted, not refused."""
    assert count("x\ud83d") == count("x\ufffd")
    assert cut("x\ud83dy" * 50, 5) in "x\ud83dy" * 50


@pytest.mark.parametrize("text", ["(" * 100_000, "🔥" * 20_000, " " * 100_000, "a" * 100_000])
def test_runs_are_counted_and_cut_in_linear_time(text: str) -> None:
    """Runs of symbols do not blow up."""
    assert count(text) > 100
    assert 0 < count(cut(text, 50)) <= 50
    assert is_linear(count, text)
    assert is_linear(lambda run: cut(run, 50), text)


@law
@given(st.one_of(plain, hostile, st.text(max_size=60)), st.integers(0, 30))
def test_cut_is_a_longest_prefix_within_the_limit(text: str, limit: int) -> None:
    """Nothing longer fits: no longer prefix that ends between two ASCII characters does."""
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert count(kept) <= limit
    for end in range(len(kept) + 1, len(text) + 1):
        if text[end - 1 : end + 1].isascii() and text[end - 1 : end + 1] != "\r\n":
            assert count(text[:end]) > limit


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "👍🏽", "각", "\r\n", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_cut_keeps_graphemes_whole(cluster: str) -> None:
    """What a reader sees as one character stays one, wherever the limit falls."""
    for limit in range(1, 40):
        assert len(cut(cluster * 12, limit)) % len(cluster) == 0


def test_cut_splits_an_endless_grapheme() -> None:
    """A letter under a thousand accents is cut all the same, and quickly."""
    kept = cut("a" + "\u0301" * 5000, 40)
    assert kept.startswith("a")
    assert unicodedata.combining(kept[-1])


def test_cut_of_a_long_text_is_exact() -> None:
    """Far into a text, where only the last stretch is counted again, the limit still holds to the token."""
    text = "Maya moved to Berlin, and it rained; then 4711 people came.\n\n  Indeed! " * 400
    for limit in (500, 501, 502, 1999, 2000):
        assert count(cut(text, limit)) == limit


@law
@given(st.one_of(plain, hostile), st.one_of(plain, hostile))
def test_counts_add_up_where_a_line_ends(first: str, second: str) -> None:
    """What packing stands on: a line break is never joined with a visible character after it."""
    assert count(f"{first}\n> {second}") == count(f"{first}\n") + count(f"> {second}")


def test_message_tokens_by_hand() -> None:
    """Wrapping, role, name, text; and for tools ids, names and arguments."""
    assert message_tokens(Message.user("hello world")) == 3 + 1 + 2
    assert message_tokens(Message.user("hello world", "Maya")) == 3 + 1 + 2 + 1 + count("Maya")
    call = Message.assistant(tool_calls=(ToolCall("call_1", "look", '{"at": "sky"}'),))
    assert message_tokens(call) == 3 + 1 + 3 + count("call_1") + count("look") + count('{"at": "sky"}')
    assert message_tokens(Message.tool("blue", "call_1")) == 3 + 1 + count("call_1") + 1
    assert (
        message_tokens(Message("user", ("hello", Media("image/png", data=b"x"), "world")))
        == 4 + count("hello\nworld") + 85
    )


def test_only_the_extension_module_is_loaded() -> None:
    """The package around it would cost a second and 70 MB, so it stays out."""
    code = "import sys; from seedbed.tokens import count; count('x'); sys.exit('bpe_openai' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
