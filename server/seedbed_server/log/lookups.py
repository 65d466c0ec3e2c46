"""Looking many values up by one statement, with few statements to prepare.

An expanding IN would make a statement for every count of values. Here they are
cut into portions of few sizes, and a statement is made for each size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, and_, bindparam, or_

T = TypeVar("T")

_SIZES = (1, 4, 8, 16, 32, 64, 128, 256, 512)


def portions(values: Sequence[T]) -> Iterator[list[T]]:
    """Cut what is looked up into lists of few different lengths; the last value is repeated to fill up."""
    for start in range(0, len(values), _SIZES[-1]):
        some = list(values[start : start + _SIZES[-1]])
        size = next(size for size in _SIZES if size >= len(some))
        yield some + some[-1:] * (size - len(some))


def named(values: Iterable[Any]) -> dict[str, Any]:
    """Return the parameters of ``one_of``, or of ``one_of_pairs`` with the pairs laid out flat."""
    return {f"v{i}": value for i, value in enumerate(values)}


def one_of(column: ColumnElement[Any], size: int) -> ColumnElement[bool]:
    """Say that a column has one of ``size`` values."""
    return column.in_([bindparam(f"v{i}") for i in range(size)])


def one_of_pairs(first: ColumnElement[Any], second: ColumnElement[Any], size: int) -> ColumnElement[bool]:
    """Say that two columns are one of ``size`` pairs; written out, because SQLite scans for a list of pairs."""
    return or_(*(and_(first == bindparam(f"v{2 * i}"), second == bindparam(f"v{2 * i + 1}")) for i in range(size)))
