"""When a claim holds: the times of a clause, and the words that lead to them.

"Since 2019" opens a spell, "until June" ends one, "from 2014 to 2018" does both,
and "for three years" reaches back from now. Any other time is when something
happened or will.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from spacy.tokens import Doc, Token

from .dates import Time, back, count, times
from .vocabulary import DISPOSITIONS, LASTING

_HINT = re.compile(
    r"\d|day\b|week|month|year|night|morrow|morning|decade|spring|summer|autumn|fall|winter|mas\b|easter|halloween"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\b(?P<lead>ever since|since|from|starting(?: in| on)?|as of|until|till|through|to|and|between|by|before|after)"
    r"(?:\s+(?:the|about|around|early|late|mid|at least|in|on))*(?P<end>\s+(?:the )?end of)?\s*\Z",
    re.IGNORECASE,
)
_LASTED = re.compile(
    r"\bfor\s+(?:about |around |almost |nearly |over |more than |the (?:last|past) )?"
    r"(?P<number>\d{1,2}|[a-z]+|a few|a couple of)\s+(?P<unit>day|week|month|year)s?\b",
    re.IGNORECASE,
)
_OPENING = {"since", "ever since", "from", "between", "starting", "starting in", "starting on", "as of"}
_COMPLEMENTS = {"acomp", "amod", "appos", "conj", "advcl"}
_CLOSING = {"until", "till", "through", "to", "and"}


@dataclass(slots=True)
class Spell:
    """The times of one clause."""

    at: list[Time] = field(default_factory=list)
    opened: list[Time] = field(default_factory=list)
    closed: list[tuple[Time, bool]] = field(default_factory=list)
    lasted: tuple[int, str] | None = None
    since: bool = False
    """Whether what is opened began before now, as only "since" says."""

    def bounds(
        self, now: datetime, *, ahead: bool, over: bool, goes_on: bool
    ) -> tuple[datetime | None, datetime | None]:
        """(valid from, valid to), each None where the words say nothing.

        ``ahead``: the clause is about the future; ``over``: about a state that has
        ended; ``goes_on``: one that began in the past and lasts ("have lived").
        """
        begin = end = None
        for time in self.opened or self.at:
            interval = time.interval(now, ahead=ahead and not (self.opened and self.since))
            if interval is not None:
                begin = interval[0]
                end = interval[1] if over and not self.opened else None
                break
        if begin is None and self.lasted is not None and goes_on:
            begin = back(*self.lasted, now)
        for time, whole in self.closed:
            later = time.interval(now, ahead=not over)
            if later is not None:
                end = later[1] if whole else later[0]
                break
        return (begin, end) if begin is None or end is None or begin < end else (begin, None)


def spells(doc: Doc) -> dict[int, Spell]:
    """The spell of every clause that has one, by the token of its verb."""
    text = doc.text
    found: defaultdict[int, Spell] = defaultdict(Spell)
    if not _HINT.search(text):
        return {}
    for time in times(text):
        head = _governor(doc, time.start, time.end)
        if head is None:
            continue
        lead = _LEAD.search(text, max(0, time.start - 40), time.start)
        word = lead["lead"].lower() if lead else ""
        spell = found[head.i]
        if word in _OPENING:
            spell.opened.append(time)
            spell.since = spell.since or word.endswith("since")
        elif word in {"until", "till", "through"} or (word in _CLOSING and spell.opened):
            spell.closed.append((time, word == "through" or bool(lead and lead["end"])))
        elif word not in {"by", "before", "after"}:
            spell.at.append(time)
    for match in _LASTED.finditer(text):
        head = _governor(doc, match.start(), match.end())
        try:
            number = count(match["number"])
        except KeyError:
            continue
        if head is not None:
            found[head.i].lasted = (number, match["unit"].lower())
    return dict(found)


def _governor(doc: Doc, start: int, end: int) -> Token | None:
    """The verb that a stretch of the text belongs to; None where it is the sentence's subject, or belongs to none."""
    span = doc.char_span(start, end, alignment_mode="expand")
    if span is None:
        return None
    token = span.root
    for _ in range(12):
        calls = token.dep_ == "acl" and token.lower_ in {"called", "named"}  # "marries a woman called Ana in May"
        if token.tag_.startswith("VB") and token.dep_ not in {"aux", "auxpass", "amod", "acomp"} and not calls:
            return token
        if token.tag_ == "JJ" and any(child.dep_ == "auxpass" for child in token.children):
            return token  # "has been married"
        if token.tag_ == "JJ" and token.dep_ in _COMPLEMENTS and token.lower_ not in LASTING | DISPOSITIONS:
            return None  # "pregnant, due in July": when the child comes, and not since when she is
        if token.head == token or token.dep_ in {"nsubj", "nsubjpass"}:
            return None
        token = token.head
    return None
