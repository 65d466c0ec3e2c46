"""The graph in the file formats of networkx, so that other tools read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Attributes = Mapping[str, Any]

# What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node_link(nodes: Sequence[Attributes], edges: Sequence[Attributes]) -> dict[str, Any]:
    """Return the graph as node-link data; ``networkx.node_link_graph(data, edges="edges")`` reads it back."""
    return {
        "directed": True,
        "multigraph": True,
        "graph": {},
        "nodes": [dict(node) for node in nodes],
        "edges": [dict(edge) for edge in edges],
    }


def graphml(nodes: Sequence[Attributes], edges: Sequence[Attributes]) -> str:
    """Return the graph as GraphML; ``networkx.parse_graphml(text, force_multigraph=True)`` reads it back.

    GraphML holds no lists and no absence: a list is its JSON, and None is left out.
    """
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node in nodes:
        graph.add_node(node["id"], **_plain(node, ("id",)))
    for edge in edges:
        graph.add_edge(edge["source"], edge["target"], key=edge["key"], **_plain(edge, ("source", "target", "key")))
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _plain(attributes: Attributes, but: Sequence[str]) -> dict[str, Any]:
    kept = {name: value for name, value in attributes.items() if name not in but and value is not None}
    return {name: _value(value) for name, value in kept.items()}


def _value(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
    return _NOT_XML.sub("\ufffd", text) if isinstance(text, str) else text
