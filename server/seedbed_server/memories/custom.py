"""Variants of your own: a class with read, write, clear and seed, found by name.

The class is the same that an agent could use in process (``seedbed.Memory``).
It is registered under a name in the entry-point group ``seedbed.variants`` and
made with the variant's options as keyword arguments. The server feeds it the
session's messages from the log, which stays the only truth: an instance can be
thrown away at any time, and is made again from the log. That is what happens
after an erasure, and after anything went wrong in it: an instance that raises,
or takes too long, shows nothing and is degraded, and the rest of the seed stands.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from seedbed.memory import Memory
from seedbed.packing import shown_from_seed
from seedbed.seeds import Shown
from seedbed.variants import Custom, Hybrid, Variant
from seedbed_server.errors import SeedbedError, VariantNotRegisteredError
from seedbed_server.memories.hands import Hands
from seedbed_server.memories.view import Answer, View

log = logging.getLogger(__name__)

GROUP = "seedbed.variants"
PATIENCE = 10.0  # seconds that an instance may take for a seed, catching up with the log included
_KEPT = 256
_MOST_NAMES = 300  # characters of them, in an error
_PAGE = 500
_PAGE_BYTES = 8 * 2**20

Factory = Callable[..., Memory]
_Place = tuple[int, str, str, str]


@dataclass(slots=True)
class _Instance:
    """``erased`` is how many messages had been erased from the memory when this was made."""

    memory: Memory
    erased: int
    seq: int = 0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


def registered() -> dict[str, Factory]:
    """Return the classes registered by installed packages, by name; one that cannot be loaded is left out."""
    found: dict[str, Factory] = {}
    for point in entry_points(group=GROUP):
        try:
            found[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - whatever a package does when it is imported
            log.error("the variant %s cannot be loaded: %s", point.name, type(error).__name__)  # noqa: TRY400 - no text of others
    return found


class CustomPart:
    """Runs custom variants, an instance per memory, session and options, least recently used first to go."""

    def __init__(self, factories: Mapping[str, Factory], *, patience: float = PATIENCE) -> None:
        self._factories = factories
        self._patience = patience
        self._hands = Hands()
        self._instances: OrderedDict[_Place, _Instance] = OrderedDict()

    def require(self, variant: Variant) -> None:
        """Raise VariantNotRegisteredError for a custom variant, also in a Hybrid, that is not registered."""
        parts = variant.parts if isinstance(variant, Hybrid) else (variant,)
        if all(part.name in self._factories for part in parts if isinstance(part, Custom)):
            return
        names = ", ".join(sorted(self._factories))[:_MOST_NAMES]
        raise VariantNotRegisteredError(
            "variant",
            f"names none of those that are registered: {names}" if names else "names one, and none is registered",
        )

    async def show(self, view: View, part: Custom) -> Answer:
        """Bring the instance up to date with the log, and ask it for its seed.

        As of an earlier time, an instance is made for this question alone. The
        variant has passed ``require``.
        """
        try:
            async with asyncio.timeout(self._patience):
                return Answer(await self._shown(view, part))
        except SeedbedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever somebody else's class does
            log.warning("the variant %s failed: %s", part.name, type(error).__name__)
            return Answer(Shown(part.name, degraded=True))

    async def _shown(self, view: View, part: Custom) -> Shown:
        place = (view.key, view.ask.session, part.name, repr(sorted(part.options.items())))
        instance = await self._instance(view, part, place)
        async with instance.busy:
            try:
                await self._catch_up(view, instance)
                seed = await self._hands.do(lambda: instance.memory.seed(view.ask.query, max_tokens=view.budget))
                return shown_from_seed(seed, part.name)
            except BaseException:  # also when it is given up: nobody knows how far it came
                if self._instances.get(place) is instance:
                    del self._instances[place]
                raise

    async def _instance(self, view: View, part: Custom, place: _Place) -> _Instance:
        erased = view.record.last_seq - view.record.message_count
        passing = view.upto_seq != view.record.last_seq
        known = None if passing else self._instances.get(place)
        if known is None or known.erased < erased:
            known = _Instance(await self._hands.do(lambda: self._factories[part.name](**part.options)), erased)
        if not passing:
            self._instances[place] = known
            self._instances.move_to_end(place)
            while len(self._instances) > _KEPT:
                self._instances.popitem(last=False)
        return known

    async def _catch_up(self, view: View, instance: _Instance) -> None:
        while instance.seq < view.upto_seq:
            page = await view.log.read(
                view.key, after_seq=instance.seq, limit=_PAGE, session=view.ask.session, max_bytes=_PAGE_BYTES
            )
            fresh = [message for message in page if message.seq <= view.upto_seq]
            if fresh:
                await self._hands.do(lambda fresh=fresh: instance.memory.write(fresh))  # type: ignore[misc]
            instance.seq = min(page[-1].seq, view.upto_seq) if page else view.upto_seq
