"""Two conversations, half a year apart, and what the agent is shown before the third.

Run it against a server on this machine: ``.venv/bin/python clients/python/examples/maya.py``. Each write has a request
id, so a second run stores nothing twice.
"""

from datetime import UTC, datetime

from seedbed import Client, Entity, Hybrid, KnowledgeGraph, Message, Vector, Window


def said(role: str, name: str, text: str, day: datetime) -> Message:
    """Return a message of a day."""
    return Message(role, (text,), name, time=day)


JANUARY, JULY = datetime(2026, 1, 12, tzinfo=UTC), datetime(2026, 7, 8, tzinfo=UTC)

with Client("localhost:7700") as client:
    variant = Hybrid(Window(2), Vector(k=3), Entity(recent=0), KnowledgeGraph(recent=0), max_tokens=400)
    pin = "You are Juno. Answer from what you know of Maya."

    january = client.memory("maya", variant, system=pin, session="january")
    january.write(
        [
            said("user", "Maya", "I live in Lisbon with Tomás. I'm allergic to hazelnuts, properly allergic.", JANUARY),
            said("assistant", "Juno", "Thanks for telling me. I will keep that in mind.", JANUARY),
            said("user", "Maya", "My sister Elena works at the children's hospital in Braga.", JANUARY),
        ],
        request_id="january",
    )
    july = client.memory("maya", variant, system=pin, session="july")
    july.write(
        [
            said("user", "Maya", "We moved to Porto on Saturday! The order number for the sofa is ORD-48213-K.", JULY),
            said("assistant", "Juno", "Welcome to the north. I'll keep an eye on the sofa.", JULY),
        ],
        request_id="july",
    )

    today = client.memory("maya", variant, session="today")
    for question in ("What should I cook for Maya and Elena, and where?", "sofa order number?"):
        print(f"\n### {question}")
        seed = today.seed(question)
        if seed.degraded:
            print(f"(the models still load; without: {', '.join(seed.degraded_parts)})")
        for message in seed.messages:
            print(f"[{message['role']}] {message['content']}")
