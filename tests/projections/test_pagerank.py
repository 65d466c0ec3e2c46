"""PageRank gives what networkx gives."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.projections.pagerank import DAMPING, TOLERANCE, pagerank

NODES = 12
nodes = st.integers(0, NODES - 1)
ties = st.lists(st.tuples(nodes, nodes, st.integers(1, 5)), max_size=40)


@settings(deadline=None)
@given(ties=ties, start=st.none() | st.sets(nodes, min_size=1))
def test_same_as_networkx(ties: list[tuple[int, int, int]], start: set[int] | None) -> None:
    """Ties in any number, with themselves too, nodes without any, with and without a start."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(NODES))
    for a, b, weight in ties:
        graph.add_edge(a, b, weight=graph.get_edge_data(a, b, {"weight": 0})["weight"] + weight)
    expected = nx.pagerank(graph, personalization=dict.fromkeys(start, 1.0) if start else None)
    ends = np.array([tie[:2] for tie in ties], np.intp).reshape(-1, 2)
    begin = np.isin(np.arange(NODES), list(start)).astype(np.float64) if start else None
    found = pagerank(NODES, ends, np.array([tie[2] for tie in ties], np.float64), begin)
    # Either stops near the limit: a last change of NODES * TOLERANCE leaves at most DAMPING / (1 - DAMPING) times that.
    near = NODES * (TOLERANCE + 1e-6) * DAMPING / (1 - DAMPING)  # networkx has 1e-6
    assert found.tolist() == pytest.approx([expected[node] for node in range(NODES)], abs=near)
    assert found.sum() == pytest.approx(1.0)
