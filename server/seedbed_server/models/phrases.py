"""What a noun phrase stands for: the two ends of a claim.

A pronoun of the first or second person is the speaker or the listener; any
other pronoun is nobody we know, and never becomes an end. "My sister" is
"Maya's sister" here, which says whose, and is not an entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from spacy.tokens import Doc, Token

from .entities import Name, Names
from .lexicon import is_word
from .relations import Relation, holder_of
from .trees import is_joined, is_short_chain, is_vocative, parts_of, stands_before
from .vocabulary import KIN, NOT_NAMES, PARTITIVES, PETS, SOMEBODY, TIME_NOUNS, VAGUE_NOUNS, relation

LONGEST_OBJECT = 6
"""Words of the longest object; a longer phrase is no name for anything."""


_FIRST = {"i", "me", "myself", "mine", "we", "us", "ourselves", "i'm", "im"}
_SECOND = {"you", "yourself", "u", "ya", "yourselves"}
_PASSING = {"late", "dear", "poor", "lovely"}
_MINE = {"my", "our", "mine", "ours"}
_YOURS = {"your", "ur", "yours"}
_PRONOUN_TAGS = {"PRP", "PRP$", "WP", "WP$", "WDT", "EX", "DT", "WRB", "PDT"}
_NOT_NOUNS = {
    "it", "he", "she", "they", "them", "him", "her", "this", "that", "these", "those", "what", "who", "'s", "im", "ya",
}  # fmt: skip
_MODIFIERS = {"amod", "compound", "nummod", "nmod", "quantmod", "poss", "case", "advmod", "npadvmod", "punct"}
_DROPPED_TAGS = {"DT", "PDT", "PRP$", "WP$", "WDT", "_SP", "UH"}


_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


@dataclass(frozen=True, slots=True)
class Node:
    """One end of a claim."""

    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One piece of a turn, parsed: who speaks to whom, and what is named in it."""

    doc: Doc
    names: Names
    speaker: str
    listener: str
    quoted: frozenset[int]
    relations: list[Relation] = field(default_factory=list)
    time: datetime | None = None
    referents: dict[int, tuple[Node, ...]] = field(default_factory=dict)
    """Whom a pronoun of the third person stands for, by its token: filled by `references`."""

    def person(self, token: Token) -> Node | None:
        """The one whom a pronoun stands for; None if that is unknown or many, or inside a quotation."""
        if token.i in self.quoted:
            return None
        if (found := self.referents.get(token.i)) is not None:
            return found[0] if len(found) == 1 else None
        word = token.lower_
        name = self.speaker if word in _FIRST or word in _MINE else self.listener if word in _SECOND | _YOURS else ""
        return Node(name, "person") if name else None

    def agents(self, token: Token) -> tuple[Node, ...]:
        """All who act where a phrase is the subject: one, or those for whom "they" stands."""
        if (found := self.referents.get(token.i)) is not None:
            return found
        named = [self.names.at(each.name) for each in self.relations if each.noun == token and not each.negated]
        if len(named) > 1:
            return tuple(self.named(name) for name in named if name is not None)  # "our neighbours Karl and Inge"
        one = self.agent(token)
        return () if one is None else (one,)

    def agent(self, token: Token) -> Node | None:
        """Who acts: a speaker, a name, "Maya's sister", "Maya's company"; None for anything less certain."""
        if token.tag_ in {"PRP", "PRP$"} or token.lower_ in _FIRST | _SECOND:
            return self.person(token)
        name = self.names.at(token)
        if name is not None:
            return None if name.type == "date" or is_vocative(token) else self.named(name)
        return self.described(token) or self.owned(token)

    def described(self, noun: Token) -> Node | None:
        """Somebody by relation, or by a name that is not in `names`."""
        return self.relative(noun) or self.unlisted(noun)

    def named(self, name: Name) -> Node:
        """A name without the word for what it names: "Mirci" of "cat Mirci"."""
        first = name.first
        while first < name.last and stands_before(self.doc[first]):
            first += 1
        return Node(self.doc[first : name.last + 1].text, name.type)

    def unlisted(self, token: Token) -> Node | None:
        """A name that no recogniser found: a proper noun, an unknown word with a capital, or "Dad"."""
        if not token.tag_.startswith("NN") or not token.text[:1].isupper() or is_vocative(token):
            return None
        if token.dep_ == "compound" or (token.lower_ in TIME_NOUNS | NOT_NAMES and not relation(token.text)):
            return None
        if relation(token.text) is not None:
            bare = holder_of(token) is None and relation(token.text) not in PETS
            return Node(token.text, "person") if bare and token.lower_ in KIN and token.tag_ != "NNS" else None
        if token.tag_ not in {"NNP", "NNPS"} and is_word(token):
            return None
        first = token.i
        while first > 0 and (left := self.doc[first - 1]).head == token and left.tag_.startswith("NNP"):
            first -= 1
        return Node(self.doc[first : token.i + 1].text, "other")

    def owned(self, noun: Token) -> Node | None:
        """Somebody's something as the one that acts: "Maya's company"."""
        holder = holder_of(noun)
        if (
            holder is None
            or not is_short_chain(noun)
            or noun.tag_ not in {"NN", "NNS"}
            or noun.lower_ in VAGUE_NOUNS | TIME_NOUNS | {"name"}
        ):
            return None
        owner = self.owner(holder)
        words = [] if owner is None else self._words(noun)
        if owner is None or owner.text == self.listener or not 1 <= len(words) <= LONGEST_OBJECT:
            return None
        said = [word.text for word in words if word.i > holder.i and word.dep_ != "case"]
        return Node(f"{owner.text}'s {' '.join(said)}", "other")

    def located(self, noun: Token) -> Node | None:
        """A thing that has a place: "the office" in "the office is in Rome"."""
        text = self.phrase(noun) if noun.tag_ in {"NN", "NNS"} and noun.lower_ not in VAGUE_NOUNS - {"place"} else ""
        return Node(text, "other") if text else None

    def relative(self, noun: Token) -> Node | None:
        """As in "Maya's sister" for "my sister", or the name that stands beside it; None for other nouns."""
        acts = noun.dep_ == "nsubj" and noun.tag_ == "JJ"  # "my flatmate", which the tagger does not know
        if not (noun.tag_.startswith("NN") or acts) or relation(noun.text) is None or not is_short_chain(noun):
            return None
        for found in self.relations:
            if found.noun == noun and not found.negated and (name := self.names.at(found.name)):
                return self.named(name)
        holder = holder_of(noun)
        if holder is None and noun.dep_ == "conj":
            holder = holder_of(noun.head)  # "my mum and dad"
        owner = self.owner(holder) if holder is not None else None
        if owner is None:
            return None
        said = [child.text for child in noun.lefts if child.dep_ in {"amod", "compound"} and child.text.isalpha()]
        said = [word for word in said if word.casefold() not in _PASSING]
        return Node(f"{owner.text}'s {' '.join([*said[-2:], relation(noun.text) or noun.lower_])}", "person")

    def owner(self, holder: Token) -> Node | None:
        """Who a possessive stands for: "my", "Elena's", "my sister's"; None for "her"."""
        if holder.tag_ in {"PRP", "PRP$"} or holder.lower_ in _MINE | _YOURS:
            return self.person(holder)
        name = self.names.at(holder)
        if name is not None:
            return None if name.type == "date" or is_vocative(holder) else self.named(name)
        return self.described(holder)

    def thing(self, token: Token, subject: Node) -> Node | None:
        """What a phrase names: a person, a name, or a plain phrase; None if it names nothing."""
        if token.tag_ == "PRP" or token.lower_ in _FIRST | _SECOND:
            found = self.person(token)
            return None if found is None or found.text == subject.text else found
        name = self.names.at(token) or self._called(token)
        if name is not None and name.type != "date" and not (name.type == "organisation" and _is_adjective(token)):
            return None if is_vocative(token) else self.named(name)
        if relation(token.text) is not None and (holder := holder_of(token)) is not None:
            found = self.relative(token)
            if found is not None or holder.tag_ == "PRP$" or holder.i in self.quoted:
                return found
        if any(child.dep_ == "compound" and relation(child.text) for child in token.lefts) and holder_of(token):
            return None  # "my sister elena", written low: whose name it is cannot be told from a word for a thing
        if token.lower_ in PARTITIVES and (whole := next(parts_of(token), None)) is not None:
            return self.thing(whole, subject)
        text = self.phrase(token, subject)
        return Node(text, "other") if text else None

    def _called(self, noun: Token) -> Name | None:
        """The name behind a noun that says no more than that it is somebody: "a guy called Oscar"."""
        first = noun.head if noun.dep_ == "conj" else noun
        somebody = noun.lower_ in SOMEBODY or (first.dep_ == "pobj" and relation(noun.text) is not None)
        for child in noun.children if somebody else ():
            if child.dep_ in {"acl", "relcl"} and child.lower_ in {"called", "named"}:
                for each in child.children:
                    if each.dep_ in {"oprd", "dobj", "attr"} and (name := self.names.at(each)) is not None:
                        return name
        return None

    def phrase(self, head: Token, subject: Node | None = None) -> str:
        """The words of a noun phrase, without articles; empty if it names nothing."""
        if _ORDINAL.fullmatch(head.text):
            return ""
        if head.tag_ in _PRONOUN_TAGS or head.tag_ == "CD" or head.lower_ in VAGUE_NOUNS | _NOT_NOUNS | TIME_NOUNS:
            return ""
        if not any(map(str.isalpha, head.text)) or ((name := self.names.at(head)) is not None and name.type == "date"):
            return ""
        words = self._words(head)
        if not 1 <= len(words) <= LONGEST_OBJECT:
            return ""
        text = self.doc[words[0].i : words[-1].i + 1].text
        if words[-1].i - words[0].i + 1 != len(words):
            text = " ".join(word.text for word in words)
        owner = self._other_owner(head, subject)
        return f"{owner}'s {text}" if owner else " ".join(text.split()).strip(" .,-")

    def _other_owner(self, head: Token, subject: Node | None) -> str:
        holder = holder_of(head)
        if holder is None or holder.tag_ != "PRP$":
            return ""
        owner = self.owner(holder)
        return owner.text if owner is not None and (subject is None or owner.text != subject.text) else ""

    def _words(self, head: Token) -> list[Token]:
        words = [*self._before(head), head]
        for child in head.rights:
            if child.dep_ == "nummod" and child.i == words[-1].i + 1 and head.tag_.startswith("NNP"):
                words.append(child)  # "Pixel 8"
            if child.dep_ == "prep" and child.lower_ == "of":
                inner = next((each for each in child.children if each.dep_ == "pobj"), None)
                if inner is None or inner.tag_ in {"PRP", "DT", "WP"}:
                    return []
                words += [child, *self._words(inner)]
        return words

    def _before(self, head: Token) -> Iterator[Token]:
        for child in head.lefts:
            if child.dep_ not in _MODIFIERS or child.tag_ in _DROPPED_TAGS or child.lower_ in {"such", "own"}:
                continue
            if child.tag_ in {"VB", "VBP", "VBZ", "VBD"} or (child.dep_ == "punct" and child.text != "-"):
                continue
            if is_joined(child):
                continue
            yield from (token for token in child.subtree if token.tag_ not in _DROPPED_TAGS)


def _is_adjective(token: Token) -> bool:
    """Whether a token of a nationality or faith describes another: "Italian" in "Italian food"."""
    return token.dep_ in {"amod", "compound", "nmod"}
