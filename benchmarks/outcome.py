"""What a benchmark found: bars that must hold, and the figures behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise about speed or size, and what was measured."""

    promise: str
    sign: str
    limit: float
    measured: float
    unit: str = "times"

    @property
    def holds(self) -> bool:
        """Whether what was measured keeps the promise."""
        return self.measured <= self.limit if self.sign == "≤" else self.measured >= self.limit

    def row(self) -> tuple[str, str, str, str]:
        """The bar as a line of a table."""
        return (
            self.promise,
            f"{self.sign} {self.limit:g} {self.unit}",
            f"{self.measured:.2f} {self.unit}" if self.measured < 100 else f"{self.measured:.0f} {self.unit}",
            "yes" if self.holds else "NO",
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one benchmark found; ``figures`` are names and values as they are to be read."""

    bars: Sequence[Bar]
    figures: Sequence[tuple[str, str]] = field(default_factory=tuple)
