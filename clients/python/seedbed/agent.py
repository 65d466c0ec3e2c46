"""An agent around a model and a memory: seed at the start of a run, one write at its end.

agent = (
    AgentBuilder()
    .with_llm(chat)
    .with_system_prompt("You are a friendly assistant. Refer to the user by name.")
    .with_memory(Window(20))
    .stateful()
    .build()
)
agent.run("Hi, I'm Maya.")
agent.run("What's my name?")
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Protocol, Self

from seedbed.local import LocalMemory, is_blank
from seedbed.memory import AsyncMemory, Memory
from seedbed.messages import Message
from seedbed.seeds import chat_message
from seedbed.variants import Buffer, Variant

Answer = str | Message | Sequence[Message]
"""What a model gives back: a text, a message, or all the messages it took to get there."""

Chat = Callable[[list[dict[str, Any]]], Answer | Awaitable[Answer]]
"""A model: takes messages in OpenAI's chat format. Only an AsyncAgent takes awaitable answers."""


class Model(Protocol):
    """A model as an object."""

    def chat(self, messages: list[dict[str, Any]], /) -> Answer | Awaitable[Answer]:
        """Answer a chat, as ``Chat`` does."""
        ...


class Reply(str):
    """The text of a run's last message, with ``messages``: all that the model added."""

    __slots__ = ("messages",)
    messages: tuple[Message, ...]

    def __new__(cls, messages: Sequence[Message]) -> Self:
        """Make the reply of what a run added."""
        reply = super().__new__(cls, messages[-1].text if messages else "")
        reply.messages = tuple(messages)
        return reply


@dataclass(frozen=True, slots=True)
class AgentBuilder:
    """Collects what an agent is made of. Every step returns a new builder."""

    llm: Chat | Model | None = None
    system: str = ""
    memory: Variant | Memory | AsyncMemory | None = None
    keeps: bool = False

    def with_llm(self, llm: Chat | Model) -> AgentBuilder:
        """Set the model: a callable, or an object with ``chat``, from messages to an ``Answer``."""
        return replace(self, llm=llm)

    def with_system_prompt(self, system: str) -> AgentBuilder:
        """Set the system prompt. It leads every run, whatever the memory is."""
        return replace(self, system=system)

    def with_memory(self, memory: Variant | Memory | AsyncMemory) -> AgentBuilder:
        """Set the memory: a variant for a new one in process, or a memory that is there already."""
        return replace(self, memory=memory)

    def stateful(self) -> AgentBuilder:
        """Read the memory before each run, and write the transcript after it."""
        return replace(self, keeps=True)

    def stateless(self) -> AgentBuilder:
        """Leave the memory alone, so that every run is independent. This is the default."""
        return replace(self, keeps=False)

    def build(self) -> Agent:
        """Return the agent.

        Without a memory it has a Buffer. Raises ValueError if there is no
        model; NeedsServerError for a variant that does not work in process;
        TypeError for an asynchronous memory.
        """
        if self.memory is not None and iscoroutinefunction(getattr(self.memory, "seed", None)):
            raise TypeError("an asynchronous memory needs build_async")
        return Agent(*self._made())

    def build_async(self) -> AsyncAgent:
        """Return the agent for asyncio, as ``build`` does; model and memory may then be asynchronous."""
        return AsyncAgent(*self._made())

    def _made(self) -> tuple[Chat, str, Any, bool]:
        if self.llm is None:
            raise ValueError("an agent needs a model: call with_llm")
        chat = self.llm if callable(self.llm) else self.llm.chat
        memory = Buffer() if self.memory is None else self.memory  # an empty memory may be falsy
        if isinstance(memory, Variant):
            memory = LocalMemory(memory, system=self.system)
        return chat, self.system, memory, self.keeps


class _Run:
    """What both agents share: how a prompt is made, and what of a run is kept."""

    def __init__(self, chat: Chat, system: str, memory: Any, keeps: bool) -> None:
        self._chat = chat
        self._system = system
        self._keeps = keeps
        self.memory = memory

    def _prompt(self, remembered: Iterable[dict[str, Any]], said: Message) -> list[dict[str, Any]]:
        """One leading system message, which begins with the system prompt; the memory; the input."""
        remembered = list(remembered)
        head = remembered.pop(0)["content"] if remembered and remembered[0]["role"] == "system" else ""
        if not self._keeps:
            head = getattr(self.memory, "system", "")
        lead = head if _leads(self._system, head) else "\n\n".join(filter(None, (self._system, head)))
        first = [{"role": "system", "content": lead}] if lead else []
        return [*first, *remembered, chat_message(said)]


class Agent(_Run):
    """An agent, made by ``AgentBuilder``. Its ``memory`` lives as long as it does."""

    def run(self, message: str | Message) -> Reply:
        """Answer a message.

        A stateful agent first asks the memory for its seed, with the message's
        text as the query, and writes message and answer in one batch once
        the model is done. If anything fails before, nothing is written, and
        the error is the model's or the memory's own. TypeError if the model
        gives back something else than an ``Answer``.
        """
        said = Message.user(message) if isinstance(message, str) else message
        seed = self.memory.seed(query=said.text) if self._keeps else None
        reply = _reply(self._chat(self._prompt(seed.messages if seed else (), said)))
        if self._keeps:
            self.memory.write(_transcript(said, reply))
        return reply


class AsyncAgent(_Run):
    """As ``Agent``, for asyncio. A synchronous memory is called in the event loop."""

    async def run(self, message: str | Message) -> Reply:
        """Answer a message, as ``Agent.run`` does."""
        said = Message.user(message) if isinstance(message, str) else message
        seed = await _settled(self.memory.seed(query=said.text)) if self._keeps else None
        reply = _reply(await _settled(self._chat(self._prompt(seed.messages if seed else (), said))))
        if self._keeps:
            await _settled(self.memory.write(_transcript(said, reply)))
        return reply


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _leads(system: str, head: Any) -> bool:
    """Whether the memory has put the system prompt first already."""
    return bool(system) and (head == system or str(head).startswith(f"{system}\n\n"))


def _reply(answer: Any) -> Reply:
    if isinstance(answer, str):
        return Reply([Message.assistant(answer)])
    messages = [answer] if isinstance(answer, Message) else answer
    if not isinstance(messages, Sequence) or not all(isinstance(each, Message) for each in messages):
        raise TypeError("a model answers with a str, a Message or a list of Message")
    return Reply(messages)


def _transcript(said: Message, reply: Reply) -> list[Message]:
    """All of a run that says something: no memory takes blank messages."""
    return [message for message in (said, *reply.messages) if not is_blank(message)]
