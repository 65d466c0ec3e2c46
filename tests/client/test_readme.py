"""What the client's README shows runs as it stands."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest

from seedbed import Custom, Hybrid, Message, Seed, Window
from seedbed_server.log import Log, NewMemory
from seedbed_server.memories.custom import CustomPart, registered
from seedbed_server.memories.view import Ask, View
from tests.client.scripted import Scripted, serving

README = (Path(__file__).parents[2] / "clients" / "python" / "README.md").read_text(encoding="utf-8")
FIRST, ASYNC, MOODS, THROUGH = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
(PROJECT,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("example", [FIRST, ASYNC], ids=["blocking", "asyncio"])
def test_the_clients_write_and_get_a_seed(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Against a server at another address; nothing else is changed."""
    script = Scripted()
    with serving(script) as address:
        found: dict[str, Any] = {}
        exec(example.replace("localhost:7700", address), found)
    assert isinstance(found["seed"], Seed)
    assert found["seed"].messages[-1]["content"] == "I moved to Porto."
    assert script.last("Seed").request.max_tokens == 500
    assert capsys.readouterr().out == ("1 I moved to Porto.\n" if example is ASYNC else "")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What pip makes of the package: its module, and its metadata."""
    project = tomllib.loads(PROJECT)["project"]
    ((group, points),) = project["entry-points"].items()
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *(f"{n} = {at}" for n, at in points.items())]))
    (tmp_path / "moods.py").write_text(MOODS)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    yield
    sys.modules.pop("moods", None)


@pytest.mark.usefixtures("installed")
async def test_the_variant_is_found_by_its_entry_point_and_shows(tmp_path: Path) -> None:
    """As the README names it, with its option."""
    found: dict[str, Any] = {}
    exec(THROUGH, found)
    assert found["variant"] == Hybrid(Window(10), Custom("moods", {"word": "glad"}))
    part = CustomPart(registered())
    part.require(found["variant"])
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    try:
        said = [Message.user(text) for text in ("I am glad.", "It rains.", "So glad!")]
        await log.append("", "maya", "default", said, create=NewMemory(found["variant"], ""))
        record = await log.get("", "maya")
        view = View(log, record, Ask("default"), record.last_seq, None)
        shown = (await part.show(view, found["variant"].parts[1])).shown
    finally:
        await log.close()
    assert [item.text for item in shown.items] == ["Said to be glad: 2 times."]
    assert not shown.degraded
