"""What is in the contract and not served yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .bad_fields import request_class
from .calling import PLANNED, RPCS, Caller, nothing_stored, refused


def test_the_planned_calls() -> None:
    """The one list; an RPC that is served leaves it."""
    assert RPCS.keys() >= PLANNED
    assert len(PLANNED) == 2


@pytest.mark.parametrize("rpc", sorted(PLANNED))
async def test_a_planned_call_says_so(as_token: Callable[[str], Caller], rpc: str) -> None:
    """UNIMPLEMENTED with the reason of the contract, whatever the request holds, and nothing is stored."""
    caller = as_token("checks-token")
    cls = request_class(rpc)
    names = {"namespace", "memory"} & set(cls.DESCRIPTOR.fields_by_name)
    async with nothing_stored(caller):
        for request in (cls(), cls(**dict.fromkeys(names, "acme-corp")), cls(**dict.fromkeys(names, "x" * 300))):
            error = await refused(caller(rpc, request))
            assert (error.code, error.reason, error.stored) == ("UNIMPLEMENTED", "NOT_SERVED", "no")
