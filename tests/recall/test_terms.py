"""What of a query is looked for, and which names say who speaks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed.messages import Message
from seedbed_server.projections import analysis
from seedbed_server.projections.lexical import term_row
from seedbed_server.recall.hot import HotMemory, Row
from seedbed_server.recall.stopwords import STOPPED, query_terms


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60))
def test_terms_are_the_querys_own_each_once(query: str) -> None:
    """Any text: no term twice, none invented, none lost but those that only ask."""
    terms, every = query_terms(query), analysis.terms(query)
    assert len(set(terms)) == len(terms)
    kana = {
        term for term in every if len(term) == 2 and all("\u3041" <= sign <= "\u309f" or sign == "ー" for sign in term)
    }
    assert set(every) - STOPPED - kana <= set(terms) <= set(every)
    assert bool(terms) == bool(every)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Where did Maya move to?", ["maya", "move"]),
        ("When will you be there", ["when", "will", "you", "be", "there"]),
        ("What's the PIN of her card?", ["pin", "card"]),
        ("猫はどこにいる", ["猫", "猫は"]),
        ("みかん", ["みか", "かん"]),
        ("¿?  … \u200b", []),
        ("", []),
    ],
)
def test_asking_words_are_dropped_unless_there_is_nothing_else(query: str, terms: list[str]) -> None:
    """Words that only ask go; a query of nothing else keeps them; blanks and punctuation hold nothing."""
    assert query_terms(query) == terms


@pytest.mark.parametrize("name", ["", "Assistant", "assistant", "AI", "Bot", "ASSISTANT"])
def test_an_assistant_without_a_name_of_its_own(name: str) -> None:
    """It is known by its role and a name that says what it is, in any spelling; nobody can ask for it by that name."""
    assert heard("assistant", name).generic_assistant.tolist() == [True]
    assert heard("assistant", name).named(query_terms(f"What did the {name} say?")).tolist() == [False]


@pytest.mark.parametrize(("role", "name"), [("assistant", "Iris"), ("user", "Assistant"), ("user", "")])
def test_others_are_not_taken_for_one(role: str, name: str) -> None:
    """Neither an assistant with a name, nor a user whatever the name."""
    assert heard(role, name).generic_assistant.tolist() == [False]


@pytest.mark.parametrize("name", ["User", "System", "Human", "Agent", "Tool"])
def test_what_speaks_is_not_who(name: str) -> None:
    """A name that only says the kind of speaker names nobody."""
    assert heard("user", name).named(query_terms(f"What did the {name} say?")).tolist() == [False]


@pytest.mark.parametrize(
    ("name", "asked"), [("Maya", "maya's"), ("Jean-Luc", "Luc"), ("Žižek", "zizek"), ("李雷", "李雷")]
)
def test_speakers_are_named_as_people_write(name: str, asked: str) -> None:
    """With an ending, by a part, without accents, in another script."""
    assert heard("user", name).named(query_terms(f"What did {asked} say?")).tolist() == [True]


def heard(role: str, name: str) -> HotMemory:
    """A memory of one message."""
    memory = HotMemory(1, 2, 0)
    memory.add([Row(*term_row(Message(role, ("hello",), name, seq=1, session="s")))], 1)
    return memory
