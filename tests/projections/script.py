"""A tagger that reads "Maya | lives in | Berlin" out of a message, so that what is claimed can be placed exactly."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed_server.models.contract import Claim, Extraction, Span, Turn


class Script:
    """Reads "subject | [not] [maybe] predicate | object; …"; entities are the ends; "?" cannot be read."""

    fingerprint = "script"
    at_once = 32

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.calls: list[int] = []

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        self.turns += turns
        self.calls.append(len(turns))
        return [self._read(turn) for turn in turns]

    async def probe(self) -> None:
        pass

    def _read(self, turn: Turn) -> Extraction | None:
        if turn.text == "?":
            return None
        claims, spans = [], []
        for statement in turn.text.split("; "):
            parts = statement.split(" | ")
            if len(parts) == 3:
                words = parts[1].split()
                negated, possible = "not" in words, "maybe" in words
                predicate = " ".join(w for w in words if w not in ("not", "maybe"))
                modality = "possible" if possible else "asserted"
                claims.append(Claim(parts[0], predicate, parts[2], negated, modality, statement))
            for name in parts[::2]:
                at = turn.text.index(name)
                spans.append(Span(name, "person" if name.startswith("M") else "location", at, at + len(name)))
        return Extraction(tuple(spans), tuple(claims))
