"""What other programs export, as messages. The samples are made up, in the form of the exports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seedbed import Message
from seedbed.messages import Media, ToolCall
from seedbed_server.app import exports
from seedbed_server.app.transfer import BadFileError, read_messages

CHAT: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "A cat."},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "Thanks"},
    {"role": "user", "content": "Thanks"},
]


def node(parent: str | None, children: list[str], role: str = "", text: str = "", **more: Any) -> dict[str, Any]:
    said = {
        "id": f"m-{text}",
        "author": {"role": role, "name": None},
        "create_time": 1700000000.5,
        "content": {"content_type": "text", "parts": [text]},
    } | more
    return {"parent": parent, "children": children, "message": said if role else None}


CHATGPT: list[dict[str, Any]] = [
    {
        "title": "Later", "create_time": 1700000100.0, "conversation_id": "later", "current_node": "x",
        "mapping": {"x": node(None, [], "user", "Hello again")},
    },
    {
        "title": "Cats", "create_time": 1700000000.0, "id": "cats", "current_node": "d",
        "mapping": {
            "root": node(None, ["a"]),
            "a": node("root", ["b", "c"], "system", "", metadata={"is_visually_hidden_from_conversation": True}),
            "b": node("a", [], "user", "A draft that was edited"),
            "c": node("a", ["t"], "user", "My cat is called Mikan"),
            "t": node("c", ["d"], "assistant", "hm", content={"content_type": "thoughts", "thoughts": []}),
            "d": node("t", [], "assistant", "A nice name", content={"content_type": "multimodal_text", "parts": ["A nice name", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"}]}),
        },
    },
]  # fmt: skip
CLAUDE: list[dict[str, Any]] = [
    {
        "uuid": "talk", "name": "Trip", "created_at": "2024-05-08T10:00:00.000000Z",
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "We go to Porto", "content": [{"type": "text", "text": "We go to Porto"}], "created_at": "2024-05-08T10:00:01.000000Z", "attachments": [{"file_name": "a.txt", "extracted_content": "Flight at 9"}], "files": []},
            {"uuid": "2", "sender": "assistant", "text": "Enjoy!", "content": [], "created_at": "2024-05-08T10:00:02.000000Z"},
            {"uuid": "3", "sender": "human", "text": "", "content": [{"type": "tool_use"}]},
        ],
    }
]  # fmt: skip


def shown(messages: list[Message]) -> list[tuple[str, str, str, str]]:
    return [(message.session, message.id, message.role, message.text) for message in messages]


def test_a_list_of_a_chat_api() -> None:
    """Parts, calls and results stay what they are; what says nothing is left out; equal messages are two."""
    found = [*exports.messages(CHAT)]
    assert [message.role for message in found] == ["developer", "user", "assistant", "tool", "user", "user"]
    assert found[1].parts == ("What is this?", Media("image/png", uri="data:image/png;base64,AA=="))
    assert found[2].tool_calls == (ToolCall("c1", "look", "{}"),)
    assert found[3].tool_call_id == "c1"
    assert len({message.id for message in found}) == len(found)
    assert found == [*exports.messages(json.loads(json.dumps(CHAT)))]


def test_several_lists_are_several_sessions() -> None:
    """Also when they say the same."""
    found = [*exports.messages([{"messages": CHAT[-1:]}, {"messages": CHAT[-1:]}, {"id": "c", "messages": CHAT[-1:]}])]
    assert [message.session for message in found] == ["conversation 1", "conversation 2", "c"]
    assert len({message.id for message in found}) == 3


def test_chatgpt() -> None:
    """The branch shown last, without thoughts and hidden messages; older conversations first."""
    found = [*exports.messages(CHATGPT)]
    assert [(message.session, message.role, message.text) for message in found] == [
        ("cats", "user", "My cat is called Mikan"),
        ("cats", "assistant", "A nice name"),
        ("later", "user", "Hello again"),
    ]
    assert shown([*exports.messages(CHATGPT)]) == shown(found)
    assert found[0].time == datetime.fromtimestamp(1700000000.5, UTC)
    assert found[1].parts[1] == Media("image/*", uri="file-service://f1")


def test_a_conversation_that_goes_on_from_another_keeps_what_both_hold() -> None:
    """Forks share the ids of their common beginning; each is a session of its own."""
    forks = [{**CHATGPT[-1], "id": name, "conversation_id": name} for name in ("one", "two")]
    found = [*exports.messages(forks)]
    assert len({message.id for message in found}) == len(found) > 2


def test_a_tree_that_bites_its_tail_ends() -> None:
    """A file may hold anything."""
    loop = {
        "id": "l",
        "current_node": "a",
        "mapping": {"a": node("b", [], "user", "A"), "b": node("a", [], "user", "B")},
    }
    assert [message.text for message in exports.messages([loop])] == ["B", "A"]


def test_claude() -> None:
    """Senders become roles, attached text a part; a message without text is left out."""
    found = [*exports.messages(CLAUDE)]
    assert shown(found) == [("talk", "1", "user", "We go to Porto\nFlight at 9"), ("talk", "2", "assistant", "Enjoy!")]
    assert found[1].time == datetime(2024, 5, 8, 10, 0, 2, tzinfo=UTC)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document", [CHAT, CHATGPT, CLAUDE, {"messages": CHAT}], ids=["chat", "chatgpt", "claude", "one"]
)
def test_a_file_is_recognised(tmp_path: Path, document: Any, indent: int | None) -> None:
    """In one line or in many, read twice alike: an import that is repeated stores nothing twice."""
    file = tmp_path / "file.json"
    file.write_text(json.dumps(document, indent=indent), encoding="utf-8")
    found = [*read_messages(file)]
    assert [message.parts for message in found] == [message.parts for message in exports.messages(document)]
    assert found == [*read_messages(file)]


def test_lines_of_a_chat_api(tmp_path: Path) -> None:
    """A message a line, or a conversation a line; ids and sessions of their own are kept."""
    file = tmp_path / "lines.jsonl"
    rows = [
        *CHAT,
        {"messages": CHAT[-2:]},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}], "session": "s", "id": "i"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = [*read_messages(file)]
    assert [message.session for message in found] == ["default"] * 7 + ["conversation 8"] * 2 + ["s"]
    assert len({message.id for message in found}) == len(found)
    assert found[-1].id == "i"


@pytest.mark.parametrize(
    "document",
    [[], [7], [[]], {"a": 1}, [{"mapping": 7}], [{"id": "a", "mapping": {"x": None}}], [{"chat_messages": [7]}],
     [{"uuid": "u", "chat_messages": [{"sender": 7, "text": "x"}]}], [{"role": "user", "content": 7}],
     [{"role": "user", "content": ["x"]}], [{"role": 7, "content": "x"}], [{"messages": 7}]],
)  # fmt: skip
def test_what_is_no_conversation_is_refused(tmp_path: Path, document: Any) -> None:
    """By an error that says nothing of the content."""
    file = tmp_path / "file.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    with pytest.raises(BadFileError, match=r"^(it|line \d+) (holds|cannot|is not)[a-z ]+$"):
        [*read_messages(file)]


def test_conversations_that_count_from_zero_are_kept_apart() -> None:
    """Ids are unique within a conversation: another one's "0" is another message, and the same on every reading."""
    rows = [{"role": "user", "content": "one", "id": "0"}, {"role": "assistant", "content": "two", "id": "1"}]
    other = [{"role": "user", "content": "three", "id": "0"}, {"role": "assistant", "content": "four", "id": "1"}]
    document = [{"messages": rows}, {"messages": other}]
    found = [*exports.messages(document)]
    assert len({message.id for message in found}) == 4
    assert [message.id for message in exports.messages(document)] == [message.id for message in found]
    assert [message.id for message in exports.messages(rows)] == ["0", "1"]


def test_a_result_of_nothing_is_kept() -> None:
    """A tool that returned nothing answered its call."""
    rows = [{"role": "tool", "tool_call_id": "c1", "content": ""}, {"role": "user", "content": ""}]
    assert [message.tool_call_id for message in exports.messages(rows)] == ["c1"]
