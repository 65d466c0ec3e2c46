"""A story of five years, told to the real server: the right facts now, and the right ones then."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.serving import Serving

EXAMPLE = Path(__file__).parents[2] / "clients" / "python" / "examples" / "lives.py"


@pytest.fixture(scope="module")
def told(ready: Serving) -> list[str]:
    """What the example prints."""
    lines: list[str] = []
    example = runpy.run_path(str(EXAMPLE))
    example["run"](ready.client, print=lambda line: lines.extend(line.splitlines()))
    return lines


def section(told: list[str], title: str) -> list[str]:
    begin = told.index(title) + 1
    end = next((at for at in range(begin, len(told)) if not told[at].startswith("  ")), len(told))
    return [line.strip() for line in told[begin:end]]


def test_a_new_name_is_the_same_person(told: list[str]) -> None:
    """Since she said so."""
    assert "Nora Okafor is Nora, Nora Lindqvist too: it was said that this is their name" in told


def test_current_facts(told: list[str]) -> None:
    """Under the new name, after a marriage, three moves and two changes of work; of two tastes the later."""
    now = section(told, "Nora now")
    assert "Nora Okafor moved to Aarhus (before: Malmö)" in now
    assert "Nora Okafor works at Vestas (before: Kockums)" in now
    assert "Nora Okafor marries Daniel Okafor" in now
    assert "Nora Okafor hates oysters" in now
    assert not [line for line in now if "loves oysters" in line or "Fjordline" in line]


def test_facts_of_earlier_moments(told: list[str]) -> None:
    """Where she lived and worked, and what she liked, then."""
    then = section(told, "Nora in June 2019")
    assert "Nora Okafor lives in Uppsala (until 13 January 2020)" in then
    assert "Nora Okafor works at Fjordline (until 3 April 2021)" in then
    assert "Nora Okafor loves oysters (until 14 February 2023)" in then
    later = section(told, "Nora in January 2021")
    assert "Nora Okafor moved to Gothenburg (since 13 January 2020; until 3 April 2021; before: Uppsala)" in later
    assert not [line for line in later if "marries" in line or "Aarhus" in line]


def test_a_death_ends_a_home(told: list[str]) -> None:
    """Astrid's, from that day on."""
    now = section(told, "Astrid now")
    assert "Astrid Berg is dead (since 4 October 2022)" in now
    assert not [line for line in now if "Visby" in line]


def test_what_was_known_when(told: list[str]) -> None:
    """An added fact slots into the timeline, and is unknown before it was added."""
    assert section(told, "Where Anders lived") == [
        "2024-05-02 to …: Stavanger ['l27']",
        "2022-10-08 to 2024-05-02: Trondheim ['l22']",
        "2020-01-20 to 2022-10-08: Oslo ['l09']",
        "2017-01-01 to 2019-03-04: Lillehammer ['l09']",
        "2019-03-04 to 2020-01-20: Bergen ['l03']",
        "as known before Lillehammer was added: Stavanger, Trondheim, Oslo, Bergen",
    ]
