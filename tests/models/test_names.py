"""Names in chat: what the recogniser alone gets wrong."""

from __future__ import annotations

import pytest

from seedbed_server.models.contract import Turn
from seedbed_server.models.tagger_worker import TaggerWorker

from .conftest import Read, finish

# Said by Tom to Maya.
IN_CHAT = {
    "Maya lives in Porto.": ["Maya/person", "Porto/location"],
    "my sister Elena is here": ["Elena/person"],
    "my sister is here": [],
    "we met in Lisbon": ["Lisbon/location"],
    "I spent a week in Lyon.": ["Lyon/location"],
    "maya is in paris": ["maya/person", "paris/location"],
    "work-wise I'm a product designer at Tidepost, we make software": ["Tidepost/organisation"],
    "I'm a nurse at Elena's place": ["Elena/person"],
    "also I ordered a backpack for the trip, from Fernhill.": ["Fernhill/organisation"],
    "I've got the bus to Lyon. Any more?": ["Lyon/location"],
    "So Lisbon's the old address": ["Lisbon/location"],
    "The order is ORD-48213-K.": [],
    "the user asked the assistant": [],
    "lol yeah omg 😂😂": [],
}


@pytest.mark.parametrize("text", IN_CHAT)
def test_names_in_chat(read: Read, text: str) -> None:
    """Exactly these names are found, with their types."""
    found = read(text, speaker="Tom", listener="Maya")
    assert [f"{span.text}/{span.type}" for span in found.entities if span.type != "date"] == IN_CHAT[text]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_role_is_nobodys_name(read: Read, role: str) -> None:
    """Who has no name is called by the role, and the role's word is no name in a text."""
    assert read(f"The {role} is slow.", speaker=role, listener="").entities == ()


def test_what_a_message_names_does_not_depend_on_the_batch(worker: TaggerWorker) -> None:
    """Read together or one by one, the same entities: a rebuild has other batches than the first reading."""
    turns = [Turn(text, "Tom", "Maya", None).to_wire() for text in IN_CHAT]
    together = finish(worker, turns)
    alone = [finish(worker, [turn])[0] for turn in turns]
    assert [each["entities"] for each in together if each] == [each["entities"] for each in alone if each]
    assert None not in together
