"""A chat model behind an OpenAI-compatible endpoint: the only thing the server ever calls, and only if told to.

The reply is a stranger's: its size and its time are bounded, a redirect is not
followed, nothing of the environment (proxies, certificates, .netrc) is used, and
what cannot be read is asked for once more and then given up for now.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, TypeVar

from seedbed_server.errors import PartUnavailableError

T = TypeVar("T")

log = logging.getLogger(__name__)

MAX_REPLY_BYTES = 1 << 20
TRIES = 2
PAUSE = 0.5  # seconds before the second try
OBJECTS = 50  # places of a reply where a JSON object is looked for

_SURROGATE = re.compile("[\ud800-\udfff]")


class _UnusableError(Exception):
    """A reply that cannot be used; says why in a fixed word."""


class Llm:
    """A chat model. ``url`` ends before "/chat/completions"; ``timeout`` is in seconds, for a whole try.

    ``failures`` counts tries that came to nothing, since the start.
    """

    part = "llm"

    def __init__(self, url: str, model: str, *, api_key: str = "", timeout: float = 60.0) -> None:
        import httpx  # only a server with an endpoint pays for it

        self.model = model
        self.failures = 0
        self._url = url.rstrip("/") + "/chat/completions"
        self._timeout = timeout
        headers = {"Accept-Encoding": "identity", "User-Agent": "seedbed"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout, headers=headers)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(self, instruction: str, text: str, parse: Callable[[str], T | None], *, max_tokens: int) -> T:
        """Return what ``parse`` makes of the model's answer; it gives None for one that cannot be used.

        ``parse`` runs in a thread: an answer may take it long, and nobody else is to wait for that.
        Raises PartUnavailableError("llm") after the second try.
        """
        import httpx

        for number in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(self._timeout):
                    found = await asyncio.to_thread(parse, await self._complete(instruction, text, max_tokens))
                if found is not None:
                    return found
                why = "unusable"
            except TimeoutError:
                why = "timeout"
            except httpx.HTTPError:
                why = "transport"
            except _UnusableError as error:
                why = str(error)
            self.failures += 1
            log.warning("the language model gave no usable answer (%s), try %d of %d", why, number, TRIES)
            if number < TRIES:
                await asyncio.sleep(PAUSE)
        raise PartUnavailableError(self.part)

    async def _complete(self, instruction: str, text: str, max_tokens: int) -> str:
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": _clean(text)}]
        question = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
        async with self._client.stream("POST", self._url, json=question) as reply:
            if reply.status_code != HTTPStatus.OK:
                raise _UnusableError("status")
            if reply.headers.get("content-encoding", "identity") != "identity":
                raise _UnusableError("encoding")
            body = bytearray()
            async for chunk in reply.aiter_raw():
                body += chunk
                if len(body) > MAX_REPLY_BYTES:
                    raise _UnusableError("size")
        return _content(bytes(body))


def field_of(name: str) -> Callable[[str], str | None]:
    """A parser that finds the first JSON object with text under ``name``, in prose or a fence as well."""

    def parse(answer: str) -> str | None:
        for value in objects(answer):
            text = value.get(name)
            if isinstance(text, str) and text.strip():
                return _clean(text.strip())
        return None

    return parse


def _content(body: bytes) -> str:
    """The answer's text, without lone surrogates. Raises _UnusableError."""
    try:
        content: Any = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _UnusableError("format") from None
    if not isinstance(content, str):
        raise _UnusableError("format")
    return _clean(content)


def _clean(text: str) -> str:
    """The text with lone surrogates replaced: it can be stored and sent."""
    return _SURROGATE.sub("\ufffd", text)


def objects(answer: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of an answer, in prose or a fence as well; at most `OBJECTS` places are looked at."""
    decoder = json.JSONDecoder(strict=False)
    start = -1
    for _ in range(OBJECTS):
        start = answer.find("{", start + 1)
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
        start = end - 1
