"""Inputs that break memory servers in practice, on the real server: stored as written, found, and bounded."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from seedbed import Buffer, Hybrid, Media, Message, ToolCall, Vector, Window
from seedbed.client import RemoteMemory
from seedbed.errors import InvalidFieldError, TooLargeError
from seedbed.messages import MetadataValue
from tests.serving import Serving, said

_names = (f"input-{n}" for n in itertools.count())
FILLER = ("The weather was mild.", "Lunch was soup.", "The train was late.", "We talked about films.", "Good night.")


def filled(served: Serving, *texts: str) -> RemoteMemory:
    """A memory with these texts among others."""
    memory = served.client.memory(next(_names), Buffer())
    memory.write([said(text) for text in (*FILLER[:3], *texts, *FILLER[3:])])
    return memory


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("I like C++ pre-edit hooks.", "what's C++ pre-edit key:val AND \""),
        ("The key:val pair is set.", "key:val"),
        ("He said NOT AND OR NEAR.", "NEAR(NOT AND OR)"),
        ('Say "quote" * (now)', '"quote" * (now'),
        ("Drop by -- table 7; select it", "'; select table 7 --"),
        ("The path is ../../etc/hosts", "../../etc/hosts"),
        ("50% off_ertas", "50% off_ertas"),
        ("a^2 ~ b{3} [c]", "a^2 ~ b{3} [c]"),
    ],
)
def test_query_operators_are_words(served: Serving, text: str, query: str) -> None:
    """Text is always text."""
    assert filled(served, text).recall(query, k=1).hits[0].message.text == text


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("D'Arcy", "D'Arcy"),
        ("D\u2019Arcy", "d'arcy"),
        ("Žižek", "zizek"),
        ("Anne-Marie", "anne-marie"),
        ("O.J. Day-Lewis Jr.", "day-lewis"),
        ("co-works...with", "co-works...with"),
        ("Ünal Öz", "Ünal"),
        ("Nguyễn Thị", "nguyen"),
        ("Łukasz", "lukasz"),
        ("Смирнов", "смирнов"),
        ("عمر", "عمر"),
        ("x_æ-12", "x_æ-12"),
        ("王小明", "王小明"),
    ],
)
def test_names_are_data(served: Serving, name: str, asked: str) -> None:
    """With whatever mark: found in a text and as a speaker, and given back as written."""
    text = f"I met {name} at noon."
    memory = filled(served, text)
    assert memory.recall(f"Who is {asked}?", k=1).hits[0].message.text == text
    speaking = served.client.memory(next(_names), Buffer())
    speaking.write([said(other, "Tom") for other in FILLER] + [said("It is raining.", name)])
    hit = speaking.recall(asked, k=1).hits[0].message
    assert (hit.name, hit.text) == (name, "It is raining.")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日、彼女は東京に引っ越したと言った。", "東京"),
        ("我上个月搬到了北京。", "北京"),
        ("그는 지난주에 서울에서 돌아왔다.", "서울"),
        ("ฉันย้ายไปเชียงใหม่เมื่อวานนี้", "เชียงใหม่"),
        ("Wir treffen uns am Café.", unicodedata.normalize("NFD", "Café")),
        (unicodedata.normalize("NFD", "Wir treffen uns am Café."), "café"),
        ("The code is \uff21\uff22\uff11\uff12", "ab12"),
        ("The code is ab12", "\uff21\uff22\uff11\uff12"),
        ("STRASSE und Straße", "straße"),
        ("zero\u200bwidth and so\u00adft", "soft"),
        ("אני גר בחיפה", "בחיפה"),
    ],
)
def test_scripts_and_forms_are_found_and_returned_as_written(served: Serving, text: str, query: str) -> None:
    """Compared under NFKC and case folding; inside a sentence without spaces too."""
    assert filled(served, text).recall(query, k=1).hits[0].message.text == text


def test_an_exact_rare_id_comes_first(ready: Serving) -> None:
    """Order numbers and error codes do not lose to likeness of meaning."""
    texts = [f"Your order number is ORD-{n}-K, and it has been sent." for n in range(48210, 48218)]
    memory = ready.client.memory(next(_names), Buffer())
    memory.write([said("The error code, which one?"), *(said(text) for text in texts), said("E_CONN_4711: refused")])
    ready.applied(memory.name)
    assert memory.recall("What about order ORD-48213-K?").hits[0].message.text == texts[3]
    assert memory.recall("error code E_CONN_4711").hits[0].message.text == "E_CONN_4711: refused"


@pytest.mark.parametrize("query", ["", "   ", "\u200b", "\"'()*:^-+", "?!…", "\x00", "🤷🏽\u200d♀️" * 3])
def test_queries_without_words_find_nothing_that_has_some(served: Serving, query: str) -> None:
    """No error, no hit by chance, a seed without recalled turns."""
    memory = filled(served, "I live in Porto.")
    hits = memory.recall(query).hits
    assert len(hits) in (0, 6)
    if not any(char.isalnum() or unicodedata.category(char) == "So" for char in query):
        assert hits == ()
        assert memory.seed(query, variant=Vector()).entries == ()


def test_sizes_of_memories_and_of_k(served: Serving) -> None:
    """None, one, a thousand equal messages; k from 0 over the size to a million; negative is refused."""
    memory = served.client.memory(next(_names), Buffer())
    served.client.create_memory(memory.name)
    assert memory.recall("tea").hits == ()
    memory.write([said("tea")])
    assert [hit.message.text for hit in memory.recall("tea", k=1_000_000).hits] == ["tea"]
    memory.write([said("tea") for _ in range(999)])
    first = memory.recall("tea", k=3).hits
    assert {hit.message.text for hit in first} == {"tea"}
    assert len({hit.message.seq for hit in first}) == 3
    assert len(memory.recall("tea", k=0).hits) == 10
    assert len(memory.recall("tea", k=1_000_000).hits) == 1000
    with pytest.raises(InvalidFieldError) as refused:
        memory.recall("tea", k=-1)
    assert [field.path for field in refused.value.fields] == ["k"]


@pytest.mark.timeout(240)
def test_a_fact_at_the_end_of_a_long_message_is_found(ready: Serving) -> None:
    """Longer than the encoder's window: read to the end, by words and by meaning."""
    long = "pad " * 25_000 + "the code is 7319"
    memory = filled(ready, long)
    assert memory.recall("what is the code?", k=1).hits[0].message.text == long
    ready.applied(memory.name)
    found = memory.recall("what is the code?", k=1, explain=True)
    assert not found.degraded
    assert found.hits[0].message.text == long
    assert {leg.leg: leg.rank for leg in found.hits[0].legs}["dense"] == 1


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, "🔥" * 20_000, "A1b2" * 25_000, "((a " * 20_000, "\u0301" * 50_000 + "e"],
    ids=["brackets", "emoji", "base64", "mixed", "marks"],
)
def test_runs_of_symbols_are_bounded_and_hold_up_nobody(ready: Serving, text: str) -> None:
    """While one memory's message of this kind is read, another memory's is written, read, and found."""
    hostile = ready.client.memory(next(_names), Buffer())
    hostile.write([said(text), said("Maya moved to Braga.")])
    other = filled(ready, "Maya moved to Porto.")
    hit = other.recall("Where did Maya move?", k=1).hits[0]
    assert hit.message.text == "Maya moved to Porto."
    ready.applied(other.name)
    ready.applied(hostile.name)
    assert hostile.read()[0].text == text
    assert hostile.recall("Where did Maya move?", k=2).hits[0].message.text == "Maya moved to Braga."


def test_an_echo_is_kept_and_never_recalled(ready: Serving) -> None:
    """A seed that an agent writes back is in the log, and in nothing that is made of it."""
    memory = ready.client.memory(next(_names), Hybrid(Window(2), Vector(k=3)), system="Be kind.")
    memory.write([said(f"Tom Hale likes quibbleworts, number {n}.", "Maya") for n in range(5)])
    ready.applied(memory.name)
    before = {entity.id: entity.mention_count for entity in memory.entities()}
    for _ in range(3):
        head = memory.seed("Who likes quibbleworts?").entries[0]
        memory.write([Message(head.role, head.parts), said("Thanks.", "Maya")])
    ready.applied(memory.name)
    assert [m.role for m in memory.read()].count("system") == 3
    hits = memory.recall("Who likes quibbleworts?", k=100).hits
    assert {hit.message.role for hit in hits} == {"user"}
    assert before.items() <= {entity.id: entity.mention_count for entity in memory.entities()}.items()
    seed = memory.seed("Who likes quibbleworts?")
    assert [entry.role for entry in seed.entries].count("system") == 1
    assert seed.entries[0].text.count("Recalled, oldest first:") == 1


def test_what_is_stored_comes_back_as_it_was(served: Serving) -> None:
    """Parts, tool calls, roles, controls, typed metadata: lossless."""
    said_at = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    picture = Media("image/png", data=b"\x89PNG")
    metadata: dict[str, MetadataValue] = {
        "big": 2**63 - 1,
        "small": -(2**63),
        "pi": 3.5,
        "yes": True,
        "none": (),
        "mixed": (1, "a", False),
    }
    messages = [
        Message("user", ("a\x00b\x1b[2K", picture, "after"), "D'Arcy", time=said_at, id="../../x"),
        Message("user", (Media("image/png", uri="https://example.org/a.png"),), time=said_at, id="a/b"),
        Message("assistant", (), tool_calls=(ToolCall("c1", "look", '{"q": "\\u0000"}'),), time=said_at, id="Ü" * 100),
        Message("tool", ("",), tool_call_id="c1", time=said_at, id="_"),
        Message("developer", ("be brief",), time=said_at, id=" "),
        Message("critic", ("no",), time=said_at, id="c", metadata=metadata),
    ]
    memory = served.client.memory(next(_names), Buffer(), session="Ü/../x")
    memory.write(messages)
    stored = memory.read()
    assert [replace(m, seq=0, session="", recorded_at=None) for m in stored] == messages
    assert {m.session for m in stored} == {"Ü/../x"}
    kinds = {key: type(value) for key, value in stored[-1].metadata.items()}
    assert kinds == {"big": int, "small": int, "pi": float, "yes": bool, "none": tuple, "mixed": tuple}


def test_a_lone_surrogate_becomes_a_replacement_character(served: Serving) -> None:
    """As an LLM's reply or an import file may hold one."""
    memory = served.client.memory(next(_names), Buffer())
    memory.write([said("x\ud83d and y")])
    assert [m.text for m in memory.read()] == ["x\ufffd and y"]
    assert memory.recall("x\ud83d").hits[0].message.text == "x\ufffd and y"


@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "_", "Ü" * 128, "acme", "acme-corp", "ACME", " ", "a\nb", "%00", "."]
)
def test_names_of_memories_are_injective(served: Serving, name: str) -> None:
    """Any UTF-8, matched exactly and whole, never a path."""
    memory = served.client.memory(name, Buffer())
    assert memory.write([said(f"I am {name}")]).first_seq == 1
    assert [m.text for m in memory.read()] == [f"I am {name}"]
    assert {hit.message.text for hit in memory.recall("I am").hits} == {f"I am {name}"}


def test_limits_are_refused_at_once_with_the_path(served: Serving) -> None:
    """Too long a query, name, batch; nothing is stored."""
    memory = filled(served)
    with pytest.raises(TooLargeError) as refused:
        memory.recall("x" * 100_001)
    assert (refused.value.code, [f.path for f in refused.value.fields]) == ("RESOURCE_EXHAUSTED", ["query"])
    with pytest.raises(TooLargeError):
        memory.seed("x" * 100_001)
    tea = said("tea")
    for bad in ([], [tea, replace(tea, role="")], [tea] * 1001, [replace(tea, id="x" * 257)]):
        with pytest.raises(InvalidFieldError) as wrong:
            memory.write(bad)
        assert wrong.value.stored == "no"
    twice = [replace(said("tea"), id="same"), replace(said("rain"), id="same")]
    with pytest.raises(InvalidFieldError):
        memory.write(twice)
    assert len(memory.read()) == len(FILLER)


def test_a_small_memory_beside_a_large_one_finds_its_own(served: Serving) -> None:
    """The scope is applied before the ranking, not after the top k."""
    large = served.client.memory(next(_names), Buffer())
    large.write([said(f"Tea number {n} is the best tea.") for n in range(1000)])
    small = served.client.memory(next(_names), Buffer())
    small.write([said("My tea is cold.")])
    assert [hit.message.text for hit in small.recall("tea", k=50).hits] == ["My tea is cold."]
