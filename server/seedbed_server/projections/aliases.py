"""Names that evidently mean one person: "Sam", where the only such person is Samantha Lee.

Decided when read, from the rows alone, and with a reason, so it can be taken
back, and takes itself back when a second such person turns up. It is kept
conservative, because a wrong join is worse than none.

- A one-word name is joined to a longer one only if both are read as persons; no
  other person could be meant, or only one of them has the same ties as the short
  name; nobody speaks under the short name (who does has a name of their own); and
  no claim stands between the two (who has a sister is not their sister).
- A short form that many are given as their name (Jack, Mia) is joined only for its ties.
- Names that differ only in that one has the short form of the other's first name
  ("Kate Lee", "Katherine Lee") are joined under the same conditions.
- Two spellings of a person's name are joined if they sound the same and have a tie
  in common, or nearly the same, much in common, and one is rare; never if one
  message holds both, if each lives, works or is married elsewhere, if both speak,
  or if a third name is as near.
- Two names of persons are joined where it was said that the one is called the other
  ("my name is Nora Okafor from now on"). The later name stays, unless it is a single
  word that nobody speaks under, and so a nickname.
- "Maya's father", whom a message tells of without a name, is joined to the only one who
  was called her father. Who has a sister may have two, and a wife may be the one before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from seedbed_server.projections.evidence import CLOSE, Evidence
from seedbed_server.projections.joining import Alias, Joined
from seedbed_server.projections.kinship import Kinship
from seedbed_server.projections.names import canonical
from seedbed_server.projections.nicknames import FULL, INVOLVED, NAMES_THEMSELVES
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow
from seedbed_server.projections.spellings import Spellings

PARENT = "the only one who was said to be that parent"
FIRST_NAME = "first name of the only person called so"
SAID = "it was said that this is their name"
SHORT_FORM = "short form of the name of the only person called so"
SHARED = "short for the only person called so of whom the same was said"
SURNAME = "short form of the same first name, with the same other names"
SPELLING = "another spelling, of whom the same was said"

ALIKE, NEARLY = 2, 1
ENOUGH = 2  # in common, where the names do not say it alone


Said = tuple[float, int, int]
NEVER: Said = (float("-inf"), 0, 0)


class Names:
    """What the rows of a memory say of its names, as far as aliases follow from it."""

    def __init__(self) -> None:
        self._forms: dict[str, str] = {}
        self._votes: defaultdict[str, int] = defaultdict(int)  # for a person, less those for another type
        self._speakers: set[str] = set()
        self._tied: set[tuple[str, str]] = set()
        self._related: set[tuple[str, str]] = set()  # as wife and husband are, or sisters
        self._called: dict[tuple[str, str], Said] = {}  # when it was said last
        self._denied: dict[tuple[str, str], Said] = {}  # and when it was denied last
        self._evidence = Evidence()
        self._spellings = Spellings()
        self._kinship = Kinship()
        self._paired: frozenset[str] = frozenset()
        self._by_first: defaultdict[str, set[str]] = defaultdict(set)
        self._by_form: defaultdict[str, set[str]] = defaultdict(set)
        self._evident: dict[str, Alias] | None = {}

    def add(self, mentions: Iterable[MentionRow], claims: Iterable[ClaimRow]) -> None:
        """Take in more rows."""
        for mention in mentions:
            self._seen(mention.entity_id, mention.form, mention.type)
            self._evidence.add_mention(mention)
            if mention.entity_id in self._paired:
                self._evident = None
            if mention.start == UNPLACED and mention.entity_id not in self._speakers:
                self._speakers.add(mention.entity_id)
                self._evident = None
        for claim in claims:
            self._seen(claim.subject_id, claim.subject, claim.subject_type)
            self._seen(claim.object_id, claim.object, claim.object_type)
            tie = (claim.subject_id, claim.object_id)
            if self._kinship.add_claim(claim):
                self._evident = None
            if any(map(self._matters, self._evidence.add_claim(claim))) or not self._paired.isdisjoint(tie):
                self._evident = None
            if claim.predicate == "be called" and claim.modality == "asserted":
                said = self._denied if claim.negated else self._called
                said[tie] = max(said.get(tie, NEVER), (claim.said_at, claim.seq, claim.place))
                self._evident = None
            elif claim.subject_type == claim.object_type == "person" and tie not in self._tied:
                self._tied |= {tie, tie[::-1]}
                self._evident = None
            if claim.predicate in CLOSE and claim.modality == "asserted" and tie not in self._related:
                self._related |= {tie, tie[::-1]}
                self._evident = None

    def evident(self) -> dict[str, Alias]:
        """Return the aliases, by the id of the shorter name; none of them leads to another's shorter name.

        They are worked out again only after what they follow from has changed.
        """
        if self._evident is None:
            self._evident = self._worked_out()
        return self._evident

    def _worked_out(self) -> dict[str, Alias]:
        found = Joined()
        for former, latter in self._said():
            found.join(former, latter, SAID)
        for short, reason, meant in (*self._first_names(), *self._short_forms(), *self._with_surnames()):
            into, shares = self._meant(short, set(map(found.end, meant)), reason)
            if into and (short, into) not in self._tied:
                found.join(short, into, SHARED if shares else reason)
        for variant, name in self._spelt():
            found.join(variant, name, SPELLING)
        for relative, name in self._kinship.meant(found.end):
            if self._is_person(relative) and self._is_person(name) and (relative, name) not in self._tied:
                found.join(relative, name, PARENT)
        return found.aliases()

    def _meant(self, short: str, ids: set[str], reason: str) -> tuple[str, bool]:
        """Whom a short name means among these: the only one, or the only one with the same ties, which is then True."""
        first = self._forms[short].split(" ", 1)[0]
        if len(ids) == 1 and (reason.startswith(FIRST_NAME) or first not in NAMES_THEMSELVES):
            return next(iter(ids)), False
        sharing = {i: shared for i in ids if (shared := self._evidence.shared(short, i))}
        if len(sharing) == 1 and max(sharing.values()) >= ENOUGH:
            return next(iter(sharing)), True
        return "", False

    def _said(self) -> Iterator[tuple[str, str]]:
        for subject, name in sorted(self._called, key=lambda tie: (self._called[tie], tie)):
            tie = (subject, name)
            if tie in self._related or self._denied.get(tie, NEVER) > self._called[tie]:
                continue
            if subject != name and self._is_person(subject) and self._is_person(name):
                nickname = " " not in self._forms[name] and name not in self._speakers
                yield (name, subject) if nickname else (subject, name)

    def _first_names(self) -> Iterator[tuple[str, str, set[str]]]:
        for first, ids in sorted(self._by_first.items()):
            longer = {i for i in ids if " " in self._forms[i] and self._is_person(i)}
            for i in sorted(ids - longer):
                if longer and self._may_be_short(i):
                    yield i, f"{FIRST_NAME}: {first}", longer

    def _short_forms(self) -> Iterator[tuple[str, str, set[str]]]:
        for short in sorted(FULL.keys() & self._by_first.keys()):
            same = {i for i in self._by_first[short] if self._is_person(i)}
            for i in sorted(i for i in same if self._may_be_short(i)):
                full = {j for name in FULL[short] for j in self._by_first.get(name, ()) if self._is_person(j)}
                if full:
                    yield i, f"{SHORT_FORM}: {short}", full | (same - {i})

    def _with_surnames(self) -> Iterator[tuple[str, str, set[str]]]:
        for short in sorted(FULL.keys() & self._by_first.keys()):
            for i in sorted(i for i in self._by_first[short] if " " in self._forms[i]):
                rest = self._forms[i].removeprefix(short)
                full = {j for name in FULL[short] for j in self._by_form.get(name + rest, ()) if self._is_person(j)}
                if full and self._is_person(i) and i not in self._speakers:
                    yield i, SURNAME, full

    def _spelt(self) -> Iterator[tuple[str, str]]:
        """(spelling, name) of the pairs that are one: of names that are one with several, none."""
        one: defaultdict[str, list[str]] = defaultdict(list)
        for (a, b), likeness in self._pairs().items():
            if self._are_one(a, b, likeness):
                one[a].append(b)
                one[b].append(a)
        for a, others in sorted(one.items()):
            if len(others) == 1 and len(one[others[0]]) == 1 and self._rank(a) < self._rank(others[0]):
                yield a, others[0]

    def _are_one(self, a: str, b: str, likeness: int) -> bool:
        if not (self._is_person(a) and self._is_person(b)) or {a, b} <= self._speakers or (a, b) in self._tied:
            return False
        if self._evidence.conflict(a, b):
            return False
        shared = self._evidence.shared(a, b)
        if likeness == ALIKE:
            return shared > 0
        fewer, more = sorted((self._evidence.times(a), self._evidence.times(b)))
        return shared >= ENOUGH and 2 * fewer <= more

    def _rank(self, i: str) -> tuple[bool, int, str]:
        """The name that stays has the greater: whoever speaks under it, then the one that is used more."""
        return (i in self._speakers, self._evidence.times(i), self._forms[i])

    def _pairs(self) -> dict[tuple[str, str], int]:
        pairs = self._spellings.pairs()
        self._paired = frozenset(i for pair in pairs for i in pair)
        return pairs

    def _matters(self, i: str) -> bool:
        """Whether it depends on the ties of a name who is who."""
        first = self._forms[i].split(" ", 1)[0]
        return i in self._paired or first in INVOLVED or len(self._by_first[first]) > 2

    def _may_be_short(self, i: str) -> bool:
        return " " not in self._forms[i] and i not in self._speakers and self._is_person(i)

    def _is_person(self, i: str) -> bool:
        return self._votes[i] > 0

    def _seen(self, i: str, text: str, kind: str) -> None:
        if i not in self._forms:
            self._forms[i] = form = canonical(text)
            self._by_first[form.split(" ", 1)[0]].add(i)
            self._by_form[form].add(i)
            if self._kinship.add_name(i, form):
                self._evident = None
        if kind == "other":
            return  # no vote
        before = self._votes[i]
        self._votes[i] = after = before + (1 if kind == "person" else -1)
        if (before > 0) != (after > 0):
            self._evident = None
        if before <= 0 < after:
            self._spellings.add(i, self._forms[i])
