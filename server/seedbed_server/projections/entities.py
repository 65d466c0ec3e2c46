"""From mentions and claims to entities: one per name, or per set of names that are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from seedbed_server.projections import analysis
from seedbed_server.projections.identity import Identity
from seedbed_server.projections.names import canonical
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow

QUERY_WORDS = 2000  # of a query that are looked at for names
NAME_WORDS = 8  # words of the longest name that is looked for
NAMESAKES = 3  # persons that one first name may mean: of more, nobody can tell who is asked about

ROLES = frozenset({"user", "assistant"})
"""Whom a conversation without names is between."""

# Where votes are equal, the surer kind wins.
TYPE_ORDER = ("person", "location", "organisation", "work", "product", "event", "other")


@dataclass(slots=True)
class Entity:
    """Somebody or something that the conversations name.

    ``mention_count`` counts the places in texts; times are in seconds since 1970,
    0 for never. ``seqs`` are the messages that name it or claim something of it.
    ``written`` counts its names, ``own`` are those that are not of another entity merged into it.
    """

    id: str
    form: str
    mention_count: int = 0
    first_seen: float = 0.0
    last_seen: float = 0.0
    written: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    seqs: set[int] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    _ordered: list[int] = field(default_factory=list, repr=False, compare=False)
    _name: str | None = field(default=None, repr=False, compare=False)  # as long as it holds

    def newest(self, n: int) -> list[int]:
        """The last ``n`` of ``seqs``, ascending."""
        if len(self._ordered) != len(self.seqs):
            self._ordered = sorted(self.seqs)
        return self._ordered[-n:]

    @property
    def name(self) -> str:
        """Its own name, not one merged into it, as most often written; of equals the first by code points.

        Who is known by a role alone ("user") has any other name rather than that.
        """
        if self._name is None:
            names = [text for text in self.own if text not in ROLES] or [*(self.written.keys() - ROLES)] or self.own
            self._name = min(names, key=lambda text: (-self.written[text], text), default=self.form)
        return self._name

    @property
    def type(self) -> str:
        """The type it was most often read as."""
        known = [t for t in TYPE_ORDER if self.types[t]]
        return min(known, key=lambda t: (t == "other", -self.types[t]), default="other")

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names and spellings."""
        return tuple(sorted(self.written.keys() - {self.name}))

    def seen(self, text: str, kind: str, said_at: float, *, own: bool) -> None:
        """Count one use of a name: its ``own``, or that of another merged into it."""
        self._name = None
        if own:
            self.own.add(text)
        self.written[text] += 1
        self.types[kind] += 1
        self.first_seen = min(self.first_seen, said_at) if self.first_seen else said_at
        self.last_seen = max(self.last_seen, said_at)


class Entities:
    """The entities of one memory by id, and by canonical name."""

    def __init__(self, identity: Identity | None = None) -> None:
        self._identity = Identity() if identity is None else identity
        self.by_id: dict[str, Entity] = {}
        self.by_form: dict[str, Entity] = {}
        self.longest = 1  # words of the longest name
        self.unspaced: set[str] = set()  # names in scripts without spaces between words
        self._by_first_word: dict[str, set[str]] = {}

    def add(self, mentions: Iterable[MentionRow], claims: Iterable[ClaimRow]) -> None:
        """Count more mentions, and the ends of claims: an end that is named nowhere else is an entity too."""
        for mention in mentions:
            entity = self._entity(mention.entity_id, mention.form)
            entity.mention_count += mention.start != UNPLACED
            if mention.start != UNPLACED:
                entity.seqs.add(mention.seq)
            entity.seen(mention.text, mention.type, mention.said_at, own=entity.id == mention.entity_id)
        for claim in claims:
            self._end(claim, claim.subject_id, claim.subject, claim.subject_type)
            self._end(claim, claim.object_id, claim.object, claim.object_type)

    def first_named(self, word: str) -> list[Entity]:
        """Persons one of whose names, of several words, begins with ``word``."""
        found = {self.by_form[form].id: self.by_form[form] for form in sorted(self._by_first_word.get(word, ()))}
        return [entity for entity in found.values() if entity.type == "person"]

    def named_in(self, text: str) -> list[Entity]:
        """The entities that a text names, in its order.

        The longest names win. A first name that a few persons have is all of theirs: facts tell them apart by their
        whole names.
        """
        plain = analysis.normalise(text)
        words = plain.split()[:QUERY_WORDS]
        found = {entity.id: entity for entity in self._named(words)}
        for form in sorted(self.unspaced):
            if form in plain:
                found.setdefault(self.by_form[form].id, self.by_form[form])
        return list(found.values())

    def _named(self, words: Sequence[str]) -> Iterator[Entity]:
        longest = min(NAME_WORDS, self.longest)
        at = 0
        while at < len(words):
            for size in range(min(longest, len(words) - at), 0, -1):
                entity = self.by_form.get(canonical(" ".join(words[at : at + size])))
                if entity is not None:
                    yield entity
                    at += size
                    break
            else:
                namesakes = self.first_named(canonical(words[at]))
                if len(namesakes) <= NAMESAKES:
                    yield from namesakes
                at += 1

    def _end(self, claim: ClaimRow, entity_id: str, text: str, kind: str) -> None:
        entity = self._entity(entity_id, canonical(text))
        entity.seen(text, kind, claim.said_at, own=entity.id == entity_id)
        entity.seqs.add(claim.seq)

    def _entity(self, name_id: str, form: str) -> Entity:
        """The entity that a name belongs to."""
        entity_id = self._identity.of(name_id)
        entity = self.by_id.get(entity_id)
        if entity is None:
            entity = self.by_id[entity_id] = Entity(entity_id, form)
        if entity_id == name_id:
            entity.form = form
        if form not in self.by_form:
            self.by_form[form] = entity
            if analysis.is_unspaced(form):
                self.unspaced.add(form)
            words = form.split(" ")
            self.longest = max(self.longest, len(words))
            if len(words) > 1:
                self._by_first_word.setdefault(words[0], set()).add(form)
        return entity
