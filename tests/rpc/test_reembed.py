"""Reembed over gRPC: what is refused, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seedbed.v1 import admin_service_pb2 as pb

from .calling import Caller, refused
from .conftest import OPERATOR, TOKENS

AS = Callable[[str], Caller]
IN_USE, OTHER, TAGGER = "all-MiniLM-L6-v2", "all-mpnet-base-v2", "en_core_web_md"


@pytest.fixture
def operator(as_token: AS) -> Caller:
    """Who may do what concerns the whole server."""
    return as_token(OPERATOR)


async def test_the_model_in_use_needs_nothing(operator: Caller) -> None:
    """No message, and no change."""
    assert (await operator("Reembed", pb.ReembedRequest(model=IN_USE))).messages == 0
    parts = (await operator("GetStatus", pb.GetStatusRequest())).parts
    assert "reembed" not in {part.part for part in parts}
    models = {model.name: model for model in (await operator("ListModels", pb.ListModelsRequest())).models}
    assert [name for name, model in models.items() if model.in_use] == [IN_USE]
    assert models[IN_USE].available


@pytest.mark.parametrize("name", ["gpt-nobody", "../weights", "ALL-MINILM-L6-V2", "all-MiniLM-L6-v2 ", "é"])
async def test_an_unknown_model_is_not_found(operator: Caller, name: str) -> None:
    """The field is named, the words of the request are not repeated."""
    error = await refused(operator("Reembed", pb.ReembedRequest(model=name)))
    assert (error.code, error.reason, error.stored) == ("NOT_FOUND", "MODEL_NOT_FOUND", "no")
    assert [(field.path, field.why) for field in error.fields] == [("model", "names no model")]
    assert name not in str(error)


async def test_a_model_that_is_no_encoder_is_refused(operator: Caller) -> None:
    """By the field's path."""
    error = await refused(operator("Reembed", pb.ReembedRequest(model=TAGGER)))
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert [(field.path, field.why) for field in error.fields] == [("model", "is no encoder")]


async def test_giving_up_what_is_not_under_way_changes_nothing(operator: Caller) -> None:
    """An encoder that it names is known; what is none, or unknown, is refused as it is without giving up."""
    for name in (IN_USE, OTHER):
        await operator("Reembed", pb.ReembedRequest(model=name, give_up=True))
    for name, reason in (("gpt-nobody", "MODEL_NOT_FOUND"), (TAGGER, "INVALID_FIELD")):
        error = await refused(operator("Reembed", pb.ReembedRequest(model=name, give_up=True)))
        assert (error.reason, [field.path for field in error.fields]) == (reason, ["model"])
    await test_the_model_in_use_needs_nothing(operator)


@pytest.mark.parametrize("token", sorted(TOKENS.keys() - {OPERATOR}))
async def test_a_tenant_s_token_changes_nothing_for_the_others(as_token: AS, token: str) -> None:
    """PERMISSION_DENIED, whatever the request names."""
    for request in (pb.ReembedRequest(model=OTHER), pb.ReembedRequest(model="gpt-nobody", give_up=True)):
        error = await refused(as_token(token)("Reembed", request))
        assert (error.code, error.reason, error.stored) == ("PERMISSION_DENIED", "OPERATOR_ONLY", "no")
