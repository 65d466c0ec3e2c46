"""When two names are evidently one person, and when that cannot be told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.log import Decision, Merge, Split
from seedbed_server.projections.aliases import Names
from seedbed_server.projections.identity import Identity, alias_id
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow


def named(text: str, kind: str = "person", speaks: bool = False) -> MentionRow:
    form = canonical(text)
    return MentionRow(1, 1, UNPLACED if speaks else 0, 1, entity_id(form), form, kind, text, 1.0)


def tied(subject: str, object_: str) -> ClaimRow:
    ends = [(entity_id(canonical(end)), end, "person") for end in (subject, object_)]
    return ClaimRow(1, 1, 0, *ends[0], "sister", *ends[1], 0, "asserted", "", 1.0, 1.0)


def joined(names: Names) -> set[tuple[str, str]]:
    forms = {entity_id(form): form for form in ("sam", "samantha", "samantha lee", "samuel ortiz", "ann", "ann bo")}
    return {(forms[alias.from_id], forms[alias.into_id]) for alias in names.evident().values()}


CASES = [
    ([named("Sam"), named("Samantha Lee")], {("sam", "samantha lee")}, "a short form"),
    ([named("Ann"), named("Ann Bo")], {("ann", "ann bo")}, "a first name"),
    ([named("Sam"), named("Samantha Lee"), named("Samuel Ortiz")], set(), "two that it may be"),
    (
        [named("Sam"), named("Samantha"), named("Samantha Lee")],
        {("sam", "samantha lee"), ("samantha", "samantha lee")},
        "by way of the first name",
    ),
    ([named("Sam", speaks=True), named("Samantha Lee")], set(), "who speaks has a name of their own"),
    ([named("Sam"), named("Samantha Lee", speaks=True)], {("sam", "samantha lee")}, "the longer name may speak"),
    ([named("Sam", "organisation"), named("Samantha Lee")], set(), "no person"),
    ([named("Ann"), named("Ann Bo", "work")], set(), "a book"),
    ([named("Ann Bo"), named("Samantha Lee")], set(), "nobody's short name"),
]


@pytest.mark.parametrize(("mentions", "expected", "what"), CASES, ids=[what for *_, what in CASES])
def test_which_names_are_one(mentions: list[MentionRow], expected: set[tuple[str, str]], what: str) -> None:
    """Only where nobody else could be meant; in whatever portions the rows come."""
    at_once, by_one = Names(), Names()
    at_once.add(mentions, ())
    for mention in mentions:
        by_one.add([mention], ())
        by_one.evident()
    assert joined(at_once) == joined(by_one) == expected, what


def called(subject: str, name: str, negated: int = 0) -> ClaimRow:
    return tied(subject, name)._replace(predicate="be called", negated=negated)


def later(claim: ClaimRow, seq: int) -> ClaimRow:
    return claim._replace(seq=seq, said_at=float(seq))


def test_a_name_that_was_said() -> None:
    """The later name stays; a nickname leads to the name; what is denied joins nothing."""
    people = [named("Ann"), named("Ann Bo"), named("Samantha Lee"), named("Sam")]

    def after(*claims: ClaimRow) -> set[tuple[str, str]]:
        names = Names()
        names.add(people, ())
        names.evident()
        names.add((), claims)
        return joined(names) - joined_before

    names = Names()
    names.add(people, ())
    joined_before = joined(names)
    assert after(called("Ann Bo", "Samantha Lee")) == {("ann bo", "samantha lee"), ("ann", "samantha lee")}
    assert after(called("Samantha Lee", "Ann")) >= {("ann", "samantha lee")}
    assert after(called("Ann Bo", "Samantha Lee", negated=1)) == set()
    assert after(called("Ann Bo", "Samantha Lee"), later(called("Ann Bo", "Samantha Lee", negated=1), 2)) == set()
    assert after(later(called("Ann Bo", "Samantha Lee"), 2), called("Ann Bo", "Samantha Lee", negated=1)) != set()
    assert ("ann bo", "samantha lee") not in after(called("Ann Bo", "Samantha Lee"), tied("Ann Bo", "Samantha Lee"))


def test_names_in_a_chain_and_in_a_circle() -> None:
    """Renamed twice is one person under the last name; each called the other is one person too."""
    people = [named("Ann Bo", speaks=True), named("Samantha Lee", speaks=True), named("Samuel Ortiz", speaks=True)]
    names = Names()
    names.add(people, [called("Ann Bo", "Samantha Lee"), later(called("Samantha Lee", "Samuel Ortiz"), 2)])
    assert joined(names) == {("ann bo", "samuel ortiz"), ("samantha lee", "samuel ortiz")}
    names.add((), [later(called("Samuel Ortiz", "Ann Bo"), 3)])
    assert joined(names) == {("ann bo", "samuel ortiz"), ("samantha lee", "samuel ortiz")}


def test_who_has_a_claim_on_another_is_another() -> None:
    """Ann's sister is Ann Bo: two people."""
    names = Names()
    names.add([named("Ann"), named("Ann Bo")], ())
    assert joined(names) == {("ann", "ann bo")}
    names.add((), [tied("Ann", "Ann Bo")])
    assert joined(names) == set()


def test_an_alias_has_a_reason_and_an_id() -> None:
    """What the user is shown, and can split by."""
    names = Names()
    names.add([named("Sam"), named("Samantha Lee")], ())
    (alias,) = names.evident().values()
    identity = Identity((), names.evident())
    merged = identity.merges[alias_id(alias)]
    assert (merged.reason, merged.since) == ("short form of the name of the only person called so: sam", None)
    assert identity.of(entity_id("sam")) == entity_id("samantha lee")
    assert identity.members(entity_id("samantha lee")) == (entity_id("samantha lee"), entity_id("sam"))


def said(subject: str, predicate: str, object_: str, seq: int = 1, kind: str = "person") -> ClaimRow:
    ends = [(entity_id(canonical(subject)), subject, "person"), (entity_id(canonical(object_)), object_, kind)]
    return ClaimRow(1, seq, 0, *ends[0], predicate, *ends[1], 0, "asserted", "", float(seq), 1.0)


def seen(text: str, *seqs: int) -> list[MentionRow]:
    return [named(text)._replace(seq=seq) for seq in seqs]


def pairs(mentions: list[MentionRow], claims: list[ClaimRow]) -> set[tuple[str, str]]:
    """The aliases by the forms of their names, the same whichever row comes first."""
    found = []
    for rows in (mentions, mentions[::-1]):
        names = Names()
        names.add(rows, claims if rows is mentions else claims[::-1])
        forms = {row.entity_id: row.form for row in mentions}
        forms |= {entity_id(form): form for row in claims for form in map(canonical, (row.subject, row.object))}
        found.append({(forms[a.from_id], forms[a.into_id]) for a in names.evident().values()})
    assert found[0] == found[1]
    return found[0]


LIVES = said("Maya", "sister", "Elena", 1), said("Maya", "sister", "Elenna", 2)
SPELLINGS = [
    ([*seen("Elena", 1, 3), *seen("Elenna", 2)], LIVES, {("elenna", "elena")}, "the same sister"),
    ([*seen("Elena", 1, 3), *seen("Elenna", 2)], (), set(), "nothing in common"),
    ([*seen("Elena", 1, 3), *seen("Elenna", 2, 3)], LIVES, set(), "both in one message"),
    (
        [*seen("Elena", 1, 3), *seen("Elenna", 2)],
        (*LIVES, said("Elena", "live in", "Porto", 4, "location"), said("Elenna", "live in", "Rome", 5, "location")),
        set(),
        "two homes",
    ),
    (
        [*seen("Elena", 1, 3), *seen("Elenna", 2), *seen("Ellena", 4)],
        LIVES,
        {("elenna", "elena")},
        "a third, a stranger",
    ),
    (
        [*seen("Elena", 1, 3), *seen("Elenna", 2), *seen("Ellena", 4)],
        (*LIVES, said("Maya", "sister", "Ellena", 4)),
        set(),
        "three that it may be",
    ),
    (
        [*seen("Mia", 1, 3), *seen("Mya", 2)],
        (said("Jo", "sister", "Mia"), said("Jo", "sister", "Mya", 2)),
        set(),
        "short",
    ),
    (
        [*seen("Daniel", 1, 3), *seen("Daniela", 2)],
        (said("Jo", "boss", "Daniel"), said("Jo", "boss", "Daniela", 2)),
        set(),
        "another ending is another name",
    ),
    (
        [*seen("Marina", 1, 3), *seen("Martina", 2)],
        (said("Jo", "sister", "Marina"), said("Jo", "sister", "Martina", 2)),
        set(),
        "a consonant makes another name",
    ),
    (
        [*seen("Jonathan", 1, 3), *seen("Jonathon", 2)],
        (said("Jo", "boss", "Jonathan"), said("Jo", "boss", "Jonathon", 2)),
        {("jonathon", "jonathan")},
        "a vowel, and rare",
    ),
    (
        [*seen("Jonathan", 1, 3), *seen("Jonathon", 2, 4)],
        (said("Jo", "boss", "Jonathan"), said("Jo", "boss", "Jonathon", 2)),
        set(),
        "a vowel, and neither is rare",
    ),
]


@pytest.mark.parametrize(("mentions", "claims", "expected", "what"), SPELLINGS, ids=[what for *_, what in SPELLINGS])
def test_spellings(
    mentions: list[MentionRow], claims: tuple[ClaimRow, ...], expected: set[tuple[str, str]], what: str
) -> None:
    """Alike is not enough: two spellings are one person where the memory says the same of both."""
    assert pairs(mentions, [*claims]) == expected, what


def test_a_short_name_among_two_people() -> None:
    """Of two whom a short name may mean, it is the one of whom the same was said; of none, if of neither or both."""
    people = [*seen("Liz", 1), *seen("Elizabeth Lee", 2), *seen("Elizabeth Ray", 3)]
    sister = [said("Maya", "sister", "Liz"), said("Maya", "sister", "Elizabeth Lee", 2)]
    assert pairs(people, []) == set()
    assert pairs(people, sister) == {("liz", "elizabeth lee")}
    assert pairs(people, [*sister, said("Maya", "sister", "Elizabeth Ray", 3)]) == set()
    likes = [said(name, "like", "tea", 4, "other") for name in ("Liz", "Elizabeth Lee")]
    assert pairs(people, likes) == set()


def test_a_short_form_that_is_a_name() -> None:
    """Mia may be Maria, and may be Mia; Nora Lee's ties say which Nora is meant, though no table holds her."""
    people = [*seen("Mia", 1), *seen("Maria Lopez", 2)]
    assert pairs(people, []) == set()
    boss = [said("Jo", "boss", "Mia"), said("Jo", "boss", "Maria Lopez", 2)]
    assert pairs(people, boss) == {("mia", "maria lopez")}
    noras = [*seen("Nora", 1), *seen("Nora Lee", 2), *seen("Nora Ray", 3)]
    names = Names()
    names.add(noras, ())
    assert names.evident() == {}
    names.add((), [said("Jo", "boss", "Nora"), said("Jo", "boss", "Nora Lee", 2)])
    assert [alias.into_id for alias in names.evident().values()] == [entity_id("nora lee")]


def test_the_same_surname() -> None:
    """Kate Lee is Katherine Lee, and not Katherine Ray."""
    assert pairs([*seen("Kate Lee", 1), *seen("Katherine Lee", 2), *seen("Katherine Ray", 3)], []) == {
        ("kate lee", "katherine lee")
    }
    assert (
        pairs([*seen("Kate Lee", 1), *seen("Katherine Lee", 2)], [said("Kate Lee", "sister", "Katherine Lee")]) == set()
    )


def test_what_was_split_stays_apart_by_whatever_name() -> None:
    """Sam is not Samantha Lee; nor is he when she turns out to be called otherwise."""
    names = Names()
    names.add([named("Sam"), named("Samantha Lee")], ())
    (alias,) = names.evident().values()
    now = datetime(2024, 1, 1, tzinfo=UTC)
    split = Decision(1, Split(alias_id(alias)), 1, 0, now, None)
    assert not Identity([split], names.evident())
    names.add([named("Samantha Ray")], [called("Samantha Lee", "Samantha Ray")])
    identity = Identity([split], names.evident())
    assert identity.of(entity_id("samantha lee")) == entity_id("samantha ray")
    assert identity.of(entity_id("sam")) == entity_id("sam")


FIRST = [
    "Nora",
    "Nora Lee",
    "Nora Ray",
    "Elena",
    "Elenna",
    "Sam",
    "Samantha",
    "Samantha Lee",
    "Samuel Ray",
    "Kate",
    "Katherine",
    "Kathrine",
]
FIRST += [f"{name}'s {kind}" for name in ("Kate", "Sam") for kind in ("mother", "sister", "mother's mother")]
ROWS = st.tuples(
    st.sampled_from(FIRST),
    st.sampled_from(["sister", "mother", "boss", "like", "live in", "be called"]),
    st.sampled_from(FIRST),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, max_size=12), st.sets(st.sampled_from(FIRST)), st.data())
def test_aliases_do_not_depend_on_the_order(
    rows: list[tuple[str, str, str]], speaking: set[str], data: st.DataObject
) -> None:
    """However rows come, and whenever one looks: the same aliases, none of which leads to another's shorter name."""
    claims = [said(a, words, b, seq) for seq, (a, words, b) in enumerate(rows, 1)]
    ends = [(end, claim.seq) for claim in claims for end in (claim.subject, claim.object) if claim.seq % 2]
    mentions = [mention for end, seq in ends for mention in seen(end, seq)]
    mentions += [named(name, speaks=True) for name in speaking]
    at_once, by_one = Names(), Names()
    at_once.add(mentions, claims)
    for row in data.draw(st.permutations([*mentions, *claims])):
        by_one.add([row] if isinstance(row, MentionRow) else [], [row] if isinstance(row, ClaimRow) else [])
        by_one.evident()
    aliases = at_once.evident()
    assert aliases == by_one.evident()
    assert not {alias.into_id for alias in aliases.values()} & aliases.keys()


def unnamed(*claims: ClaimRow) -> set[tuple[str, str]]:
    """Whom "Maya's father" and the like are, after these claims and whatever is said of them without a name."""
    told = [said(f"Maya's {kind}", "be", "dead", 9, "other") for kind in ("father", "sister", "wife", "boss", "uncle")]
    return {(a, b) for a, b in pairs([], [*claims, *told]) if "'s " in a}


DAD = said("Maya", "father", "Henrik")
RELATIVES = [
    ([DAD], {("maya's father", "henrik")}, "the one who was named"),
    ([DAD, said("Maya", "father", "Ole")], set(), "which of two nobody knows"),
    ([DAD, said("Maya", "father", "Henrik Berg")], {("maya's father", "henrik berg")}, "one by two names"),
    ([DAD, DAD._replace(negated=1)], set(), "denied"),
    (
        [DAD, said("Maya", "father", "Henrik Berg")._replace(negated=1)],
        set(),
        "denied by another name",
    ),
    ([DAD._replace(modality="possible")], set(), "supposed"),
    ([said("Ann", "father", "Henrik")], set(), "another's father"),
    ([said("Maya", "be called", "Maya Lind"), said("Maya Lind", "father", "Henrik")], set(), "of another name of hers"),
    ([DAD, said("Maya's father", "like", "Henrik")], set(), "two in one claim"),
    (
        [said("Maya", kind, "Elena") for kind in ("sister", "wife", "boss", "uncle")],
        set(),
        "of whom one may have had another",
    ),
]


@pytest.mark.parametrize(("claims", "expected", "what"), RELATIVES, ids=[what for *_, what in RELATIVES])
def test_a_relative_without_a_name(claims: list[ClaimRow], expected: set[tuple[str, str]], what: str) -> None:
    """The only one who was called that, however many the claims; said of one, it is found of the other."""
    assert unnamed(*claims) == expected, what


def test_what_a_user_merged_and_split_is_not_joined_by_evidence() -> None:
    """Whoever took two names apart knew better than what is said afterwards; a second merge by a user counts again."""
    sam, lee = entity_id("sam"), entity_id("samantha lee")
    now = datetime(2024, 1, 1, tzinfo=UTC)
    decided = [Decision(1, Merge("m1", lee, sam), 1, 0, now, None), Decision(2, Split("m1"), 1, 0, now, None)]
    names = Names()
    names.add([named("Sam"), named("Samantha Lee")], ())
    assert Identity(decided, names.evident()).of(sam) == sam
    again = Decision(3, Merge("m2", lee, sam), 1, 0, now, None)
    assert Identity([*decided, again], names.evident()).of(sam) == lee
