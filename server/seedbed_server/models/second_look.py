"""Texts read once more as if the supposed names in them were names: what they say then, and did not say before.

Only texts in which a supposed name acts or owns are parsed again, with a capital
that tells the parser; nothing else of the first reading changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.language import Language
from spacy.tokens import Doc

from .contract import Claim
from .entities import Name, Names
from .phrases import Scene
from .relations import relations
from .supposing import acts, capitalised
from .trees import quoted_tokens
from .triples import Triples


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A scene as it was read, the claims that it gave, and its supposed names."""

    scene: Scene
    claims: list[Claim]
    supposed: list[Name]


class SecondLook:
    """Reads scenes again. Holds nothing but the pipeline and what reads claims."""

    def __init__(self, nlp: Language, triples: Triples) -> None:
        self._nlp = nlp
        self._triples = triples

    def claims(self, firsts: Sequence[FirstLook]) -> list[list[Claim]]:
        """For each, the further claims that rest on supposed names, which they name in ``rests_on``."""
        again = [first for first in firsts if any(acts(first.scene.doc, name) for name in first.supposed)]
        texts = [capitalised(first.scene.doc.text, _places(first)) for first in again]
        docs = self._nlp.pipe(texts, batch_size=len(texts), disable=["ner"]) if texts else ()
        found = {id(first): list(self._further(first, doc)) for first, doc in zip(again, docs, strict=True)}
        return [found.get(id(first), []) for first in firsts]

    def _further(self, first: FirstLook, doc: Doc) -> Iterator[Claim]:
        if len(doc) != len(first.scene.doc):
            return  # the capital changed what a word is
        names = Names(doc, (*first.scene.names.all, *first.supposed))
        quoted = quoted_tokens(doc, doc.text)
        scene = replace(first.scene, doc=doc, names=names, quoted=quoted, relations=relations(doc), referents={})
        known = {_key(claim) for claim in first.claims}
        words = [name.text(doc) for name in first.supposed]
        for claim in self._triples.of(scene):
            rests_on = tuple(word for word in words if _is_about(claim, word))
            if rests_on and _key(claim) not in known:
                yield replace(claim, rests_on=rests_on)


def _places(first: FirstLook) -> list[tuple[int, int]]:
    """Where the supposed names stand, in code points."""
    return [(span.start, span.end) for span in Names(first.scene.doc, first.supposed).spans(0)]


def _key(claim: Claim) -> tuple[str, str, str, bool]:
    return (claim.subject.casefold(), claim.predicate, claim.object.casefold(), claim.negated)


def _is_about(claim: Claim, word: str) -> bool:
    """Whether an end of a claim is a name, or somebody or something of theirs."""
    return any(end == word or end.startswith(f"{word}'s ") for end in (claim.subject, claim.object))
