"""The exported graph: what networkx reads back, and a page that asks nothing of any network."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import networkx as nx
import pytest

from seedbed import KnowledgeGraph, Message, Statement
from seedbed.client import RemoteMemory
from seedbed_server.app.graph_file import write_graph
from tests.serving import Serving

START = datetime(2026, 1, 10, tzinfo=UTC)
HOSTILE = 'Ghent</script><script>alert("1")</script>\x07'


@pytest.fixture(scope="module")
def memory(ready: Serving) -> RemoteMemory:
    """Facts of which one has ended, one was there twice, and one has a name that would break out of a page."""
    made = ready.client.memory("exported", KnowledgeGraph())
    texts = ("First <b>words</b>.", "Second.", "Third.")
    made.write([Message("user", (text,), time=START + timedelta(days=n), id=f"m{n}") for n, text in enumerate(texts)])
    homes = ("Bruges", HOSTILE, "Bruges")
    made.add_triples([Statement("Kestrel", "live in", home, (f"m{n}",)) for n, home in enumerate(homes)])
    made.add_triples([Statement("Kestrel", "like", "Bruges", ("m0", "m1"))])
    ready.applied(made.name)
    return made


def test_graphml_and_node_link_are_read_back(memory: RemoteMemory, tmp_path: Path) -> None:
    """The same nodes and edges by either way, every time in which a fact held its own edge."""
    for file in (tmp_path / "g.graphml", tmp_path / "g.json"):
        assert write_graph(memory, file, valid_at=None, known_at=None, limit=100) == (3, 4, 0)
    xml = nx.parse_graphml((tmp_path / "g.graphml").read_text(), force_multigraph=True)
    linked = nx.node_link_graph(json.loads((tmp_path / "g.json").read_text()), edges="edges")
    assert isinstance(xml, nx.MultiDiGraph)
    assert isinstance(linked, nx.MultiDiGraph)
    assert set(xml.nodes) == set(linked.nodes)
    assert set(xml.edges(keys=True)) == set(linked.edges(keys=True))
    names = nx.get_node_attributes(xml, "name")
    homes = [(names[b], "valid_to" in d) for _, b, d in xml.edges(data=True) if d["predicate"] == "live in"]
    assert sorted(homes, key=lambda home: (home[0].strip("\x07\ufffd"), home[1])) == [
        ("Bruges", False),
        ("Bruges", True),
        (HOSTILE.replace("\x07", "\ufffd"), True),
    ]
    (liked,) = (d for *_, d in linked.edges(data=True) if d["predicate"] == "like")
    assert liked["source_ids"] == ["m0", "m1"]


def test_as_of(memory: RemoteMemory, tmp_path: Path) -> None:
    """A file of a moment holds what held then; before anything was known, there is nothing."""
    file = tmp_path / "g.json"
    write_graph(memory, file, valid_at=START + timedelta(hours=12), known_at=None, limit=100)
    assert {e["predicate"] for e in json.loads(file.read_text())["edges"]} == {"like", "live in"}
    assert write_graph(memory, file, valid_at=None, known_at=START, limit=100) == (0, 0, 0)


def test_the_page_holds_all_it_needs(memory: RemoteMemory, tmp_path: Path) -> None:
    """No address but those of licences and namespaces, no way out of the data, and the text of every source."""
    file = tmp_path / "g.html"
    write_graph(memory, file, valid_at=START, known_at=None, limit=100)
    page = file.read_text()
    assert "alert(" not in re.sub(r"\\u003c[^<]*", "", page)
    assert re.findall(r"<(?:link|img|iframe|base)\b|\bsrc=|@import|url\(", page.split("/**", 1)[0]) == []
    assert "default-src 'none'" in page
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found.group(1))
    assert {node["name"] for node in data["nodes"]} == {"Kestrel", "Bruges", HOSTILE}
    assert data["messages"]["m0"]["text"] == "First <b>words</b>."
    assert len(data["edges"]) == 4
    assert page.count("The Cytoscape Consortium") == 1


def test_nothing_is_left_out_in_silence(memory: RemoteMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files hold all facts, over all pages of the list; a page that holds fewer says how many it leaves out."""
    monkeypatch.setattr(memory, "triples", partial(memory.triples, page_size=1))
    assert write_graph(memory, tmp_path / "g.json", valid_at=None, known_at=None) == (3, 4, 0)
    assert write_graph(memory, tmp_path / "g.graphml", valid_at=None, known_at=None, limit=3)[1:] == (3, 1)
    monkeypatch.setattr("seedbed_server.app.graph_file.PAGE_FACTS", 2)
    assert write_graph(memory, tmp_path / "g.html", valid_at=None, known_at=None)[1:] == (2, 2)
    page = (tmp_path / "g.html").read_text()
    assert '"left_out": 2}' in page
    assert "older facts are left out" in page
