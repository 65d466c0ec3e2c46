"""A child process: calls, order, failures, and who outlives whom."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from seedbed_server.errors import PartUnavailableError, StorageFullError
from seedbed_server.processes import Child, Priority, parent

HERE = Path(__file__).parent
TARGET = "workers:create"

Start = Callable[..., Awaitable[Child]]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets child processes import the workers of these tests, and be replaced quickly."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(parent, "FIRST_DELAY", 0.05)


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts children, and stops them after the test."""
    children: list[Child] = []

    async def started(settings: dict[str, Any] | None = None, **options: Any) -> Child:
        child = Child("habits", TARGET, settings or {}, **options)
        children.append(child)
        await child.start()
        await child.wait_ready(60)
        return child

    yield started
    for child in children:
        await child.stop()


def pid_of(child: Child) -> int:
    """The process that runs now."""
    assert child.pid is not None
    return child.pid


async def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until something holds, and fails if it never does."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


async def test_values_and_arrays_cross_unchanged(start: Start) -> None:
    """What goes in comes out, arrays with type, shape and every bit."""
    child = await start()
    value = {"text": "Žižek 東京", "n": -(2**62), "list": [1.5, None, True], "bytes": b"\x00\xff"}
    assert await child.call("echo", {"value": value}, timeout=60) == value
    array = np.array([[1.1, -0.0], [np.inf, 3e-39]], dtype=np.float32)
    reply = await child.call("halves", {"array": array}, timeout=60)
    assert reply["same"].tobytes() == array.tobytes()
    assert reply["same"].shape == (2, 2)
    assert np.array_equal(reply["half"], array / np.float32(2))
    empty = np.empty((0, 384), dtype=np.float32)
    assert (await child.call("echo", {"value": empty}, timeout=60)).shape == (0, 384)


async def test_lone_surrogate_does_not_break_the_channel(start: Start) -> None:
    """A text without a UTF-8 form crosses as something, and the next call works."""
    child = await start()
    assert await child.call("echo", {"value": "x\ud83d"}, timeout=60) == "x?"
    assert await child.call("echo", {"value": "fine"}, timeout=60) == "fine"


async def test_worker_describes_itself_when_ready(start: Start) -> None:
    """State, process id and the worker's own words are there once it is ready."""
    child = await start({"a": 1})
    assert (child.state, child.detail, child.restarts) == ("ready", "ready", 0)
    assert child.info == {"pid": child.pid, "settings": {"a": 1}}


async def test_environment_closes_every_way_outward(start: Start) -> None:
    """Offline switches and thread counts stand before any library is imported."""
    child = await start(threads=2)
    wanted = parent.child_environment(2)
    names = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS"]
    names += ["MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ANONYMIZED_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY"]
    found = await child.call("environment", {"names": names}, timeout=60)
    assert found == {name: wanted[name] for name in names}
    assert found["HF_HUB_OFFLINE"] == "1"
    assert found["OMP_NUM_THREADS"] == "2"


async def test_failure_crosses_as_a_word_only(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """The text of an exception reaches neither the parent nor a log; other calls go on."""
    child = await start()
    with pytest.raises(PartUnavailableError) as caught:
        await child.call("fail", {"text": "CANARY"}, timeout=60)
    assert "CANARY" not in repr(caught.value)
    with pytest.raises(StorageFullError):
        await child.call("full", {}, timeout=60)
    with pytest.raises(PartUnavailableError):
        await child.call("unsendable", {}, timeout=60)
    with pytest.raises(PartUnavailableError):
        await child.call("no_such_operation", {}, timeout=60)
    await child.call("noise", {"text": "CANARY"}, timeout=60)
    assert await child.call("echo", {"value": 1}, timeout=60) == 1
    assert child.restarts == 0
    out, err = capfd.readouterr()
    assert "fail failed: ValueError at workers.py:" in err
    assert "CANARY" not in out + err


async def test_urgent_overtakes_bulk_between_steps(start: Start, tmp_path: Path) -> None:
    """A query does not wait for the bulk work that came first, only for the running step."""
    child, hold = await start(), tmp_path / "hold"
    bulk = asyncio.create_task(child.call("steps", {"word": "b", "count": 20, "hold": str(hold)}, timeout=60))
    later = asyncio.create_task(child.call("steps", {"word": "c", "count": 2}, timeout=60))
    await until(hold.exists)
    seen = await child.call("note", {"word": "urgent"}, priority=Priority.URGENT, timeout=60)
    assert seen == [*(f"b{n}" for n in range(10)), "urgent"]
    hold.unlink()
    order = await bulk
    assert [word for word in order if word.startswith("b")] == [f"b{n}" for n in range(20)]
    assert (await later)[-2:] == ["c0", "c1"]


async def test_cancelled_call_is_dropped_and_confuses_nothing(start: Start, tmp_path: Path) -> None:
    """A cancelled call stops working, one not begun is never begun, and later replies are their own."""
    child, hold = await start(), tmp_path / "hold"
    running = asyncio.create_task(child.call("steps", {"word": "r", "count": 6, "hold": str(hold)}, timeout=60))
    waiting = asyncio.create_task(child.call("note", {"word": "never"}, timeout=60))
    await until(hold.exists)
    waiting.cancel()  # first: when the one before it ends, it would begin
    await asyncio.sleep(0)
    running.cancel()
    replies = await asyncio.gather(*(child.call("echo", {"value": n}, timeout=60) for n in range(50)))
    assert replies == list(range(50))
    hold.unlink()
    assert await child.call("note", {"word": "end"}, timeout=60) == ["r0", "r1", "r2", "end"]
    assert child.restarts == 0


async def test_call_past_its_timeout_has_the_hanging_child_replaced(start: Start) -> None:
    """A child that answers nothing is killed; every call that waits for it fails; a new one works."""
    child = await start()
    first = pid_of(child)
    hanging = asyncio.create_task(child.call("hang", {}, timeout=0.5))
    behind = asyncio.create_task(child.call("echo", {"value": 1}, timeout=60))
    for call in (hanging, behind):
        with pytest.raises(PartUnavailableError):
            await call
    await until(lambda: child.restarts == 1)
    await child.wait_ready(60)
    assert child.pid != first
    assert not psutil.pid_exists(first)
    assert await child.call("echo", {"value": 2}, timeout=60) == 2


async def test_call_past_its_timeout_spares_a_busy_child(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that answers others meanwhile is not hanging: the late call is dropped, the child stays."""
    child, hold = await start(), tmp_path / "hold"
    limits: list[asyncio.Timeout] = []

    def noted(seconds: float | None) -> asyncio.Timeout:
        limits.append(asyncio.timeouts.timeout(seconds))
        return limits[-1]

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "timeout", noted)
        slow = asyncio.create_task(child.call("steps", {"word": "s", "count": 6, "hold": str(hold)}, timeout=60))
        await asyncio.sleep(0)
    await until(hold.exists)
    assert await child.call("echo", {"value": 1}, priority=Priority.URGENT, timeout=60) == 1
    limits[0].reschedule(asyncio.get_running_loop().time())  # now its time is over, however long all that took
    with pytest.raises(PartUnavailableError):
        await slow
    assert await child.call("note", {"word": "end"}, timeout=60) == ["s0", "s1", "s2", "end"]
    assert child.restarts == 0


async def test_unanswered_ping_has_the_child_replaced(start: Start) -> None:
    """Nobody's timeout need pass: the watchdog finds a child that is stopped."""
    child = await start(stall_timeout=2.0)  # long enough for a child that is only slow
    first = pid_of(child)
    os.kill(first, signal.SIGSTOP)
    await until(lambda: child.restarts >= 1)
    await child.wait_ready(60)
    assert child.pid != first


async def test_killed_child_is_replaced_and_its_calls_fail(start: Start) -> None:
    """A call in a child that dies fails at once, and so does one made while there is none."""
    child = await start()
    call = asyncio.create_task(child.call("hang", {}, timeout=60))
    await asyncio.sleep(0.1)
    os.kill(pid_of(child), signal.SIGKILL)
    with pytest.raises(PartUnavailableError):
        await call
    assert child.state != "ready"
    with pytest.raises(PartUnavailableError):
        await child.call("echo", {"value": 1}, timeout=60)
    await child.wait_ready(60)
    assert await child.call("echo", {"value": 1}, timeout=60) == 1


async def test_wait_between_replacements_grows(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that keeps dying is replaced ever more slowly, up to a longest wait."""
    waits: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float) -> None:
        task = asyncio.current_task()
        if task is not None and task.get_name() == "child habits":
            waits.append(seconds)
            seconds = 0
        await sleep(seconds)

    monkeypatch.setattr(parent, "LONGEST_DELAY", 0.15)
    monkeypatch.setattr(asyncio, "sleep", recorded)
    child = await start()
    for died in range(1, 4):
        with pytest.raises(PartUnavailableError):
            await child.call("leave", {}, timeout=60)
        await until(lambda died=died: child.restarts == died)  # type: ignore[misc]
        await child.wait_ready(60)
    assert waits == [0.05, 0.1, 0.15]


async def test_worker_that_cannot_start_is_down_and_says_so() -> None:
    """A factory that fails or hangs leaves the part down, with a fixed sentence, and is tried again."""
    child = Child("habits", TARGET, {"full": True})
    await child.start()
    await until(lambda: child.restarts >= 2)
    with pytest.raises(PartUnavailableError):
        await child.wait_ready(0.05)
    await until(lambda: child.detail == "could not start: StorageFullError")
    await child.stop()
    slow = Child("habits", TARGET, {"hang": True}, boot_timeout=0.5)
    await slow.start()
    await until(lambda: slow.restarts >= 1)
    await slow.stop()
    assert (slow.state, slow.detail, slow.pid) == ("down", "stopped", None)


async def test_stop_lets_the_worker_close(start: Start, tmp_path: Path) -> None:
    """An orderly end runs the worker's close, leaves no process, and is not a restart."""
    child = await start({"closed": str(tmp_path / "closed")})
    pid = pid_of(child)
    await child.stop()
    assert (tmp_path / "closed").read_text() == "closed"
    assert not psutil.pid_exists(pid)
    assert (child.state, child.restarts) == ("down", 0)


async def test_child_ignores_the_signals_meant_for_its_parent(start: Start) -> None:
    """A Ctrl-C or a service manager's SIGTERM to the whole group does not end the child."""
    child = await start()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid_of(child), number)
    assert await child.call("echo", {"value": 1}, timeout=60) == 1
    assert child.restarts == 0


@pytest.mark.parametrize("op", ["echo", "hang"])
def test_child_dies_with_its_parent(op: str) -> None:
    """kill -9 of the parent ends the child within moments, idle or in the middle of work."""
    script = textwrap.dedent(f"""
        import asyncio
        from seedbed_server.processes import Child
        async def main():
            child = Child("habits", "workers:create", {{}})
            await child.start()
            await child.wait_ready(60)
            print(child.pid, flush=True)
            payload = {{"value": 1}} if "{op}" == "echo" else {{}}
            await child.call("{op}", payload, timeout=60)
            await asyncio.sleep(60)
        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        assert child.is_running()
        time.sleep(0.2)
        process.kill()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running()
