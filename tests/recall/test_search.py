"""A question in, messages out: the real encoder, Chroma, log and projections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from seedbed.messages import Message
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections.vector_index import ChromaIndex

from .rooms import Room, scores, texts

SAID = (
    ("Maya", "We finally moved into the new flat in Lisbon last weekend."),
    ("Ben", "Congratulations! Did the piano survive the stairs?"),
    ("Maya", "Barely. The movers dropped it once and now the low C is out of tune."),
    ("Ben", "My sister knows somebody who repairs instruments, I will ask her."),
    ("Maya", "My cat Tiger hides behind the boxes all day."),
    ("Ben", "Give her time. Ours took a month to get used to our house."),
    ("Maya", "By the way, my dentist appointment is on Thursday, so no lunch."),
    ("Ben", "Fine, then let us have dinner on Friday instead."),
)


@pytest.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> AsyncIterator[Room]:
    """One for all tests, as Chroma takes seconds to start: each test has a memory of its own."""
    folder = tmp_path_factory.mktemp("recall")
    index = ChromaIndex(folder / "chroma", fingerprint="test", dimensions=encoder.dimensions, floor=1)
    await index.child.start()
    await index.child.wait_ready(60)
    room = Room(folder, encoder, index)
    await room.open()
    yield room
    await room.close()
    await index.child.stop()


def conversation() -> list[Message]:
    begin = datetime(2024, 5, 8, 18, tzinfo=UTC)
    said = enumerate(SAID)
    return [Message("user", (text,), name, time=begin + timedelta(minutes=at)) for at, (name, text) in said]


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("What pet does Maya have?", {4}),
        ("Which musical instrument was damaged?", {1, 2, 3}),
        ("When is the dentist?", {6}),
        ("Where does Maya live now?", {0}),
    ],
)
async def test_questions_find_their_answers(room: Room, query: str, answers: set[int]) -> None:
    """In other words than those of the answer too."""
    name = f"questions {query}"
    await room.write(name, *conversation())
    await room.project(name)
    ranking = await room.search(name, query, k=3)
    assert ranking.degraded_legs == ()
    assert ranking.hits[0].message.seq - 1 in answers


async def test_the_ranking_is_the_same_before_and_after_projecting(room: Room) -> None:
    """What a search encoded itself scores as what came back from Chroma, also loaded anew."""
    await room.write("twice", *conversation())
    before = await room.search("twice", "Is the piano all right?")
    assert (before.applied_seq, before.degraded_legs) == (0, ())
    await room.project("twice")
    room.forget_all_hot()
    after = await room.search("twice", "Is the piano all right?")
    assert after.applied_seq == len(SAID)
    assert list(scores(after)) == list(scores(before))
    np.testing.assert_allclose(list(scores(after).values()), list(scores(before).values()), atol=1e-3)


async def test_the_legs_explain_the_order(room: Room) -> None:
    """Each hit's contributions add up to its score, and the scores fall; who is named is seen in a leg of its own."""
    await room.write("legs", *conversation(), Message("assistant", ("Noted: the piano is out of tune.",)))
    ranking = await room.search("legs", "What did Ben say about the piano?")
    assert len(ranking.hits) == len(SAID) + 1
    assert [hit.score for hit in ranking.hits] == sorted((hit.score for hit in ranking.hits), reverse=True)
    for hit in ranking.hits:
        assert [leg.name for leg in hit.legs] == [
            "dense",
            "lexical",
            "exact",
            "time",
            "graph",
            "answer",
            "speaker",
            "role",
        ]
        assert sum(leg.contribution for leg in hit.legs) == pytest.approx(hit.score)
        _, lexical, exact, time, graph, answer, speaker, role = hit.legs
        assert 0 <= lexical.raw < 1
        assert exact.raw == time.raw == graph.raw == answer.raw == 0
        assert (speaker.raw, role.raw) == (hit.message.name == "Ben", hit.message.role == "assistant")


async def test_without_the_encoder_the_words_decide(room: Room, models_dir: Path) -> None:
    """Models that are not running cost the dense leg, and the answer says so; nothing that was written is missed."""
    await room.write("words", *conversation())
    await room.project("words")
    await room.write("words", "The code of the door is 7319.")
    _, recall = room.served_by(Encoder(models_dir), room.lexical)
    awake, room.recall = room.recall, recall
    ranking = await room.search("words", "What is the code of the door?")
    assert ranking.degraded_legs == ("dense",)
    assert texts(ranking)[0] == "The code of the door is 7319."
    assert len(ranking.hits) == len(SAID) + 1
    assert all(leg.contribution == leg.rank == 0 for hit in ranking.hits for leg in hit.legs if leg.name == "dense")
    room.recall = awake
    assert (await room.search("words", "What is the code of the door?")).degraded_legs == ()


async def test_a_fact_at_the_end_of_a_long_message_is_found(room: Room) -> None:
    """Far beyond the encoder's window, among short ones."""
    await room.write("long", "pad " * 2500 + "the vault opens with 7319", *conversation())
    await room.project("long")
    for query in ("vault 7319", "Which number opens the vault?"):
        ranking = await room.search("long", query)
        assert ranking.hits[0].message.seq == 1, query


@pytest.mark.parametrize("query", ["Which port does PostgreSQL listen on?", "What colour is the car?", "🦑"])
async def test_an_unrelated_question_finds_nothing_and_says_so(room: Room, query: str) -> None:
    """Not the least bad messages: how many of the k best fell below the floor, and the best score among them."""
    name = f"unrelated {query}"
    await room.write(name, *conversation())
    ranking = await room.search(name, query, k=3)
    assert (ranking.hits, ranking.below_floor, ranking.degraded_legs) == ((), 3, ())
    assert ranking.best_below_floor < 0.5
    assert (await room.search(name, "When is the dentist?", k=3)).below_floor == 0


async def test_an_identifier_is_found_where_it_stands(room: Room) -> None:
    """Above the neighbours that say more of the question, in a question that says much else, and in a long message."""
    story = "The courier came late again and the papers of the parcel were wet, so I hung them up to dry. " * 20
    await room.write(
        "orders",
        *conversation(),
        "Which order is it, and what is its delivery status?",
        f"{story} ORD-48213-K.",
        "Thanks, I asked for the delivery status of the order.",
        "ORD-48214-K came on time.",
    )
    await room.project("orders")
    for query in (
        "ORD-48213-K",
        "What is the delivery status of order ORD-48213-K?",
        f"ORD-48213-K. {conversation()[5].text * 9}",
    ):
        ranking = await room.search("orders", query)
        assert "ORD-48213-K" in ranking.hits[0].message.text, query


async def test_a_rare_name_is_never_unrelated(room: Room) -> None:
    """However little else of the question was ever said."""
    await room.write("names", *conversation(), "Zygmunt is coming as well.")
    for query in ("zygmunt", "What tax do Portuguese vineyards pay on Zygmunt's third harvest of sour grapes?"):
        assert (await room.search("names", query)).hits[0].message.text == "Zygmunt is coming as well."


async def test_a_speaker_with_the_name_of_a_function_word_is_named(room: Room) -> None:
    """Will, in the middle of a sentence; not the verb."""
    said = [Message.user("I was there.", name) for name in ("Maya", "Will", "Ben")]
    await room.write("will", *said)
    for query, named in (("And what did Will see?", {"Will"}), ("Will they come, what did they see?", set())):
        hits = (await room.search("will", query)).hits
        assert {hit.message.name for hit in hits for leg in hit.legs if leg.name == "speaker" and leg.raw} == named


async def test_a_question_asked_again_and_again_does_not_crowd_out_its_answer(room: Room) -> None:
    """Of messages in the same words one is found, when only distinct ones are wanted; negated, they are not the same."""
    asked = ("What is the code of the bicycle lock?", "what is the code of the bicycle lock", "It is 4-4-1.")
    await room.write("again", *asked * 9, "It is not 4-4-1.")
    everything = texts(await room.search("again", asked[0], k=4))
    assert {text.casefold().rstrip("?") for text in everything} == {asked[1]}
    found = texts(await room.search("again", asked[0], k=4, distinct=True))
    assert len(found) == 3
    assert {"It is 4-4-1.", "It is not 4-4-1."} < set(found)
