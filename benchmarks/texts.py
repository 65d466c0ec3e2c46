"""Conversations made up by rule: the same number always gives the same texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from seedbed import Message

_PEOPLE = ("Maya", "Tomás", "Priya", "Oliver", "Ingrid", "Kofi", "Hannah", "Luca", "Noor", "Felix", "Aiko", "Ruth")
_PLACES = ("Lisbon", "the old harbour", "Kyoto", "our allotment", "the Tatra mountains", "Bergen", "the library")
_THINGS = (
    "bicycle",
    "telescope",
    "sourdough starter",
    "piano",
    "greenhouse",
    "camera",
    "rowing boat",
    "film projector",
)
_DEEDS = ("repaired", "sold", "painted", "borrowed", "found", "photographed", "gave away", "finally finished")
_FEELINGS = ("relieved", "a little nervous", "delighted", "tired but happy", "curious", "rather proud")
_TIMES = ("last weekend", "on Tuesday evening", "this morning", "two years ago", "during the holidays", "in April")
_OPENINGS = ("You know,", "By the way,", "Honestly,", "I was thinking:", "Guess what,", "Well,", "So")
_SENTENCES = (
    "{open} I {deed} the {thing} {time}, and {friend} came all the way from {place} to help me with it.",
    "{friend} works in {place} now and says that the {thing} is still the best thing they ever bought there.",
    "We stayed in {place} {time}; it rained for days, but I was {feeling} because the {thing} had arrived.",
    "My sister is married to {friend}, they live near {place} and keep a {thing} in the kitchen.",
    "Could you remind me to call {friend} about the {thing} before we travel to {place}?",
    "I was {feeling} when {friend} told me that the {thing} had been {deed} {time}.",
    "{open} that sounds lovely, and did {friend} like {place} as much as you had hoped?",
    "I would like to learn how to look after a {thing}, perhaps {friend} can show me {time}.",
    "I used to live in {place}, but I moved away when {friend} {deed} the {thing}.",
    "No, I never {deed} it; {friend} did, and I only heard about that {time}.",
)
_QUESTIONS = (
    "What did {friend} say about the {thing} in {place}?",
    "When was {friend} last in {place}, and who came along?",
    "Who {deed} the {thing} {time}?",
    "Where does {friend} keep the {thing} these days?",
    "Was I {feeling} about {place} or about the {thing}?",
    "What should I bring {friend} when we meet in {place} {time}?",
)
_START = datetime(2023, 1, 9, 9, 0, tzinfo=UTC)
SESSION = 40
"""Messages of one session."""


def conversation(number: int, count: int, *, first: int = 0) -> list[Message]:
    """Return messages ``first`` up to ``first + count`` of a conversation: two people in turn, 10 to 60 words each."""
    return [_message(number, at) for at in range(first, first + count)]


def questions(number: int) -> Iterator[str]:
    """Questions about such conversations, without end; of a few hundred no two are alike."""
    chance = random.Random(f"questions {number}")
    while True:
        yield _fill(chance, chance.choice(_QUESTIONS))


def _message(number: int, at: int) -> Message:
    chance = random.Random(f"conversation {number} message {at}")
    text = " ".join(_fill(chance, sentence) for sentence in chance.sample(_SENTENCES, chance.choice((1, 1, 1, 2))))
    session, turn = divmod(at, SESSION)
    return Message(
        role="user" if turn % 2 == 0 else "assistant",
        parts=(text,),
        name=_PEOPLE[(number + turn % 2) % len(_PEOPLE)],
        time=_START + timedelta(days=3 * session, minutes=turn),
        session=f"day {session}",
    )


def _fill(chance: random.Random, template: str) -> str:
    return template.format(
        open=chance.choice(_OPENINGS),
        deed=chance.choice(_DEEDS),
        thing=chance.choice(_THINGS),
        time=chance.choice(_TIMES),
        friend=chance.choice(_PEOPLE),
        place=chance.choice(_PLACES),
        feeling=chance.choice(_FEELINGS),
    )
