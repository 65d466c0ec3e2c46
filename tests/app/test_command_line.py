"""The command ``seedbed``: against a running server, and where the server cannot start."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click.testing
import pytest
from typer.testing import CliRunner

from seedbed import Client, Message, Statement, testing
from seedbed.messages import Media, ToolCall
from seedbed_server import __version__
from seedbed_server.app.commands import app
from seedbed_server.app.lifecycle import _telling_when_ready
from seedbed_server.app.settings import Settings
from seedbed_server.models.manifest import models
from tests.client import scripted

CANARY = "kanarienvogel"
Run = Callable[..., click.testing.Result]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of the running server."""
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def address(models_dir: Path, data_dir: Path) -> Iterator[str]:
    """A running server, as a user starts one: without tokens, on loopback."""
    settings = ("--set", f"models_dir={models_dir}", "--set", "recall_log=10")
    with testing.server(*settings, data_dir=data_dir) as started:
        yield started


@pytest.fixture
def run(address: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, against that server."""
    monkeypatch.setenv("SEEDBED_SERVER", address)
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments: str, **options: Any) -> click.testing.Result:
        result: Any = CliRunner().invoke(app, arguments, **options)
        return cast("click.testing.Result", result)

    return invoke


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """A command run in this process sets up logs for itself."""
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    yield
    root.handlers[:] = kept
    root.setLevel(level)


def _serve(*arguments: str, models_dir: Path) -> subprocess.CompletedProcess[str]:
    """Run ``seedbed serve`` where it is expected to end by itself."""
    command = (sys.executable, "-m", "seedbed_server", "serve", *arguments)
    environment = os.environ | {"SEEDBED_MODELS_DIR": str(models_dir), "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)


def _told(ended: subprocess.CompletedProcess[str]) -> str:
    """What was said, its lines joined: the width of a terminal does not matter."""
    return " ".join((ended.stdout + ended.stderr).split())


def test_write_then_read_seed_and_recall(run: Run) -> None:
    """What a newcomer types first."""
    assert run("write", "maya", "I live in Oslo.", "--name", "Maya").stdout == "seq 1\n"
    assert (
        run("write", "maya", "-", "--role", "assistant", input="Noted: [bold]Oslo[/bold] :smile:").stdout == "seq 2\n"
    )
    lines = run("read", "maya").stdout.splitlines()
    assert [line.split("  ")[-1] for line in lines] == [
        "Maya: I live in Oslo.",
        "assistant: Noted: [bold]Oslo[/bold] :smile:",
    ]
    assert run("write", "controls", "\x1b[2Jgone\r\x9b" + "x" * 300).exit_code == 0
    assert run("read", "controls").stdout.endswith("user: \ufffd[2Jgone\ufffd\ufffd" + "x" * 300 + "\n")
    seed = run("seed", "maya", "Where does Maya live?", "--max-tokens", "500")
    assert "I live in Oslo." in str(json.loads(seed.stdout))
    assert "tokens" in seed.stderr
    earlier = run("seed", "maya", "Where does Maya live?", "--known-at", "2020-01-01T00:00:00Z")
    assert (json.loads(earlier.stdout), run("recall", "maya", "Oslo", "--known-at", "2020-01-01").stdout) == ([], "")
    hits = run("recall", "maya", "Oslo", "--explain")
    assert "Maya: I live in Oslo." in hits.stdout
    assert "lexical" in hits.stdout
    assert "(#0)" not in hits.stdout  # legs that found nothing are not shown


def test_recalls_tells_why_the_agent_said_that(run: Run) -> None:
    """What was asked and shown, newest first; the texts only if asked for; nothing that a terminal obeys."""
    run("write", "recalled", "I live in Oslo.\x1b[2J", "--name", "Maya")
    run("seed", "recalled", "Where does Maya live? \x1b[2J", "--max-tokens", "500")
    run("recall", "recalled", "Oslo", "--k", "2")
    told = run("recalls", "recalled").stdout
    newest, oldest = told.index('Recall  "Oslo"'), told.index('Seed  "Where does Maya live? \ufffd[2J"')
    assert newest < oldest
    assert "all sessions, k 2" in told[newest:oldest]
    assert "lexical +" in told[newest:oldest]
    assert "session default, at most 500 tokens" in told[oldest:]
    assert "window message" in told[oldest:]
    assert "I live in Oslo." not in told
    assert "> I live in Oslo.\ufffd[2J" in run("recalls", "recalled", "--texts", "--limit", "1").stdout
    assert '"Oslo"' not in run("recalls", "recalled", "--session", "default").stdout
    assert "recall_log ready" in run("status").stdout


def test_recalls_says_that_the_recall_log_is_off(run: Run) -> None:
    """Rather than nothing at all."""
    with scripted.serving(scripted.Scripted()) as address, Client(address) as client:
        client.create_memory("maya")
        ended = run("recalls", "maya", "--server", address)
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert "the recall log is off" in ended.stderr


def test_status_tells_what_runs(run: Run) -> None:
    """Parts; with a memory, how far its derived stores are."""
    run("write", "status", "Hi.")
    told = run("status", "status").stdout
    assert told.startswith(f"seedbed {__version__}\n")
    for part in ("log", "encoder", "tagger", "vectors", "lexical", "entities", "triples", "summaries"):
        assert part in told
    assert run("version").stdout == f"{__version__}\n"


def test_export_then_import_gives_the_same(run: Run, tmp_path: Path, address: str) -> None:
    """And again, and nothing is stored twice."""
    for session, text in (("one", 'Café "東京" 🔥\nline'), ("two", "Bye.")):
        run("write", "exported", text, "--session", session, "--name", "Žižek")
    file = tmp_path / "out.jsonl"
    assert run("export", "exported", str(file)).exit_code == 0
    assert run("export", "exported").stdout == file.read_text(encoding="utf-8")
    assert run("import", "imported", str(file)).stdout == "2 imported, 0 were there already\n"
    assert run("import", "imported", str(file)).stdout == "0 imported, 2 were there already\n"
    with Client(address) as client:
        kept = [
            [(m.id, m.session, m.role, m.name, m.parts, m.time) for m in client.memory(name).messages()]
            for name in ("exported", "imported")
        ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2


def test_decisions_are_exported_and_imported(run: Run, tmp_path: Path, address: str) -> None:
    """With the messages, once; a line that is no decision is refused by its number; old files have none."""
    with Client(address) as client:
        memory = client.memory("decided")
        memory.write([Message("user", ("Hm.",), id="m")])
        memory.add_triples([Statement("Kestrel", "like", "rain", ("m",)), Statement("Hobby", "like", "wind", ("m",))])
    file = tmp_path / "out.jsonl"
    run("export", "decided", str(file))
    assert [*map(list, map(json.loads, file.read_text().splitlines()))][1:] == [["decision"], ["decision"]]
    imported = "1 imported, 0 were there already\n2 decisions, 0 passed over\n"
    assert run("import", "redecided", str(file)).stdout == imported
    assert run("import", "redecided", str(file)).stdout.endswith("0 decisions, 2 passed over\n")
    with Client(address) as client:
        assert {t.object for t in client.memory("redecided").triples()} == {"rain", "wind"}
    cut = run("graph", "redecided", "--out", str(tmp_path / "g.json"), "--limit", "1")
    assert "left out: 1 older fact;" in cut.stderr
    file.write_text('{"decision": {"id": 7, "nothing": 1}}\n')
    refused = run("import", "redecided", str(file))
    assert refused.exit_code == 2
    assert "line 1" in refused.stderr


def test_the_graph_goes_into_a_file_of_the_kind_named(run: Run, tmp_path: Path, address: str) -> None:
    """As of a day too; a file of another kind, or one that cannot be written, is refused."""
    with Client(address) as client:
        memory = client.memory("graphed")
        memory.write([Message("user", ("Hm.",), id="m")])
        said = Statement("Kestrel", "like", "rain", ("m",), valid_from=datetime(2026, 5, 1, tzinfo=UTC))
        memory.add_triples([said])
    file = tmp_path / "graph.json"
    whole = run("graph", "graphed", "--out", str(file))
    assert "2 entities, 1 fact: " in whole.stdout
    assert "left out" not in whole.stderr
    assert [edge["predicate"] for edge in json.loads(file.read_text())["edges"]] == ["like"]
    for then in ("2026-04-30", "2026-04-30T12:00:00Z", "2026-05-01T01:00:00+02:00"):
        assert run("graph", "graphed", "--out", str(file), "--valid-at", then).exit_code == 0
        assert json.loads(file.read_text())["edges"] == []
    refused = run("graph", "graphed", "--out", str(file), "--valid-at", "May")
    assert (refused.exit_code, "is no day or moment" in refused.stderr) == (2, True)
    for wrong in ("graph.png", "no/such/folder/graph.html"):
        assert run("graph", "graphed", "--out", str(tmp_path / wrong)).exit_code == 2


def test_lines_without_an_id_are_imported_once(run: Run, tmp_path: Path) -> None:
    """The same words twice are two messages; the same file twice is one import."""
    file = tmp_path / "lines.jsonl"
    line = '{"role": "user", "content": "The same."}\n'
    file.write_text(line + "\n" + line + '{"role": "user", "content": "Dated.", "time": "2026-03-29T02:30:00"}\n')
    assert run("import", "plain", str(file)).stdout == "3 imported, 0 were there already\n"
    assert run("import", "plain", str(file)).stdout == "0 imported, 3 were there already\n"
    assert "2026-03-29 02:30" in run("read", "plain").stdout


def _row(**fields: object) -> str:
    return json.dumps({"role": "user", "content": CANARY} | fields)


BAD = (
    b"{", b"[]", b"null", b"7", b"{}", CANARY.encode(), b"\xff" + CANARY.encode(), b"[" * 100_000,
    f'"{CANARY}"', f'{{"role": "user", "text": "{CANARY}"}}', f'{{"content": "{CANARY}"}}', _row(role=7),
    _row(content=[CANARY]), _row(time=CANARY), _row(time=7), _row(id=7), _row(session=None), _row(name=[]),
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_named_by_its_number_only(run: Run, tmp_path: Path, bad: str | bytes) -> None:
    """Nothing of its content is shown: the file may hold anybody's words."""
    file = tmp_path / "lines.jsonl"
    file.write_bytes(
        b'{"role": "user", "content": "Hi."}\n\n' + (bad if isinstance(bad, bytes) else bad.encode()) + b"\n"
    )
    gc.collect()  # a finaliser that ran at the bottom of a deep recursion would fail, and be told of
    ended = run("import", "bad", str(file))
    assert ended.exit_code == 2
    assert "line 3 is not a message" in ended.stderr
    assert CANARY not in ended.output
    assert ended.exception is None or isinstance(ended.exception, SystemExit)


def test_a_call_that_fails_ends_with_one_line(run: Run) -> None:
    """And an exit code of its own."""
    ended = run("read", "nobody")
    assert (ended.exit_code, ended.stdout) == (5, "")
    assert ended.stderr.startswith("MemoryNotFoundError: ")
    assert len(ended.stderr.splitlines()) == 1


def test_the_configuration_is_printed_with_secrets_hidden(run: Run, tmp_path: Path) -> None:
    """Every setting, from wherever it came; nothing is started."""
    config = tmp_path / "seedbed.toml"
    config.write_text(f'llm_api_key = "{CANARY}"\nmax_calls = 7\nlog_format = "json"')
    arguments = (
        "--config",
        str(config),
        "--print-config",
        "--data-dir",
        str(tmp_path / "data"),
        "--set",
        "max_calls=8",
    )
    ended = run("serve", *arguments)
    shown = dict(line.split(" = ", 1) for line in ended.stdout.splitlines())
    assert ended.exit_code == 0
    assert shown.keys() == {setting.name for setting in fields(Settings)}
    assert (shown["llm_api_key"], shown["max_calls"], shown["log_format"]) == ("(set)", "8", "json")
    assert CANARY not in ended.output
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "0.0.0.0:0"), "loopback only"),
        (("--set", "max_calls=many"), "max_calls: is not a whole number"),
        (("--set", "max_cals=7"), "max_cals"),
        (("--set", "max_calls"), "is not NAME=VALUE"),
        (("--set", "recall_logg=7"), "--set: has unknown keys: recall_logg (recall_log may be meant)"),
        (("--config", "nowhere.toml"), "nowhere.toml cannot be read: No such file or directory"),
        (("--set", "tokens_file=nowhere.toml"), "tokens_file: nowhere.toml cannot be read: No such file or directory"),
        (("--set", "tokens_file=/"), "tokens_file: / cannot be read: Is a directory"),
        (("--set", "tls_cert=nowhere.crt", "--set", "tls_key=nowhere.key"), "tls_cert"),
        (("--set", f"tls_cert={__file__}", "--set", f"tls_key={__file__}"), "tls_cert"),
    ],
)
def test_a_setting_that_cannot_work_ends_the_start(
    run: Run, models_dir: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, the setting's name, no traceback, and nothing is touched."""
    data = tmp_path / "data"
    ended = run("serve", "--data-dir", str(data), "--set", f"models_dir={models_dir}", *arguments)
    assert ended.exit_code == 2
    assert said in " ".join(ended.output.split())
    assert isinstance(ended.exception, SystemExit)
    assert not data.exists()


def test_a_second_server_on_the_data_directory_ends_at_once(models_dir: Path, data_dir: Path, address: str) -> None:
    """Exit code 3, the directory's name, and the first one goes on."""
    with Client(address) as client:
        written = client.memory("first").write([Message.user("Hi.")]).last_seq
    ended = _serve("--listen", "127.0.0.1:0", "--data-dir", str(data_dir), models_dir=models_dir)
    assert ended.returncode == 3
    assert "Another server runs on this data directory." in _told(ended)
    assert f"{data_dir}; --data-dir or SEEDBED_DATA_DIR names another" in _told(ended)
    assert "Traceback" not in _told(ended)
    with Client(address) as client:
        assert client.memory("first").write([Message.user("Still here.")]).last_seq == written + 1


def test_a_taken_port_ends_the_start(models_dir: Path, tmp_path: Path) -> None:
    """Exit code 3, and the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = _serve("--listen", listen, "--data-dir", str(tmp_path / "data"), models_dir=models_dir)
    assert ended.returncode == 3
    assert "The address cannot be listened on; is it taken?" in _told(ended)
    assert f"{listen}; --listen or SEEDBED_LISTEN names another" in _told(ended)
    assert "Traceback" not in _told(ended)


@pytest.fixture
def copied(models_dir: Path, tmp_path: Path) -> Path:
    """A folder that looks like the models', each file a link to the real one."""
    folder = tmp_path / "weights"
    for model in (model for model in models() if not model.optional):
        for file in model.files:
            link = folder / model.name / file.path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to((models_dir / model.name / file.path).resolve())
    return folder


def _alter(path: Path) -> None:
    """Flip one bit, and keep the size."""
    data = bytearray(path.read_bytes())
    path.unlink()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _shorten(path: Path) -> None:
    path.unlink()
    path.write_text("short")


FAULTS: dict[str, Callable[[Path], None]] = {
    "is altered": _alter,
    "is missing": Path.unlink,
    "has the wrong size": _shorten,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_file_that_is_not_right_is_named(copied: Path, tmp_path: Path, run: Run, fault: str) -> None:
    """By ``serve`` and by ``models verify``: which file, what is wrong, and how to get it."""
    model = models()[0]
    FAULTS[fault](copied / model.name / model.files[-1].path)
    said = f"model {model.name}: {model.files[-1].path} {fault}"
    ended = run("serve", "--data-dir", str(tmp_path / "data"), "--set", f"models_dir={copied}")
    assert ended.exit_code == 4
    assert said in " ".join(ended.output.split())
    assert "seedbed models pull" in ended.output
    assert isinstance(ended.exception, SystemExit)
    assert not (tmp_path / "data").exists()
    verified = run("models", "verify", env={"SEEDBED_MODELS_DIR": str(copied)})
    assert verified.exit_code == 4
    assert said in " ".join(verified.stderr.split())
    shutil.rmtree(copied)


def test_models_that_are_right_are_verified_and_listed(run: Run, models_dir: Path) -> None:
    """Exit code 0; each with its licence."""
    environment = {"SEEDBED_MODELS_DIR": str(models_dir)}
    verified = run("models", "verify", env=environment)
    assert (verified.exit_code, verified.stdout) == (0, "all model files are here and unaltered\n")
    listed = run("models", "list", env=environment).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [model.name for model in models()]
    assert all(model.licence in listed for model in models())


def test_only_a_model_that_there_is_can_be_pulled(run: Run, models_dir: Path) -> None:
    """By name; a name that no manifest has is told, with those that there are."""
    environment = {"SEEDBED_MODELS_DIR": str(models_dir)}
    refused = run("models", "pull", "all-MiniLM-L7", env=environment)
    assert refused.exit_code == 2
    assert "all-mpnet-base-v2" in refused.stderr
    name = models()[0].name
    assert run("models", "pull", name, env=environment).stderr.endswith(f"models: {name} verified by sha256\n")


def test_the_model_is_changed_by_a_command(run: Run) -> None:
    """The one in use needs nothing; one that nobody knows is told in a line."""
    assert run("reembed", models()[0].name).stdout == "0 messages to embed\n"
    assert run("reembed", models()[0].name, "--give-up").stdout == "given up\n"
    ended = run("reembed", "gpt-nobody")
    assert (ended.exit_code, ended.stdout) == (5, "")
    assert ended.stderr.startswith("ModelNotFoundError: ")


def test_a_fresh_server_begins_with_the_encoder_that_is_set(copied: Path, tmp_path: Path, run: Run) -> None:
    """One that is not here, or not known, or the operator's manifest unreadable: each is told before anything is touched."""
    data = str(tmp_path / "data")
    models_dir = f"models_dir={copied}"
    ended = run("serve", "--data-dir", data, "--set", models_dir, "--set", "encoder=all-mpnet-base-v2")
    assert ended.exit_code == 4
    assert f"model all-mpnet-base-v2: is not in {copied}" in " ".join(ended.output.split())
    ended = run("serve", "--data-dir", data, "--set", models_dir, "--set", "encoder=en_core_web_md")
    assert ended.exit_code == 2
    assert "encoder: is none of all-MiniLM-L6-v2, all-mpnet-base-v2" in " ".join(ended.output.split())
    (copied / "manifest.toml").write_text(f"model = '{CANARY}'")
    ended = run("serve", "--data-dir", data, "--set", models_dir)
    assert ended.exit_code == 2
    assert "is not a manifest of models" in " ".join(ended.output.split())
    assert run("models", "list", env={"SEEDBED_MODELS_DIR": str(copied)}).exit_code == 4
    assert not (tmp_path / "data").exists()


def test_set_reaches_every_setting(models_dir: Path, tmp_path: Path) -> None:
    """Also those with a flag of their own, which goes first where both are given."""
    arguments = ("--print-config", "--set", "listen=127.0.0.1:1", "--set", "data_dir=here", "--listen", "127.0.0.1:2")
    shown = dict(line.split(" = ", 1) for line in _serve(*arguments, models_dir=models_dir).stdout.splitlines())
    assert (shown["listen"], shown["data_dir"]) == ("127.0.0.1:2", "here")


def test_what_is_more_than_text_survives_export_and_import(run: Run, tmp_path: Path, address: str) -> None:
    """Tool calls, their answers, metadata, media, several parts."""
    call = ToolCall("1", "look", '{"at": "tea"}')
    messages = [
        Message("assistant", (), tool_calls=(call,), id="a"),
        Message("tool", ("Green.",), tool_call_id="1", id="b"),
        Message(
            "user", ("See:", Media("image/png", data=b"\x89\x00")), metadata={"n": 2**62, "l": (1.5, True, "x")}, id="c"
        ),
    ]
    with Client(address) as client:
        client.memory("rich").write(messages)
        file = tmp_path / "rich.jsonl"
        assert run("export", "rich", str(file)).exit_code == 0
        assert run("import", "rich-again", str(file)).stdout == "3 imported, 0 were there already\n"
        kept = [
            [replace(m, recorded_at=None) for m in client.memory(name).messages()] for name in ("rich", "rich-again")
        ]
    assert kept[0] == kept[1]
    assert kept[1][2].metadata == messages[2].metadata


def test_a_server_says_where_it_keeps_its_data_and_that_it_has_stopped(models_dir: Path, tmp_path: Path) -> None:
    """The directory whole, though it was named by its end; Ctrl-C is an orderly stop."""
    command = (sys.executable, "-m", "seedbed_server", "serve", "--listen", "127.0.0.1:0", "--data-dir", "kept")
    path = os.pathsep.join(os.path.abspath(one) for one in sys.path if one)  # noqa: PTH100 - not resolved
    environment = os.environ | {"SEEDBED_MODELS_DIR": str(models_dir), "COLUMNS": "40", "PYTHONPATH": path}
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        said = [server.stderr.readline() for _ in range(3)]
        server.send_signal(signal.SIGINT)
        said += server.stderr.readlines()
    assert server.returncode == 0
    assert f"It keeps its data in {tmp_path / 'kept'}\n" in said
    assert said[-1].rstrip().endswith("stopped")


async def test_it_is_told_once_when_all_models_are_ready(caplog: pytest.LogCaptureFixture) -> None:
    """Not before the last of them."""
    caplog.set_level(logging.INFO)
    children = [_Loading(), _Loading()]
    telling = _telling_when_ready(*cast("list[Any]", children))
    for child in children:
        await asyncio.sleep(0)
        assert not caplog.messages
        child.ready.set()
    await telling
    assert caplog.messages == ["models are ready"]


class _Loading:
    """A process that is ready when it is told so."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def wait_ready(self, timeout: float) -> None:  # noqa: ASYNC109 - as a child has it
        await asyncio.wait_for(self.ready.wait(), timeout)


def test_a_port_that_is_taken_leaves_nothing_touched(models_dir: Path, tmp_path: Path) -> None:
    """It is found before the directory is made, and gRPC adds no line of its own."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = _serve("--listen", listen, "--data-dir", str(tmp_path / "data"), models_dir=models_dir)
    assert ended.returncode == 3
    assert "add_port" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_what_is_stored_is_for_the_user_of_the_server_alone(address: str, data_dir: Path) -> None:
    """No file of the data directory can be read by anybody else."""
    assert [path for path in data_dir.rglob("*") if path.stat().st_mode & 0o077] == []


def test_a_data_directory_that_cannot_be_made_is_named(models_dir: Path, tmp_path: Path) -> None:
    """Exit code 6, and no traceback."""
    (tmp_path / "file").touch()
    ended = _serve("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "file" / "data"), models_dir=models_dir)
    assert ended.returncode == 6
    assert "The data directory cannot be used." in _told(ended)
    assert "Traceback" not in _told(ended)


def test_conversations_of_another_program_are_imported_once(run: Run, tmp_path: Path) -> None:
    """Each as a session; what is no conversation is refused without a word of its content."""
    file = tmp_path / "conversations.json"
    said = {"uuid": "m", "sender": "human", "text": "We go to Porto", "created_at": "2024-05-08T10:00:01Z"}
    file.write_text(json.dumps([{"uuid": "trip", "chat_messages": [said]}]))
    assert run("import", "claude", str(file)).stdout == "1 imported, 0 were there already\n"
    assert run("import", "claude", str(file)).stdout == "0 imported, 1 were there already\n"
    assert run("read", "claude", "--session", "trip").stdout.endswith("2024-05-08 10:00  user: We go to Porto\n")
    file.write_text(json.dumps([{"title": CANARY}]))
    refused = run("import", "claude", str(file))
    assert refused.exit_code == 2
    assert "no conversation of a known form" in refused.stderr
    assert CANARY not in refused.output


def test_recall_is_evaluated(run: Run, tmp_path: Path) -> None:
    """Rankings of every question, with evidence among the hits; what has no answer finds nothing."""
    sets = Path(__file__).parents[2] / "benchmarks" / "sets"
    unrelated, rankings = tmp_path / "unrelated.txt", tmp_path / "rankings.jsonl"
    unrelated.write_text("# Far.\nHow many moons does Neptune have?\n")
    ended = run(
        "eval", "recall", str(sets / "twins.en.jsonl"), "--rankings", str(rankings), "--unrelated", str(unrelated)
    )
    assert ended.exit_code == 0
    assert "1 of 1 unrelated questions found nothing" in ended.stdout
    asked = json.loads((sets / "twins.en.jsonl").read_text(encoding="utf-8"))["questions"]
    answers = {row["id"]: row for row in map(json.loads, rankings.read_text(encoding="utf-8").splitlines())}
    assert answers.keys() == {question["id"] for question in asked}
    found = [set(question["evidence"]) <= set(answers[question["id"]]["hits"][:5]) for question in asked]
    assert sum(found) > 0.9 * len(found)
    for _ in range(4):
        run("write", "plain", "The weather is fine, and the tram was late again.")
    nothing = run("recall", "plain", "How many moons does Neptune have?", "--k", "3")
    assert nothing.stdout == ""
    assert "nothing is about that; of 3 left out the best has " in nothing.stderr
