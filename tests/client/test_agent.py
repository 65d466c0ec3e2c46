"""An agent: memory at the start of a run, one write at its end, the system prompt always."""

from collections.abc import Iterable
from typing import Any

import pytest

import seedbed
from seedbed import Agent, AgentBuilder, Buffer, Hybrid, LocalMemory, Message, Seed, SeedMessage, Vector, Window
from seedbed.local import NeedsServerError
from seedbed.messages import ToolCall

PROMPT = "You are a friendly assistant. Refer to the user by name."


class Model:
    """A small scripted model: it knows a name only from what it is shown, and keeps what it was shown."""

    def __init__(self, answer: Any = None) -> None:
        self.seen: list[list[dict[str, Any]]] = []
        self.answer = answer

    def chat(self, messages: Any) -> Any:
        self.seen.append(messages)
        if self.answer is not None:
            return self.answer
        names = [m["content"].split("I'm ")[1].rstrip(".") for m in messages if "I'm " in m["content"]]
        return f"You are {names[-1]}." if names else "I do not know you."


class Own:
    """A custom memory that knows nothing of system prompts, and counts its batches."""

    def __init__(self) -> None:
        self.batches: list[list[Message]] = []
        self.queries: list[str] = []

    def read(self) -> list[Message]:
        return [message for batch in self.batches for message in batch]

    def write(self, messages: Iterable[Message]) -> None:
        self.batches.append(list(messages))

    def clear(self) -> None:
        self.batches.clear()

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        self.queries.append(query)
        return Seed(tuple(SeedMessage(m.role, m.parts, m.name, m.tool_calls, m.tool_call_id) for m in self.read()))


def agent(model: Any, memory: Any = None, system: str = PROMPT) -> Agent:
    builder = AgentBuilder().with_llm(model).with_system_prompt(system).stateful()
    return (builder if memory is None else builder.with_memory(memory)).build()


def test_the_quick_example() -> None:
    """The document's: the second run knows what the first was told."""
    model = Model()
    maya = (
        AgentBuilder()
        .with_llm(model)
        .with_system_prompt(PROMPT)
        .with_memory(Hybrid(Window(10), Buffer(), max_tokens=2000))
        .stateful()
        .build()
    )
    maya.run("Hi, I'm Maya.")
    assert maya.run("What's my name?") == "You are Maya."
    assert [m["role"] for m in model.seen[1]] == ["system", "user", "assistant", "user"]
    assert [m.text for m in maya.memory.read()][-2:] == ["What's my name?", "You are Maya."]


def test_stateless_is_the_default_and_touches_nothing() -> None:
    """Neither read nor written; the prompt, or else the memory's pin, is there all the same."""
    model, own = Model(), Own()
    plain = AgentBuilder().with_llm(model).with_system_prompt(PROMPT).with_memory(own).build()
    plain.run("Hi, I'm Maya.")
    assert plain.run("What's my name?") == "I do not know you."
    assert (own.batches, own.queries) == ([], [])
    assert model.seen[1] == [{"role": "system", "content": PROMPT}, {"role": "user", "content": "What's my name?"}]
    pinned = AgentBuilder().with_llm(model).with_memory(Window(2).with_system("Pinned.")).stateful().stateless().build()
    pinned.run("Hi")
    assert model.seen[-1] == [{"role": "system", "content": "Pinned."}, {"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("memory", "head"),
    [
        (None, PROMPT),
        (Window(4), PROMPT),
        (Own(), PROMPT),
        (LocalMemory(Buffer()), PROMPT),
        (LocalMemory(Buffer(), PROMPT), PROMPT),
        (LocalMemory(Buffer(), "Other pin."), f"{PROMPT}\n\nOther pin."),
        (LocalMemory(Buffer(), PROMPT + " And be brief."), f"{PROMPT}\n\n{PROMPT} And be brief."),
    ],
)
def test_the_system_prompt_leads_once_with_every_memory(memory: Any, head: str) -> None:
    """One leading system message that begins with the prompt, in the first run and later ones."""
    model = Model()
    ours = agent(model, memory)
    for _ in range(3):
        ours.run("Hi")
    for seen in model.seen:
        assert [m["content"] for m in seen if m["role"] == "system"] == [head]
        assert seen[0]["role"] == "system"
    assert not any(m.role == "system" for m in ours.memory.read())


def test_recalled_memory_stays_under_the_prompt() -> None:
    """The block of a memory without a pin of its own comes after the prompt, in the same message."""

    class Noting(Own):
        def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
            return Seed((SeedMessage("system", ("Notes: tea.",)),))

    model = Model()
    agent(model, Noting()).run("Hi")
    assert model.seen[0][0] == {"role": "system", "content": f"{PROMPT}\n\nNotes: tea."}


def test_the_memory_is_asked_once_with_the_input_and_written_in_one_batch() -> None:
    """Tool calls and results of the run are in the batch, in order; nothing is written before the model is done."""
    own = Own()
    call = Message.assistant(tool_calls=(ToolCall("a", "weather", "{}"),))
    steps = [call, Message.tool("rain", "a"), Message.assistant("It rains.")]

    def chat(messages: Any) -> Any:
        assert own.batches == []
        return steps

    reply = agent(chat, own).run("Weather?")
    assert own.queries == ["Weather?"]
    assert own.batches == [[Message.user("Weather?"), *steps]]
    assert (reply, reply.messages) == ("It rains.", tuple(steps))


def test_a_message_may_be_given_instead_of_a_text() -> None:
    """With a speaker's name, which the model is shown too."""
    model = Model(Message.assistant("Hello Maya"))
    ours = agent(model, Buffer())
    assert ours.run(Message.user("Hi", name="Maya")) == "Hello Maya"
    assert model.seen[0][-1] == {"role": "user", "content": "Hi", "name": "Maya"}
    assert ours.memory.read()[0].name == "Maya"


def test_nothing_is_written_when_the_run_fails() -> None:
    """The model's own error comes through, and the next run does not see the failed one."""
    own = Own()

    def chat(messages: Any) -> Any:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        agent(chat, own).run("Hi")
    assert own.batches == []


@pytest.mark.parametrize("answer", [None, 7, {"role": "assistant"}, ["text"], [Message.user("a"), None]])
def test_what_is_no_answer_is_refused_and_not_written(answer: Any) -> None:
    """A wrong return value of the model is a TypeError, before anything is stored."""
    own = Own()
    with pytest.raises(TypeError, match="model answers"):
        agent(lambda _: answer, own).run("Hi")
    assert own.batches == []


@pytest.mark.parametrize("answer", ["", [], Message.assistant("  ")])
def test_an_answer_that_says_nothing_is_not_stored(answer: Any) -> None:
    """Memories take no blank messages; what the user said is kept."""
    ours = agent(lambda _: answer, Buffer())
    assert ours.run("Hi").strip() == ""
    assert [m.text for m in ours.memory.read()] == ["Hi"]


def test_each_built_agent_has_its_own_memory() -> None:
    """A variant makes a new memory each time; builders are values and do not share."""
    builder = AgentBuilder().with_llm(Model()).with_memory(Buffer()).stateful()
    first, second = builder.build(), builder.build()
    first.run("Hi")
    assert second.memory.read() == []
    assert builder.with_system_prompt("x") is not builder


def test_builders_refuse_what_cannot_work() -> None:
    """No model, or a variant that needs the server."""
    with pytest.raises(ValueError, match="with_llm"):
        AgentBuilder().build()
    with pytest.raises(NeedsServerError):
        AgentBuilder().with_llm(Model()).with_memory(Vector()).build()


async def test_the_asyncio_agent_does_the_same() -> None:
    """With an asynchronous model and memory, and with ordinary ones."""

    class Later:
        def __init__(self) -> None:
            self.own = Own()

        async def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
            return self.own.seed(query)

        async def write(self, messages: Iterable[Message]) -> None:
            self.own.write(messages)

        def read(self) -> list[Message]:
            return self.own.read()

    model = Model()

    async def chat(messages: Any) -> Any:
        return model.chat(messages)

    pairs: list[tuple[Any, Any]] = [(chat, Later()), (model, Buffer()), (chat, LocalMemory(Window(4)))]
    for llm, memory in pairs:
        builder = AgentBuilder().with_llm(llm).with_system_prompt(PROMPT).with_memory(memory).stateful()
        ours = builder.build_async()
        await ours.run("Hi, I'm Maya.")
        assert await ours.run("What's my name?") == "You are Maya."
        assert len(ours.memory.read()) == 4
    with pytest.raises(TypeError, match="build_async"):
        AgentBuilder().with_llm(model).with_memory(Later()).build()


def test_an_empty_memory_of_ones_own_is_used() -> None:
    """Also one with a length, which is falsy while nothing is in it."""

    class Sized(Own):
        def __len__(self) -> int:
            return len(self.read())

    own = Sized()
    agent(Model(), own).run("Hi, I'm Maya.")
    assert len(own) == 2


def test_the_public_surface_is_what_all_says() -> None:
    """Every name in __all__ is there, sorted, and no other public class or function is."""
    assert sorted(seedbed.__all__) == seedbed.__all__
    lazy = {"AsyncClient", "AsyncRemoteMemory", "Client", "RemoteMemory"}
    assert lazy == set(seedbed._CLIENT)
    eager = {name for name, value in vars(seedbed).items() if isinstance(value, type)}
    assert eager - {"Any"} == set(seedbed.__all__) - lazy
    with pytest.raises(AttributeError, match="no attribute"):
        _ = seedbed.nothing
