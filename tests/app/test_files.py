"""Files that commands write and read: whole or not at all, and a line that says what is wrong."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click.testing
import grpc
import pytest
from rich.progress import Progress
from typer.testing import CliRunner

from seedbed import Client
from seedbed_server.app.commands import app
from seedbed_server.app.evaluate import Options, evaluate
from seedbed_server.app.files import FileError, writing
from tests.client.scripted import Failure, Scripted

BEFORE = "before\n"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def run(*arguments: str, **options: Any) -> click.testing.Result:
    result: Any = CliRunner().invoke(app, arguments, **options)
    return cast("click.testing.Result", result)


def told(ended: click.testing.Result) -> str:
    """What was said; never a traceback."""
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return " ".join(ended.stderr.split())


def half(file: Path, error: type[BaseException]) -> None:
    """Begin to write a file, and fail."""
    with writing(file) as stream:
        stream.write("half")
        stream.flush()
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_file_that_is_not_completed_stays_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    """Whatever ends the writing; and nothing lies beside it."""
    file = tmp_path / "out"
    file.write_text(BEFORE)
    for one in (file, tmp_path / "new"):
        with pytest.raises(error):
            half(one, error)
    assert file.read_text() == BEFORE
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    """A new file has the mode that any program gives one."""
    file, link, new = tmp_path / "out", tmp_path / "link", tmp_path / "new"
    file.write_text(BEFORE)
    file.chmod(0o600)
    link.symlink_to("out")
    for one in (link, new):
        with writing(one) as stream:
            stream.write("after")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode), link.is_symlink()) == ("after", 0o600, True)
    (tmp_path / "plain").touch()
    assert new.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_device_is_written_in_place() -> None:
    """It is no file that could be replaced; what it refuses is told."""
    with writing(Path(os.devnull)) as stream:
        stream.write("x")
    assert not Path(os.devnull).is_file()
    with (
        pytest.raises(FileError, match="/dev/full cannot be written: No space left on device"),
        writing(Path("/dev/full")) as full,
    ):
        full.write("x")


def test_a_call_that_takes_too_long_is_no_matter_of_the_file(tmp_path: Path) -> None:
    """Though its error is an OSError."""
    with pytest.raises(TimeoutError), writing(tmp_path / "out"):
        raise TimeoutError


def test_an_error_of_the_block_is_no_matter_of_the_file(tmp_path: Path) -> None:
    """Also where it is an OSError, and where lines are made while they are written."""

    def lines() -> Iterator[str]:
        yield "one"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError), writing(tmp_path / "out") as stream:
        stream.writelines(lines())
    assert list(tmp_path.iterdir()) == []


def test_a_call_that_fails_is_not_told_as_rankings(tmp_path: Path) -> None:
    """What the client raises comes out as it is."""

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise PermissionError(name)

    data = tmp_path / "data"
    data.write_text('{"conversation": "c", "messages": [], "questions": [{"id": "q", "query": "Who?"}]}\n')
    with Progress(disable=True) as progress, pytest.raises(PermissionError):
        evaluate(cast("Client", Broken()), Options(data, tmp_path / "out", 5, 100), progress)


def test_a_pipe_is_written_in_place() -> None:
    """By a name that leads to no file, as /dev/stdout and a shell's >(command) do."""
    reads, writes = os.pipe()
    with writing(Path(f"/dev/fd/{writes}")) as stream:
        stream.write("through")
    os.close(writes)
    assert os.read(reads, 100) == b"through"
    os.close(reads)


def test_a_file_is_on_the_disk_before_it_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, and under its other name."""
    seen: list[tuple[int, str]] = []
    file = tmp_path / "out"
    file.write_text(BEFORE)
    monkeypatch.setattr(os, "fsync", lambda number: seen.append((os.fstat(number).st_size, file.read_text())))
    with writing(file) as stream:
        stream.write("after")
    assert (seen, file.read_text()) == ([(5, BEFORE)], "after")


def test_a_file_without_permission_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its folder would allow it."""
    file = tmp_path / "out"
    file.write_text(BEFORE)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match="Permission denied"), writing(file):
        pass
    assert file.read_text() == BEFORE


def test_an_export_that_fails_leaves_the_file(address: str, script: Scripted, tmp_path: Path) -> None:
    """An unknown memory, or a server that stops in the middle; what comes from a whole export takes its place."""
    file = tmp_path / "out.jsonl"
    file.write_text(BEFORE)
    assert run("export", "nobody", str(file), "--server", address).exit_code == 5
    script.fail("ExportMemory", Failure(grpc.StatusCode.INTERNAL))
    assert run("export", "maya", str(file), "--server", address).exit_code == 5
    assert file.read_text() == BEFORE
    assert run("export", "maya", str(file), "--server", address).exit_code == 0
    assert json.loads(file.read_text())["content"] == "I live in Oslo."
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


WRITING = (("export", "maya", "{}"), ("graph", "maya", "--out", "{}.json"), ("extract", "LINES", "--out", "{}"),
           ("eval", "recall", "DATA", "--rankings", "{}"))  # fmt: skip
READING = (("import", "maya", "{}"), ("extract", "{}", "--out", "-"), ("eval", "recall", "{}", "--rankings", "OUT"),
           ("eval", "recall", "DATA", "--rankings", "OUT", "--unrelated", "{}"), ("read", "maya", "--ca", "{}"))  # fmt: skip


def filled(arguments: tuple[str, ...], place: str, folder: Path) -> list[str]:
    (folder / "LINES").write_text('{"role": "user", "content": "Hi."}\n')
    (folder / "DATA").write_text('{"conversation": "c", "messages": [], "questions": []}\n')
    known = {name: str(folder / name) for name in ("LINES", "DATA", "OUT")}
    return [known.get(one, one.format(place)) for one in arguments]


@pytest.mark.parametrize("arguments", WRITING, ids=" ".join)
def test_a_place_that_cannot_be_written_to_is_told(address: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """No such folder; a folder; exit code 2."""
    server = () if arguments[0] == "extract" else ("--server", address)
    ended = run(*filled(arguments, "/nodir/x", tmp_path), *server)
    assert (ended.exit_code, "cannot be written: No such file or directory" in told(ended)) == (2, True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.json").mkdir()
    ended = run(*filled(arguments, str(tmp_path / "folder"), tmp_path), *server)
    assert (ended.exit_code, "cannot be written: Is a directory" in told(ended)) == (2, True)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_file_that_cannot_be_read_is_told(address: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Missing; a folder; exit code 2, and no output file."""
    server = () if arguments[0] == "extract" else ("--server", address)
    ended = run(*filled(arguments, "/nodir/[x", tmp_path), *server)
    assert (ended.exit_code, "/nodir/[x cannot be read: No such file or directory" in told(ended)) == (2, True)
    ended = run(*filled(arguments, str(tmp_path), tmp_path), *server)
    assert (ended.exit_code, "cannot be read: Is a directory" in told(ended)) == (2, True)
    assert not (tmp_path / "OUT").exists()


@pytest.mark.parametrize("arguments", [("models", "list"), ("models", "verify"), ("extract", "LINES"), ("serve",)])
def test_a_setting_that_is_none_is_told_by_every_command(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Also by those that only look for the models."""
    ended = run(*filled(arguments, "", tmp_path), env={"SEEDBED_MAX_CALLS": "many"})
    assert (ended.exit_code, told(ended)) == (2, "Settings: max_calls: is not a whole number")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is empty; "),
        (" \n\n", "it is empty; "),
        ("Just words.\n", "line 1 is not a message; "),
        ('\n{"role": "user", "content": "Hi."}\n\n{"role": "user", "content": " "}\n', "line 4: parts holds nothing but"),
        ('{"role": "%s", "content": "Hi."}' % ("r" * 300), "line 1: role is longer than 256 bytes"),
        ('[{"role": "user", "content": "Hi."},\n {"role": "user", "content": "Hi.", "name": "%s"}]' % ("n" * 300),
         "message 2: name is longer than 256 bytes"),
        ('{"role": "user", "parts": [{"text": "a"}], "metadata": {"seedbed.x": {"int_value": 1}}}',
         'line 1: metadata["seedbed.x"] is a reserved key'),
    ],
)  # fmt: skip
def test_an_import_names_the_line_and_what_is_read(address: str, tmp_path: Path, content: str, said: str) -> None:
    """Also for what only the server's rules refuse; blank lines are passed over."""
    file = tmp_path / "in.jsonl"
    file.write_text(content)
    ended = run("import", "maya", str(file), "--server", address)
    assert ended.exit_code == 2
    assert said in told(ended)
    assert "conversations.json of ChatGPT or Claude" in told(ended)


def test_blank_lines_are_no_messages(address: str, tmp_path: Path) -> None:
    """At the beginning, between, and at the end."""
    file = tmp_path / "in.jsonl"
    file.write_text('\n{"role": "user", "content": "One."}\n  \n{"role": "user", "content": "Two."}\n\n')
    assert run("import", "lines", str(file), "--server", address).stdout.startswith("2 imported")


@pytest.mark.parametrize(
    "line", ["{", "[]", "7", '{"conversation": "c"}', '{"conversation": 1, "messages": [], "questions": []}']
)
def test_a_data_set_that_is_none_is_told_by_its_line(address: str, tmp_path: Path, line: str) -> None:
    """Before anything is written anywhere."""
    (tmp_path / "data").write_text(f"\n{line}\n")
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
    rankings = ("--rankings", str(tmp_path / "out"), "--server", address)
    assert "data: line 2 is not a conversation" in told(run("eval", "recall", str(tmp_path / "data"), *rankings))
    assert "cut.gz: it is cut off, or damaged" in told(run("eval", "recall", str(tmp_path / "cut.gz"), *rankings))
    assert not (tmp_path / "out").exists()
