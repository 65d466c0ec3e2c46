"""What a query names exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.recall.exact import Exact, exact_terms
from seedbed_server.recall.postings import Postings


@pytest.mark.parametrize(
    ("query", "identifiers"),
    [
        ("Where is ORD-48213-K?", {"48213", "ord-48213-k"}),
        ("E42 and ORA-00942's cause", {"e42", "00942", "ora-00942"}),
        ("0x80070057", {"0x80070057"}),
        ("call 555-0123-4567 or 7319", {"0123", "4567", "555-0123-4567", "7319"}),
        ("the 18th, at 9:30, for 12-week 50/50 3.5 km", set()),
        ("注文ABC-1234はどこ", {"abc-1234", "1234"}),
        ("", set()),
    ],
)
def test_identifiers(query: str, identifiers: set[str]) -> None:
    """Codes and numbers that name something; not what counts, measures or dates."""
    assert set(exact_terms(query).identifiers) == identifiers


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What did Will say?", [("will",)]),
        ("Will they come?", []),
        ("Will's dog", [("will",)]),
        ("Did Ana see the Grand Canyon? Tell me.", [("ana",), ("grand", "canyon")]),
        ("where is D'Arcy", [("d", "arci")]),
        ("Zygmunt?", [("zygmunt",)]),
        ("What I'm told, I say", []),
        ("WHAT DID ANA SAY", []),
        ("open PostgreSQL or an iPhone", [("postgresql",), ("iphon",)]),
    ],
)
def test_names(query: str, names: list[tuple[str, ...]]) -> None:
    """Capitals where no sentence begins; words that stand together are one name."""
    assert list(exact_terms(query).names) == names


rows = st.lists(st.tuples(st.lists(st.sampled_from("vwxy"), max_size=3), st.booleans()), max_size=8)


@given(rows, st.lists(st.sampled_from("vwxyz"), max_size=3), st.lists(st.sampled_from("vwxyz"), max_size=2))
def test_who_holds_what(drawn: list[tuple[list[str], bool]], identifiers: list[str], name: list[str]) -> None:
    """The share of the rare identifiers that a message alive itself holds, and which hold a whole name that few hold."""
    postings = Postings()
    for terms, _ in drawn:
        postings.add(terms)
    alive = np.array([lives for _, lives in drawn], dtype=np.bool_)
    exact = Exact(tuple(dict.fromkeys(identifiers)), (tuple(name),) if name else ())
    holding = {term: [lives and term in terms for terms, lives in drawn] for term in "vwxyz"}
    rare = [term for term in exact.identifiers if sum(holding[term]) <= 3]
    share = [sum(holding[term][row] for term in rare) / len(rare) if rare else 0 for row in range(len(drawn))]
    assert exact.share(postings, alive).tolist() == pytest.approx(share)
    whole = [all(holding[term][row] for term in name) for row in range(len(drawn))] if name else [False] * len(drawn)
    assert exact.named(postings, alive).tolist() == [held and sum(whole) <= 3 for held in whole]


def test_a_page_of_names_is_bounded() -> None:
    """A query may be as long as a page."""
    exact = exact_terms(" ".join(f"x ID-{number} is aName and" for number in range(5_000)))
    assert len(exact.identifiers) == len(exact.names) == 32
