"""Counting tokens, and cutting text by tokens.

One vocabulary for everything, cl100k_base: exact for the models that use it and
a fair measure for the others. The counting is done by ``bpe-openai`` (Rust,
linear in the text, offline).

BPE counts do not add up over any concatenation, but they do where a line ends:
cl100k_base never joins a line break with a visible character after it. So
``count(a + b) == count(a) + count(b)`` when ``a`` ends in a newline and ``b``
does not begin with whitespace. The packing of seeds stands on this.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from seedbed.messages import Media, Message
from seedbed.seeds import SeedMessage

PER_MESSAGE = 3
"""What wraps every message, by the OpenAI cookbook's "How to count tokens with tiktoken"."""

PER_NAME = 1
"""What a speaker's name adds besides its own tokens; same source."""

PER_TOOL_CALL = 3
"""What wraps a tool call. Not published; taken to be what wraps a message."""

PER_MEDIA = 85
"""Flat price of a part that is not text: OpenAI's for an image at low detail."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LETTER_THEN_SPACE = re.compile(r"(?<=[^\W\d_])(?=\s)")
_LONGEST_TOKEN = 128  # characters; cl100k_base has such a run of spaces
_LONGEST_GRAPHEME = 64  # code points; a longer one is split, so that no text makes cutting slow


def count(text: str) -> int:
    """Tokens of ``text`` alone. A lone surrogate counts as U+FFFD."""
    try:
        return int(_tokenizer().count(text))
    except UnicodeEncodeError:
        return int(_tokenizer().count(_SURROGATE.sub("\ufffd", text)))


def cut(text: str, limit: int) -> str:
    """Return a longest prefix of ``text`` that takes at most ``limit`` tokens.

    It never ends inside a grapheme (an emoji sequence, a letter and its
    accents), unless that alone is longer than 64 code points.
    """
    if limit <= 0:
        return ""
    head = _SURROGATE.sub("\ufffd", text[: (limit + 2) * _LONGEST_TOKEN])
    if len(head) == len(text) and _fits(head, limit):
        return text
    high = min(_end_of_token(head, limit + 1), len(head))
    start = _safe_start(head, high - 6 * _LONGEST_TOKEN)
    left = limit - count(head[:start])
    longest = 0
    for end in range(high, start, -1):
        if longest - end >= _LONGEST_GRAPHEME:
            return text[:longest]
        joined = _inside_grapheme(head, end)
        if (longest and joined) or not _fits(head[start:end], left):
            continue
        if not joined:
            return text[:end]
        longest = end
    endless = longest and all(_inside_grapheme(head, longest + more) for more in range(_LONGEST_GRAPHEME))
    return text[: longest if endless else start]


def message_tokens(message: Message | SeedMessage) -> int:
    """Tokens that a message takes in a chat: its text, its tool calls, and what wraps them.

    The text is counted as joined by newlines. The wrapping is 3 for the message
    and 1 for a name, beside the tokens of role and name themselves; a tool
    call takes those of its id, name and arguments and 3; media takes 85.
    """
    total = message_overhead(message) + count(message.text)
    for call in message.tool_calls:
        total += PER_TOOL_CALL + count(call.id) + count(call.name) + count(call.arguments)
    return total + PER_MEDIA * sum(isinstance(part, Media) for part in message.parts)


def message_overhead(message: Message | SeedMessage) -> int:
    """Tokens of a message that says nothing: the wrapping, role, name, and the call it answers."""
    total = PER_MESSAGE + count(message.role)
    if message.name:
        total += PER_NAME + count(message.name)
    if message.tool_call_id:
        total += count(message.tool_call_id)
    return total


def _fits(text: str, limit: int) -> bool:
    return limit >= 0 and _tokenizer().count_till_limit(text, limit) is not None


def _end_of_token(text: str, tokens: int) -> int:
    """Where the text's first ``tokens`` tokens end; a little later where they end inside a code point."""
    encoded = _tokenizer().encode(text)
    for end in range(tokens, min(tokens + 4, len(encoded))):
        try:
            return len(_tokenizer().decode(encoded[:end]))
        except ValueError:
            continue
    return len(text)


def _safe_start(text: str, before: int) -> int:
    """Return a place at or before ``before`` where counts add up: between a letter and a space."""
    if before <= 0:
        return 0
    found = _LETTER_THEN_SPACE.search(text, max(0, before - 1000), before)
    return found.start() if found else 0


def _inside_grapheme(text: str, end: int) -> bool:
    """Whether a cut at ``end`` would split what a reader sees as one character.

    The main rules of Unicode's text segmentation (UAX 29): line breaks,
    marks, joiners, emoji modifiers and tags, Hangul jamo, pairs that make a flag.
    """
    if end >= len(text):
        return False
    before, after = text[end - 1], text[end]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before == "\u200d" or after == "\u200d" or unicodedata.category(after).startswith("M"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff":
        return True
    if _is_flag_letter(after) and _is_flag_letter(before):
        run = 0
        while run < end and run < 2 * _LONGEST_GRAPHEME and _is_flag_letter(text[end - 1 - run]):
            run += 1
        return run % 2 == 1
    return False


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


@cache
def _tokenizer() -> Any:
    """The tokenizer, loaded at the first count: 40 ms and 32 MB.

    The package's own ``__init__`` reads every vocabulary into Python
    dictionaries (over a second, twice the memory), so only its extension
    module is loaded, by file.
    """
    package = find_spec("bpe_openai")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for file in sorted(Path(folder).glob("_bindings.*")):
            spec = spec_from_file_location("bpe_openai._bindings", file)
            if file.suffix in {".so", ".pyd"} and spec and spec.loader:
                bindings = module_from_spec(spec)
                spec.loader.exec_module(bindings)
                return bindings.tokenizer_for_encoding("cl100k_base")
    return import_module("bpe_openai._bindings").tokenizer_for_encoding("cl100k_base")
