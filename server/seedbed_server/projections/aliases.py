"""Names that evidently mean one person: "Sam", where the only such person is Samantha Lee.

Decided when read, from the rows alone, and with a reason, so it can be taken
back, and takes itself back when a second such person turns up. It is kept
conservative, because a wrong join is worse than none.

- A one-word name is joined to a longer one only if both are read as persons; no
  other person could be meant; nobody speaks under the short name (who does has a
  name of their own); and no claim stands between the two (who has a sister is not
  their sister).
- Two names of persons are joined where it was said that the one is called the other
  ("my name is Nora Okafor from now on"). The later name stays, unless it is a single
  word that nobody speaks under, and so a nickname.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from seedbed_server.projections.names import canonical
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow

FIRST_NAME = "first name of the only person called so"
SAID = "it was said that this is their name"
SHORT_FORM = "short form of the name of the only person called so"

# Short forms that are heard often, and the names that they stand for.
_SHORT = {
    "abby": "abigail", "al": "albert alan alfred", "alex": "alexander alexandra alexis", "andy": "andrew",
    "barb": "barbara", "becky": "rebecca", "ben": "benjamin", "beth": "elizabeth", "bill": "william",
    "bob": "robert", "bobby": "robert", "cathy": "catherine", "charlie": "charles charlotte",
    "chris": "christopher christine christina christian", "dan": "daniel", "danny": "daniel", "dave": "david",
    "deb": "deborah", "ed": "edward edwin edgar", "eddie": "edward", "ellie": "eleanor ellen", "fred": "frederick",
    "gabe": "gabriel", "greg": "gregory", "jake": "jacob", "jen": "jennifer", "jenny": "jennifer", "jim": "james",
    "jo": "joanna josephine joanne", "joe": "joseph", "jon": "jonathan", "josh": "joshua",
    "kate": "katherine catherine kathryn", "katie": "katherine catherine kathryn", "ken": "kenneth",
    "liz": "elizabeth", "maggie": "margaret", "mandy": "amanda", "matt": "matthew", "max": "maximilian maxwell",
    "meg": "megan margaret", "mike": "michael", "nate": "nathan nathaniel", "nick": "nicholas nicolas",
    "pat": "patrick patricia", "pete": "peter", "phil": "philip phillip", "rob": "robert", "ron": "ronald",
    "sam": "samantha samuel samson", "steph": "stephanie", "steve": "steven stephen", "sue": "susan suzanne",
    "ted": "theodore edward", "tim": "timothy", "tom": "thomas", "tony": "anthony", "tori": "victoria",
    "vicky": "victoria", "will": "william", "zach": "zachary",
}  # fmt: skip
_FULL = {short: frozenset(full.split()) for short, full in _SHORT.items()}


class Alias(NamedTuple):
    """``from_id`` is another name of ``into_id``."""

    from_id: str
    into_id: str
    reason: str


class Names:
    """What the rows of a memory say of its names, as far as aliases follow from it."""

    def __init__(self) -> None:
        self._forms: dict[str, str] = {}
        self._votes: defaultdict[str, int] = defaultdict(int)  # for a person, less those for another type
        self._speakers: set[str] = set()
        self._tied: set[tuple[str, str]] = set()
        self._called: dict[tuple[str, str], None] = {}  # in the order in which it was said
        self._by_first: defaultdict[str, set[str]] = defaultdict(set)
        self._evident: dict[str, Alias] | None = {}

    def add(self, mentions: Iterable[MentionRow], claims: Iterable[ClaimRow]) -> None:
        """Take in more rows."""
        for mention in mentions:
            self._seen(mention.entity_id, mention.form, mention.type)
            if mention.start == UNPLACED and mention.entity_id not in self._speakers:
                self._speakers.add(mention.entity_id)
                self._evident = None
        for claim in claims:
            self._seen(claim.subject_id, claim.subject, claim.subject_type)
            self._seen(claim.object_id, claim.object, claim.object_type)
            tie = (claim.subject_id, claim.object_id)
            if claim.predicate == "be called" and claim.modality == "asserted" and not claim.negated:
                self._called[tie] = None
                self._evident = None
            elif claim.subject_type == claim.object_type == "person" and tie not in self._tied:
                self._tied |= {tie, tie[::-1]}
                self._evident = None

    def evident(self) -> dict[str, Alias]:
        """Return the aliases, by the id of the shorter name; none of them leads to another's shorter name.

        They are worked out again only after what they follow from has changed.
        """
        if self._evident is None:
            self._evident = self._worked_out()
        return self._evident

    def _worked_out(self) -> dict[str, Alias]:
        found: dict[str, Alias] = {}
        for former, latter in self._said():
            into = found[latter].into_id if latter in found else latter
            if former != into and former not in found:
                found[former] = Alias(former, into, SAID)
                for i, alias in found.items():
                    if alias.into_id == former:
                        found[i] = alias._replace(into_id=into)
        for short, reason, meant in (*self._first_names(), *self._short_forms()):
            ids = {found[i].into_id if i in found else i for i in meant}
            if len(ids) == 1 and short not in found:
                into = ids.pop()
                if (short, into) not in self._tied:
                    found[short] = Alias(short, into, reason)
        return found

    def _said(self) -> Iterator[tuple[str, str]]:
        for subject, name in self._called:
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
        for short in sorted(_FULL.keys() & self._by_first.keys()):
            same = {i for i in self._by_first[short] if self._is_person(i)}
            for i in sorted(i for i in same if self._may_be_short(i)):
                full = {j for name in _FULL[short] for j in self._by_first.get(name, ()) if self._is_person(j)}
                if full:
                    yield i, f"{SHORT_FORM}: {short}", full | (same - {i})

    def _may_be_short(self, i: str) -> bool:
        return " " not in self._forms[i] and i not in self._speakers and self._is_person(i)

    def _is_person(self, i: str) -> bool:
        return self._votes[i] > 0

    def _seen(self, i: str, text: str, kind: str) -> None:
        if i not in self._forms:
            self._forms[i] = form = canonical(text)
            self._by_first[form.split(" ", 1)[0]].add(i)
        if kind == "other":
            return  # no vote
        before = self._votes[i]
        self._votes[i] = after = before + (1 if kind == "person" else -1)
        if (before > 0) != (after > 0):
            self._evident = None
