"""Decisions about a memory's graph of facts, as an export gives them and an import takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from seedbed.v1 import decision_pb2 as pb


@dataclass(frozen=True, slots=True)
class Decision:
    """A merge, a split, a retraction or an added fact: data to keep and to hand on.

    ``data`` is the JSON of the contract's Decision, with the names of its fields;
    its ``id`` is what an import knows it by.
    """

    data: Mapping[str, Any]


def decision_from_proto(proto: pb.Decision) -> Decision:
    """A decision as plain data."""
    return Decision(json_format.MessageToDict(proto, preserving_proto_field_name=True))


def decision_to_proto(decision: Decision) -> pb.Decision:
    """A decision for the wire. Raises ValueError where the data are not those of one."""
    try:
        return json_format.ParseDict(dict(decision.data), pb.Decision())
    except json_format.ParseError:
        raise ValueError("not a decision") from None
