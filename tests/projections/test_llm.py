"""The language model client, against a scripted server on a real socket."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.models import llm as room
from seedbed_server.models.llm import Llm, field_of

Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Endpoint:
    """Answers the n-th request by the n-th script, the last one for all that follow."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.requests.append((first, headers, body))
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
            await script(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def endpoint(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Endpoint]:
    monkeypatch.setattr(room, "PAUSE", 0.01)
    endpoint = Endpoint()
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield endpoint
    server.close()


def reply(body: bytes, status: str = "200 OK", headers: str = "") -> Script:
    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)
        await writer.drain()

    return script


def says(content: str) -> Script:
    return reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())


async def hang(writer: asyncio.StreamWriter) -> None:
    await writer.wait_closed()  # until the other end leaves


async def drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flood(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(10_000):
        writer.write(b" " * 1_000_000)
        await writer.drain()


async def cut_off(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    await writer.drain()


async def ask(endpoint: Endpoint, seconds: float = 60.0, key: str = "") -> str:
    llm = Llm(endpoint.url, "small", api_key=key, timeout=seconds)
    try:
        return await llm.ask("Summarise.", "Maya: hello \ud83d", field_of("summary"), max_tokens=100)
    finally:
        await llm.close()


@pytest.mark.parametrize(
    "content",
    [
        '{"summary": "fine"}',
        '```json\n{"summary": "fine"}\n```',
        'Sure! Here {it} is: {"summary": "fine"} Anything else?',
        '<think>{"a": {"b": 1}}</think>{"note": 1, "summary": " fine\n"}',
    ],
    ids=["plain", "fenced", "prosy", "thinking"],
)
async def test_answers_are_found(endpoint: Endpoint, content: str) -> None:
    """The object is found wherever it stands."""
    endpoint.scripts = [says(content)]
    assert await ask(endpoint) == "fine"
    first, headers, body = endpoint.requests[0]
    assert first == "POST /v1/chat/completions HTTP/1.1"
    assert body["model"] == "small"
    assert "authorization" not in headers


async def test_an_answer_is_parsed_in_a_thread(endpoint: Endpoint) -> None:
    """The server goes on meanwhile."""
    endpoint.scripts = [says("fine")]
    llm = Llm(endpoint.url, "small", timeout=60.0)

    def parse(answer: str) -> str | None:
        going_on = threading.Event()
        loop.call_soon_threadsafe(going_on.set)
        return answer if going_on.wait(20) else None

    loop = asyncio.get_running_loop()
    assert await llm.ask("Read.", "hello", parse, max_tokens=100) == "fine"
    await llm.close()


async def test_lone_surrogates_are_replaced(endpoint: Endpoint) -> None:
    """An answer can always be stored and sent on."""
    endpoint.scripts = [says('{"summary": "x\ud83d and \\ud83d"}')]
    answer = await ask(endpoint)
    assert answer.encode().decode() == "x\ufffd and \ufffd"


@pytest.mark.parametrize(
    "bad",
    [
        says("I'd rather not."),
        says('{"summary": "cut sho'),
        says('{"summary": ""}'),
        says("{" * 5000),
        reply(b"no json"),
        reply(b"[" * 100_000),
        reply(b'{"choices": [{"message": {"content": null}}]}'),
        reply(b"{}", "500 Internal Server Error"),
        reply(b"", "302 Found", "Location: http://127.0.0.1:9/elsewhere\r\n"),
        reply(b"\x1f\x8b", headers="Content-Encoding: gzip\r\n"),
        cut_off,
        flood,
    ],
    ids=["prose", "cut", "empty", "braces", "text", "deep", "null", "status", "redirect", "packed", "broken", "huge"],
)
async def test_bad_answers_are_asked_for_once_more(endpoint: Endpoint, bad: Script) -> None:
    """One bad answer costs a second try; two are the end of it, as a part that is down."""
    endpoint.scripts = [bad, says('{"summary": "fine"}')]
    assert await ask(endpoint) == "fine"
    assert len(endpoint.requests) == 2
    endpoint.scripts = [bad]
    with pytest.raises(PartUnavailableError):
        await ask(endpoint)
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize("slow", [hang, drip])
async def test_time_is_bounded(endpoint: Endpoint, slow: Script) -> None:
    """Whoever never finishes is left, even while bytes trickle."""
    endpoint.scripts = [slow]
    with pytest.raises(PartUnavailableError):
        await asyncio.wait_for(ask(endpoint, seconds=0.3), 60)


async def test_nobody_there(endpoint: Endpoint) -> None:
    """A refused connection is a part that is down."""
    endpoint.url = "http://127.0.0.1:1/v1"
    with pytest.raises(PartUnavailableError):
        await ask(endpoint)


async def test_key_is_sent_and_not_shown(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key goes to the endpoint only: neither to a proxy of the environment, nor to any log, nor to an error."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    endpoint.scripts = [reply(b"{}", "401 Unauthorized"), says('{"summary": "fine"}')]
    with caplog.at_level(logging.DEBUG):
        assert await ask(endpoint, key="sk-canary") == "fine"
    assert endpoint.requests[0][1]["authorization"] == "Bearer sk-canary"
    assert "canary" not in caplog.text
