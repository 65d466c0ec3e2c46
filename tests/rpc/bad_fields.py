"""Every field of the contract that can be wrong, with values that are, and the path that the answer must name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.v1 import admin_service_pb2 as admin
from seedbed.v1 import knowledge_service_pb2 as know
from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.decision_pb2 import DecidedMerge, DecidedRetraction, DecidedSplit, Decision, DecisionWitnesses
from seedbed.v1.message_pb2 import AsOf, ContentPart, Media, Message, MetadataList, MetadataValue, ToolCall
from seedbed.v1.variant_pb2 import (
    BufferVariant,
    CustomVariant,
    EntityVariant,
    HybridVariant,
    KnowledgeGraphVariant,
    SummaryBufferVariant,
    SummaryVariant,
    TokenBufferVariant,
    Variant,
    VectorVariant,
    WindowVariant,
)

from .calling import RPCS, SERVED, said

MAYA = "maya"
INVALID, LARGE = "INVALID_FIELD", "TOO_LARGE"


def stated(**fields: Any) -> know.TripleStatement:
    """A fact as a caller states it, acceptable but for what a case changes."""
    good = {"subject": "Maya", "predicate": "work at", "object": "Tidepost", "source_ids": ["some-message"]}
    return know.TripleStatement(**(good | fields))


# A request of each served RPC that is acceptable but for what a case changes.
GOOD: dict[str, dict[str, Any]] = {
    "UpdateMemory": {"update_mask": FieldMask(paths=["variant", "system"]), "variant": Variant(buffer=BufferVariant())},
    "Write": {"messages": [said()]},
    "ImportMessages": {"messages": [said()]},
    "Seed": {"query": "Where does Maya live?"},
    "Recall": {"query": "Where does Maya live?"},
    "Explore": {"entity_ids": ["someone"]},
    "FindPaths": {"from_entity_id": "someone", "to_entity_id": "someone else"},
    "GetEntity": {"entity_id": "someone"},
    "Forget": {"message_ids": ["some-message"]},
    "MergeEntities": {"into_entity_id": "someone", "from_entity_id": "someone else"},
    "SplitEntity": {"merge_id": "some-merge"},
    "AddTriples": {"triples": [stated()]},
    "RetractTriples": {"triple_ids": ["some-fact"]},
    "Reembed": {"model": "all-MiniLM-L6-v2"},
}

# Fields for which no value is wrong: any 64-bit number, any truth value.
FREE = {
    ("UpdateMemory", "revision"),
    ("Read", "after_seq"),
    ("Recall", "explain"),
    ("ListRecalls", "with_messages"),
    ("ListTriples", "include_superseded"),
    ("MergeEntities", "preview"),
    ("Reembed", "give_up"),
}
FREE_OF_MESSAGE = {"seq", "recorded_at"}  # the server's own, ignored on a write


@dataclass(frozen=True, slots=True)
class Case:
    """A request with one wrong field."""

    rpc: str
    path: str
    reason: str
    fields: dict[str, Any]

    def request(self) -> Any:
        """The request."""
        return request_of(self.rpc, **(named(self.rpc, MAYA) | self.fields))


def request_class(rpc: str) -> Any:
    """The generated class of an RPC's request."""
    name = RPCS[rpc].input_type.name
    return next(getattr(module, name) for module in (pb, know, admin) if hasattr(module, name))


def request_of(rpc: str, **fields: Any) -> Any:
    """An acceptable request of an RPC, with these fields."""
    return request_class(rpc)(**(GOOD.get(rpc, {}) | fields))


def named(rpc: str, memory: str) -> dict[str, str]:
    """The field that names the memory, where the RPC has one."""
    return {"memory": memory} if "memory" in RPCS[rpc].input_type.fields_by_name else {}


def with_fields(*names: str) -> Iterator[tuple[str, str]]:
    """Pairs of (rpc, field) for the served RPCs whose request has one of these fields."""
    for rpc in SERVED:
        yield from ((rpc, name) for name in names if name in RPCS[rpc].input_type.fields_by_name)


IDENTIFIERS = (
    *("namespace", "memory", "session", "request_id", "entity_id", "from_entity_id", "to_entity_id"),
    *("into_entity_id", "merge_id", "model"),
)
FILTERS = ("type", "name_prefix", "predicate")
BAD_IDS = ("x" * 257, "Ü" * 129, "a\x00b")
REQUIRED = {
    ("GetEntity", "entity_id"),
    ("FindPaths", "from_entity_id"),
    ("FindPaths", "to_entity_id"),
    ("MergeEntities", "into_entity_id"),
    ("MergeEntities", "from_entity_id"),
    ("SplitEntity", "merge_id"),
    ("Reembed", "model"),
}
OPTIONAL_MEMORY = {"GetStatus", "Rebuild"}


def identifier_cases() -> Iterator[Case]:
    """Names and ids: too long, with NUL, missing."""
    for rpc, name in with_fields(*IDENTIFIERS, *FILTERS):
        for bad in BAD_IDS:
            yield Case(rpc, name, INVALID, {name: bad})
    for rpc, name in with_fields("memory"):
        if rpc not in OPTIONAL_MEMORY:
            yield Case(rpc, name, INVALID, {name: ""})
    for rpc, name in REQUIRED:
        yield Case(rpc, name, INVALID, {name: ""})
    for rpc in OPTIONAL_MEMORY:
        yield Case(rpc, "namespace", INVALID, {"memory": "", "namespace": "x" * 257})
    for bad in BAD_IDS:
        yield Case("Explore", "entity_ids[1]", INVALID, {"entity_ids": ["someone", bad]})
        yield Case("Explore", "predicates[1]", INVALID, {"predicates": ["likes", bad]})
        yield Case("Forget", "message_ids[1]", INVALID, {"message_ids": ["one", bad]})
        yield Case("RetractTriples", "triple_ids[1]", INVALID, {"triple_ids": ["one", bad]})
    yield Case("RetractTriples", "triple_ids", INVALID, {"triple_ids": []})
    yield Case("RetractTriples", "triple_ids", LARGE, {"triple_ids": [str(i) for i in range(1001)]})
    yield Case("Explore", "entity_ids", INVALID, {"entity_ids": []})
    yield Case("Forget", "message_ids", INVALID, {"message_ids": []})
    yield Case("Forget", "message_ids", LARGE, {"message_ids": [str(i) for i in range(1001)]})
    yield Case("Explore", "entity_ids", LARGE, {"entity_ids": ["someone"] * 101})
    yield Case("Explore", "predicates", LARGE, {"predicates": ["likes"] * 101})


def number_cases() -> Iterator[Case]:
    """Counts below zero; times outside the years 1 to 9999; texts over their limits; tokens of nobody."""
    for rpc, name in with_fields("page_size", "k", "max_tokens", "hops", "limit", "max_hops"):
        yield Case(rpc, name, INVALID, {name: -1})
        yield Case(rpc, name, INVALID, {name: -(2**31)})
    for rpc, _ in with_fields("as_of"):
        for name in ("valid_at", "known_at"):
            for bad in BAD_TIMES:
                yield Case(rpc, f"as_of.{name}", INVALID, {"as_of": AsOf(**{name: bad})})
    for rpc, name in with_fields("query"):
        yield Case(rpc, name, LARGE, {name: "x" * 100_001})
        yield Case(rpc, name, LARGE, {name: "Ü" * 50_001})
    for rpc, name in with_fields("system"):
        yield Case(rpc, name, LARGE, {name: "x" * (64 * 1024 + 1)})
    for rpc, name in with_fields("page_token"):
        for token in ("x" * 257, "a\x00b") if rpc == "ListMemories" else ("x", "-1", "1" * 12, "\uff11"):
            yield Case(rpc, name, INVALID, {name: token})
    for paths in ((), ("memory",), ("variant", "namespace"), ("*",), ("variant.window.n",)):
        yield Case("UpdateMemory", "update_mask", INVALID, {"update_mask": FieldMask(paths=paths)})
    yield Case("Rebuild", "projections[1]", INVALID, {"projections": ["lexical", "../../log.db"]})


BAD_TIMES = (
    Timestamp(seconds=253_402_300_800),
    Timestamp(seconds=-62_135_596_801),
    Timestamp(seconds=2**63 - 1),
    Timestamp(nanos=-1),
    Timestamp(nanos=1_000_000_000),
)

NAN, INF = float("nan"), float("inf")


def metadata_cases() -> Iterator[tuple[str, str, dict[str, MetadataValue]]]:
    """Metadata that is wrong: (path below the map, reason, the map)."""
    text = MetadataValue(string_value="x")
    flat = MetadataValue(list_value=MetadataList(values=[text]))
    yield '["k"]', INVALID, {"k": MetadataValue()}
    for number in (NAN, INF, -INF):
        yield '["k"]', INVALID, {"k": MetadataValue(double_value=number)}
        among = MetadataList(values=[text, MetadataValue(double_value=number)])
        yield '["k"][1]', INVALID, {"k": MetadataValue(list_value=among)}
    yield '["k"][0]', INVALID, {"k": MetadataValue(list_value=MetadataList(values=[flat]))}
    yield '["k"][0]', INVALID, {"k": MetadataValue(list_value=MetadataList(values=[MetadataValue()]))}
    yield '["seedbed.x"]', INVALID, {"seedbed.x": text}
    yield '["seedbed."]', INVALID, {"seedbed.": text}
    # A key that is not plain is not repeated: it may hold anything.
    yield "", INVALID, {"": text}
    yield "", INVALID, {"a\x00b": text}
    yield "", INVALID, {"x" * 257: text}
    yield '["k"]', LARGE, {"k": MetadataValue(list_value=MetadataList(values=[text] * 65))}
    yield "", LARGE, {"k": MetadataValue(string_value="x" * 16_385)}


BLANK = (
    "",
    " \t\r\n",
    "\u200b\u200c\u200d\u2060\ufeff",
    "\u00ad",
    "\u3164\u2800\u00a0\u3000",
    "\x00\x1b\x7f\x9f",
    "\u202a\u202c\u200e",
)


def message_cases() -> Iterator[tuple[str, str, Message]]:
    """Messages that are wrong: (path below the message, reason, the message)."""
    for name in ("id", "session", "role", "name", "tool_call_id"):
        for bad in BAD_IDS:
            message = said()
            setattr(message, name, bad)
            yield f".{name}", INVALID, message
    yield ".role", INVALID, said(role="")
    for time in BAD_TIMES:
        yield ".time", INVALID, said(time=time)
    yield ".parts", INVALID, Message(role="user")
    for blank in BLANK:
        yield ".parts", INVALID, said(blank)
    yield ".parts", INVALID, Message(role="user", parts=[ContentPart(text=blank) for blank in BLANK])
    yield ".parts[1]", INVALID, Message(role="user", parts=[ContentPart(text="x"), ContentPart()])
    for media, path in (
        (Media(uri="https://example.org/a.png"), ".media_type"),
        (Media(media_type="x" * 257, uri="u"), ".media_type"),
        (Media(media_type="image/png"), ""),
        (Media(media_type="image/png", data=b""), ""),
        (Media(media_type="image/png", uri=""), ""),
    ):
        yield f".parts[0].media{path}", INVALID, Message(role="user", parts=[ContentPart(media=media)])
    yield ".parts", LARGE, Message(role="user", parts=[ContentPart(text="x")] * 257)
    for call, path in (
        (ToolCall(name="look"), "id"),
        (ToolCall(id="x" * 257, name="look"), "id"),
        (ToolCall(id="1"), "name"),
        (ToolCall(id="1", name="a\x00b"), "name"),
    ):
        yield f".tool_calls[1].{path}", INVALID, Message(role="user", tool_calls=[ToolCall(id="0", name="look"), call])
    yield ".tool_calls", LARGE, Message(role="user", tool_calls=[ToolCall(id="1", name="look")] * 257)
    for below, reason, metadata in metadata_cases():
        yield f".metadata{below}", reason, said(metadata=metadata)
    yield ".metadata", LARGE, said(metadata={f"k{i}": MetadataValue(bool_value=True) for i in range(65)})
    yield "", LARGE, said("x" * (1024 * 1024))


def batch_cases() -> Iterator[Case]:
    """Batches that are wrong, in a write and in an import; the wrong message is the second."""
    yield Case("Write", "messages", INVALID, {"messages": []})
    for rpc in ("Write", "ImportMessages"):
        yield Case(rpc, "messages", LARGE, {"messages": [said("x")] * 1001})
        yield Case(rpc, "messages[1].id", INVALID, {"messages": [said(id="one"), said(id="one")]})
        for below, reason, message in message_cases():
            yield Case(rpc, f"messages[1]{below}", reason, {"messages": [said(), message]})
    yield Case("Write", "messages", LARGE, {"messages": [said("x" * 900_000)] * 10})


def statement_cases() -> Iterator[Case]:
    """Facts of the caller's own that are wrong; the wrong one is the second."""
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        *((f".{name}", INVALID, {name: bad}) for name in ("subject", "predicate", "object") for bad in ("", *BAD_IDS)),
        *((f".{name}", INVALID, {name: bad}) for name in ("subject", "object") for bad in ("she", "...", " ")),
        *((".predicate", INVALID, {"predicate": bad}) for bad in (" \t", "\u200b", "knows\u202e", "\x01")),
        *((f".{name}", INVALID, {name: bad}) for name in ("valid_from", "valid_to") for bad in BAD_TIMES),
        (".valid_to", INVALID, {"valid_from": Timestamp(seconds=2), "valid_to": Timestamp(seconds=1)}),
        (".source_ids", INVALID, {"source_ids": []}),
        *((".source_ids[1]", INVALID, {"source_ids": ["one", bad]}) for bad in ("", *BAD_IDS)),
        (".source_ids", LARGE, {"source_ids": [str(i) for i in range(101)]}),
    ]
    for below, reason, fields in wrong:
        yield Case("AddTriples", f"triples[1]{below}", reason, {"triples": [stated(), stated(**fields)]})
    yield Case("AddTriples", "triples", INVALID, {"triples": []})
    yield Case("AddTriples", "triples", LARGE, {"triples": [stated()] * 1001})


def decided(**fields: Any) -> Decision:
    """A decision as an import brings it, acceptable but for what a case changes."""
    good: dict[str, Any] = {"id": "some-decision", "split": DecidedSplit(merge_id="some-merge")}
    return Decision(**(good | fields))


def decision_cases() -> Iterator[Case]:
    """Decisions of an import that are wrong; the wrong one is the second."""
    merge = {"merge_id": "some-merge", "into_entity_id": "someone", "from_entity_id": "someone else"}
    wrong: list[tuple[str, str, Decision]] = [
        *((".id", INVALID, decided(id=bad)) for bad in ("", *BAD_IDS)),
        *((".after_message_id", INVALID, decided(after_message_id=bad)) for bad in BAD_IDS),
        ("", INVALID, Decision(id="some-decision")),
        (".statement.subject", INVALID, decided(statement=stated(subject="the"))),
        (".statement.source_ids", INVALID, decided(statement=stated(source_ids=[]))),
        (".statement.source_ids", INVALID, decided(statement=stated(source_ids=["one", "other"]))),
        *((f".merge.{one}", INVALID, decided(merge=DecidedMerge(**(merge | {one: ""})))) for one in merge),
        (".split.merge_id", INVALID, decided(split=DecidedSplit())),
        (".retraction.triple_ids", INVALID, decided(retraction=DecidedRetraction())),
        (".retraction.triple_ids[0]", INVALID, decided(retraction=DecidedRetraction(triple_ids=[""]))),
        (".witnesses[0].message_ids[0]", INVALID, decided(witnesses=[DecisionWitnesses(message_ids=[""])])),
    ]
    for below, reason, one in wrong:
        yield Case("ImportMessages", f"decisions[1]{below}", reason, {"decisions": [decided(), one]})
    yield Case("ImportMessages", "decisions", LARGE, {"decisions": [decided()] * 1001})


NUMBERS: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("window", WindowVariant, ("n",)),
    ("token_buffer", TokenBufferVariant, ("max_tokens",)),
    ("summary", SummaryVariant, ("threshold",)),
    ("summary_buffer", SummaryBufferVariant, ("max_tokens",)),
    ("entity", EntityVariant, ("max_entities", "recent")),
    ("knowledge_graph", KnowledgeGraphVariant, ("max_facts", "recent")),
    ("vector", VectorVariant, ("k",)),
)


def variant_trees() -> Iterator[tuple[str, str, Variant]]:
    """Variants that are wrong: (path below the variant, reason, the variant)."""
    buffer = Variant(buffer=BufferVariant())
    parts: list[tuple[str, str, Variant]] = [("", INVALID, Variant())]
    for kind, cls, numbers in NUMBERS:
        parts += [(f".{kind}.{name}", INVALID, Variant(**{kind: cls(**{name: -1})})) for name in numbers]
    parts += [(".custom.name", INVALID, Variant(custom=CustomVariant(name=bad))) for bad in ("", *BAD_IDS)]
    for below, reason, options in metadata_cases():
        parts.append((f".custom.options{below}", reason, Variant(custom=CustomVariant(name="own", options=options))))
    yield from parts
    for below, reason, part in parts:
        yield f".hybrid.parts[1]{below}", reason, Variant(hybrid=HybridVariant(parts=[buffer, part]))
    yield ".hybrid.parts", INVALID, Variant(hybrid=HybridVariant())
    yield ".hybrid.parts", LARGE, Variant(hybrid=HybridVariant(parts=[buffer] * 17))
    yield ".hybrid.max_tokens", INVALID, Variant(hybrid=HybridVariant(parts=[buffer], max_tokens=-1))
    nested = Variant(hybrid=HybridVariant(parts=[buffer]))
    yield ".hybrid.parts[0].hybrid", INVALID, Variant(hybrid=HybridVariant(parts=[nested]))


def variant_cases() -> Iterator[Case]:
    """Wrong variants, in every request that takes one."""
    for rpc, _ in with_fields("variant"):
        for below, reason, variant in variant_trees():
            yield Case(rpc, f"variant{below}", reason, {"variant": variant})


CASES = [*identifier_cases(), *number_cases(), *batch_cases(), *statement_cases(), *decision_cases(), *variant_cases()]
