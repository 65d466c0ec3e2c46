"""What a change inside a transaction says it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """``answer`` is for the caller; ``changed`` is the key of the memory that changed, or None.

    Nothing of it is told to anyone before the transaction around it is committed.
    """

    answer: T
    changed: int | None
    erased: bool = False
