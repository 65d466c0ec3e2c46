"""The rules by which claims are held against gold triples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.matching import Gold, Statement, Verdict, judge, lenient, normal, strict, within

LIVES = Statement("Maya", "live in", "Porto")
WORDS = st.lists(st.sampled_from(["red", "old", "car", "of", "Tom"]), min_size=1, max_size=5).map(" ".join)


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("The BBC", "bbc"),
        ("  a   red  Bike ", "red bike"),
        ("Maya\N{RIGHT SINGLE QUOTATION MARK}s sister", "maya's sister"),
        ("an Apple.", "apple"),
        ("Theo", "theo"),
        ("A", "a"),
        ("", ""),
    ],
)
def test_words_are_compared_without_case_article_and_full_stop(said: str, compared: str) -> None:
    assert normal(said) == compared


def test_articles_go_only_from_the_front_and_only_once() -> None:
    assert normal("smell of the sea") == "smell of the sea"
    assert normal("the The") == "the"


@pytest.mark.parametrize(
    ("claim", "matches"),
    [
        (Statement("maya", "Live in", "the porto"), True),
        (Statement("Mayan", "live in", "Porto"), False),
        (Statement("Maya", "lived in", "Porto"), False),
        (Statement("Maya", "live", "Porto"), False),
        (Statement("Maya", "live in", "Old Porto"), False),
        (Statement("Maya", "live in", "Porto", negated=True), False),
        (Statement("Maya", "live in", "Porto", modality="planned"), True),
        (Statement("Porto", "live in", "Maya"), False),
    ],
)
def test_strict_takes_everything_but_the_modality(claim: Statement, matches: bool) -> None:
    assert strict(claim, LIVES) is matches


def test_lenient_forgives_words_round_the_object_and_nothing_else() -> None:
    assert lenient(Statement("Maya", "live in", "the old town of Porto"), LIVES)
    assert lenient(LIVES, Statement("Maya", "live in", "Porto in Portugal"))
    assert not lenient(Statement("Maya", "live in", "Portos"), LIVES)
    assert not lenient(Statement("Maya", "live in", ""), LIVES)
    assert not lenient(Statement("Maya", "live in", "old Porto", negated=True), LIVES)
    assert not lenient(Statement("Maya Lind", "live in", "old Porto"), LIVES)
    assert not lenient(Statement("Maya", "stay in", "old Porto"), LIVES)


@given(WORDS, WORDS)
def test_within_agrees_with_text_in_text(one: str, other: str) -> None:
    """Padded with spaces, words stand in words exactly when text stands in text."""
    first, second = f" {one.casefold()} ", f" {other.casefold()} "
    assert within(one, other) == within(other, one) == (first in second or second in first)


def test_gold_is_read_with_its_other_ways() -> None:
    row = {"subject": "Maya", "predicate": "live in", "object": "Porto", "negated": False, "modality": ""}
    other = row | {"predicate": "be based in", "modality": "planned"}
    read = Gold.read(row | {"or": [other], "optional": True})
    assert read == Gold((LIVES, Statement("Maya", "be based in", "Porto", modality="planned")), optional=True)
    assert Gold.read(row) == Gold((LIVES,))
    with pytest.raises(KeyError):
        Gold.read({"subject": "Maya"})


def test_a_message_is_judged_by_what_is_asked_what_is_allowed_and_what_is_wrong() -> None:
    gold = [
        Gold((LIVES, Statement("Maya", "be based in", "Porto"))),
        Gold((Statement("Maya", "have", "dog"),)),
        Gold((Statement("Maya", "be", "tired"),), optional=True),
    ]
    wrong = Statement("Maya", "be", "dog")
    judged = judge(
        [
            Statement("Maya", "be based in", "Porto"),
            Statement("maya", "be based in", "the Porto"),
            Statement("Maya", "be", "tired"),
            wrong,
        ],
        gold,
    )
    assert judged.verdict == Verdict(asked=2, found=1, right=1, wrong=1, agreeing=1)
    assert judged.missed == (gold[1],)
    assert judged.wrong == (wrong,)


def test_the_modality_is_counted_beside_the_match() -> None:
    planned = Statement("Maya", "live in", "Porto", modality="planned")
    either = Gold((LIVES, planned))
    assert judge([planned], [Gold((LIVES,))]).verdict == Verdict(1, 1, 1, 0, agreeing=0)
    assert judge([planned], [either]).verdict == Verdict(1, 1, 1, 0, agreeing=1)


def test_saying_nothing_where_nothing_is_asked_is_no_mistake() -> None:
    silent = judge([], []).verdict
    assert silent == Verdict()
    assert (silent.precision, silent.recall, silent.f1) == (None, None, None)


def test_shares() -> None:
    verdict = Verdict(asked=4, found=2, right=3, wrong=1) + Verdict(asked=4, found=2)
    assert (verdict.precision, verdict.recall) == (0.75, 0.5)
    assert verdict.f1 == pytest.approx(0.6)
    assert Verdict(asked=1, wrong=1).f1 == 0.0


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        (Statement("He", "like", "it"), 2),
        (Statement("Maya", "see", "Them."), 1),
        (Statement("Maya's sister", "like", "her job"), 0),
        (Statement("Ithaca", "be", "Youghal"), 0),
    ],
)
def test_pronoun_nodes_are_whole_nodes(claim: Statement, count: int) -> None:
    assert claim.pronouns() == count
