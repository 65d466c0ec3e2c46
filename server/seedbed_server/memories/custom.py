"""Variants of your own: a class with read, write, clear and seed, found by name.

The class is the same that an agent could use in process (``seedbed.Memory``).
It is registered under a name in the entry-point group ``seedbed.variants`` and
made with the variant's options as keyword arguments. The server feeds it the
session's messages from the log, which stays the only truth: an instance can be
thrown away at any time, and is made again from the log.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from seedbed.local import shown_from_seed
from seedbed.memory import Memory
from seedbed.seeds import Shown
from seedbed.variants import Custom
from seedbed_server.errors import VariantNotRegisteredError
from seedbed_server.memories.view import Answer, View

GROUP = "seedbed.variants"
_KEPT = 256
_PAGE = 500

Factory = Callable[..., Memory]
_Place = tuple[int, str, str, str]


@dataclass(slots=True)
class _Instance:
    memory: Memory
    seq: int = 0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


def registered() -> dict[str, Factory]:
    """Return the classes registered by installed packages, by name."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}


class CustomPart:
    """Runs custom variants, an instance per memory, session and options, least recently used first to go."""

    def __init__(self, factories: Mapping[str, Factory]) -> None:
        self._factories = factories
        self._instances: OrderedDict[_Place, _Instance] = OrderedDict()

    def drop(self, key: int) -> None:
        """Throw the instances of a memory away: messages were erased from it."""
        for place in [place for place in self._instances if place[0] == key]:
            del self._instances[place]

    async def show(self, view: View, part: Custom) -> Answer:
        """Bring the instance up to date with the log, and ask it for its seed.

        As of an earlier time, an instance is made for this question alone.
        """
        instance = self._instance(view, part)
        async with instance.busy:
            await self._catch_up(view, instance)
            seed = await asyncio.to_thread(instance.memory.seed, view.ask.query, max_tokens=view.budget)
        shown = shown_from_seed(part.name, seed)
        return Answer(shown if isinstance(shown, Shown) else Shown(part.name))

    def _instance(self, view: View, part: Custom) -> _Instance:
        if part.name not in self._factories:
            raise VariantNotRegisteredError
        make = self._factories[part.name]
        if view.upto_seq != view.record.last_seq:
            return _Instance(make(**part.options))
        place = (view.key, view.ask.session, part.name, repr(sorted(part.options.items())))
        instance = self._instances.setdefault(place, _Instance(make(**part.options)))
        self._instances.move_to_end(place)
        while len(self._instances) > _KEPT:
            self._instances.popitem(last=False)
        return instance

    async def _catch_up(self, view: View, instance: _Instance) -> None:
        while instance.seq < view.upto_seq:
            page = await view.log.read(view.key, after_seq=instance.seq, limit=_PAGE, session=view.ask.session)
            fresh = [message for message in page if message.seq <= view.upto_seq]
            if fresh:
                await asyncio.to_thread(instance.memory.write, fresh)
            instance.seq = page[-1].seq if len(page) == _PAGE else view.upto_seq
