"""The change from one encoder to another, while the server answers.

decided     the wanted model is in the log: what follows is taken up again after any end of the server
followed    a second space follows the log beside the first, which goes on answering
verified    when it has caught up it is compared with the log; what differs is made again, a few times
committed   the log names it as the model in use
swapped     queries, memories and reports go to it, in one step of the event loop
removed     when no search looks at the old space any more, it is deleted

What is not committed can be thrown away at any time: nothing is answered from it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from seedbed.messages import Message
from seedbed_server.errors import (
    InvalidFieldError,
    ModelNotFoundError,
    ModelUnavailableError,
    ReembedRunningError,
    UnavailableError,
)
from seedbed_server.log import Log
from seedbed_server.models import weights
from seedbed_server.models.manifest import ENCODER, Model
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.spaces import ServingEncoder, Space
from seedbed_server.projections.verifying import Verification
from seedbed_server.recall.lens import Lens
from seedbed_server.recall.parts import REEMBED, PartState, process_part, progress_part
from seedbed_server.recall.search import Recall

log = logging.getLogger(__name__)

IN_USE, WANTED = "encoder", "encoder.wanted"
"""What is decided in the log: the name of the model that serves, and of the one to change to."""

ATTEMPTS = 3
"""How often the vectors are made before the change stands still: what differs then would differ for ever."""

_MAKING, _VERIFYING, _REMOVING = "making vectors", "verifying", "removing vectors"
_AGAIN = 1.0  # seconds after something was not available


class Reembedding:
    """Changes the model of the ``serving`` space to another of ``models``, whose files lie in ``weights_dir``.

    ``make`` returns the space of a model, ``look`` the lens on a space, and
    ``keep_only`` deletes what all other spaces have left on the disk.
    ``indexable`` says of which messages anything is made.
    """

    def __init__(
        self,
        truth: Log,
        projector: Projector,
        recall: Recall,
        encoder: ServingEncoder,
        serving: Space,
        *,
        models: Sequence[Model],
        weights_dir: Path,
        make: Callable[[Model], Space],
        look: Callable[[Space], Lens],
        keep_only: Callable[[Sequence[Space]], Awaitable[None]],
        indexable: Callable[[Message], bool],
    ) -> None:
        self.models = models
        self._log = truth
        self._projector = projector
        self._recall = recall
        self._encoder = encoder
        self._serving = serving
        self._weights_dir = weights_dir
        self._make = make
        self._look = look
        self._keep_only = keep_only
        self._indexable = indexable
        self._coming: Space | None = None
        self._wanted = ""
        self._phase = ""
        self._stands = ""  # why it does not go on by itself
        self._task: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._deciding = asyncio.Lock()

    # The server's life.

    async def open(self, decided: Mapping[str, str]) -> None:
        """Take up the change that the log wants, if any, and delete what an earlier one has left. Before any process.

        A model that is not known any more is reported, and the serving one goes on.
        """
        if IN_USE not in decided:
            await self._log.set({IN_USE: self.in_use})
        wanted = decided.get(WANTED, "")
        model = self._known(wanted)
        if model is not None and model.name != self.in_use:
            self._add(model)
        elif wanted and model is None:
            self._wanted, self._stands = wanted, "no manifest names this model"
        if not await self._swept():
            self._sweeping = asyncio.create_task(self._sweep_later(), name="sweep")

    async def start(self) -> None:
        """Start the processes, and go on with what was taken up. The projector has to run."""
        async with self._deciding:
            await self._serving.start()
            # The port is open already: a caller may have begun what would be begun here a second time.
            if self._coming is not None and self._task is None:
                await self._go_on(self._coming)

    async def halt(self) -> None:
        """Stop where it is; before the projector stops."""
        await self._halt_change()
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    async def stop(self) -> None:
        """End the processes."""
        spaces = [self._serving, *filter(None, [self._coming])]
        await asyncio.gather(*(space.stop() for space in spaces))

    # What is asked of it.

    @property
    def in_use(self) -> str:
        """The name of the model that serves."""
        return self._serving.encoder.name

    async def begin(self, name: str) -> int:
        """Change to a model; returns how many messages it has to embed, 0 when it is in use.

        Asking again for the same one changes nothing, or has it tried again where
        it stands still. Raises ModelNotFoundError, InvalidFieldError for a model
        that is no encoder, ReembedRunningError while it changes to another one,
        and ModelUnavailableError when files of it are missing.
        """
        model = self._chosen(name)
        # A caller who gives up leaves nothing half begun.
        return await asyncio.shield(asyncio.ensure_future(self._begin(model)))

    async def give_up(self, name: str) -> None:
        """Give the change to a model up, if one is under way and not committed: all is as before it.

        Raises ModelNotFoundError and InvalidFieldError as ``begin`` does, but for the model that it is changing to.
        """
        if name != self._wanted:
            self._chosen(name)
        await asyncio.shield(asyncio.ensure_future(self._give_up(name)))

    async def parts(self) -> list[PartState]:
        """The processes of the serving space, and while one is under way, the change."""
        parts = [process_part(self._serving.encoder.child, self.in_use), process_part(self._serving.index.child)]
        return [*parts, await self._progress()] if self._wanted else parts

    async def available(self) -> set[str]:
        """The names of the models whose files are here and unaltered."""
        return {
            model.name for model in self.models if await asyncio.to_thread(weights.is_here, self._weights_dir, model)
        }

    async def _begin(self, model: Model) -> int:
        async with self._deciding:
            if self._wanted not in ("", model.name):
                raise ReembedRunningError
            if self.in_use == model.name:
                return 0
            if self._phase == _REMOVING:  # it was given up
                raise ReembedRunningError
            if not self._wanted or self._stands or self._task is None:
                # Their hashes are the encoder's business: it takes a while, and status tells.
                if not await asyncio.to_thread(weights.is_complete, self._weights_dir, model):
                    raise ModelUnavailableError
                await self._log.set({WANTED: model.name})
                log.info("the model is changed to %s", model.name)
                await self._go_on(self._coming or self._add(model))
            return await self._log.message_count()

    async def _give_up(self, name: str) -> None:
        async with self._deciding:
            if name != self._wanted or self._phase == _REMOVING:
                return
            await self._log.set({WANTED: ""})
            await self._halt_change()
            self._phase, self._stands = _REMOVING, ""
            removal = self._task = asyncio.create_task(self._removed(), name="reembed")
            log.info("the change of the model is given up")
        await asyncio.wait([removal])

    def _chosen(self, name: str) -> Model:
        """The encoder of this name; ModelNotFoundError, InvalidFieldError."""
        model = self._known(name)
        if model is None:
            raise ModelNotFoundError("model")
        if model.role != ENCODER:
            raise InvalidFieldError("model", "is no encoder")
        return model

    def _known(self, name: str) -> Model | None:
        return next((model for model in self.models if model.name == name), None)

    # The change.

    def _add(self, model: Model) -> Space:
        """Make the second space, and have it follow the log."""
        space = self._make(model)
        space.call("next ")
        self._projector.add(space.vectors)
        self._coming, self._wanted = space, model.name
        return space

    async def _go_on(self, space: Space) -> None:
        self._stands, self._phase = "", _MAKING
        await space.start()
        self._task = asyncio.create_task(self._change(space), name="reembed")

    async def _change(self, space: Space) -> None:
        """From the first vector to the removal of the old ones."""
        try:
            for _ in range(ATTEMPTS):
                fault = await self._made(space)
                if not fault:
                    await self._take_over(space)
                    return
                log.warning("vectors of the next model are not right, and are made again: %s", fault)
                await self._projector.begin_again(space.vectors)
            self._stands = f"not verified: {fault}"
        except Exception as error:  # noqa: BLE001 - nobody waits for this task: what ends it is told by status
            self._failed(error)

    async def _removed(self) -> None:
        """The removal alone, after the change was given up."""
        try:
            await self._remove()
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        log.error("the change of the model stands still: %s", type(error).__name__)
        self._stands = f"failed: {type(error).__name__}"

    async def _halt_change(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _made(self, space: Space) -> str:
        """Wait until the space has caught up with the log, and verify it; says what is wrong, or nothing."""
        verification = Verification(self._log, space, lambda: self._projector.cursors(space.vectors), self._indexable)
        while True:
            try:
                self._phase = _MAKING
                await self._projector.catch_up(space.vectors)
                incarnation = await space.index.generation()
                self._phase = _VERIFYING
                fault = await verification.fault()
                await self._projector.catch_up(space.vectors)
                if fault or incarnation == await space.index.generation():
                    return fault
            except UnavailableError:
                await asyncio.sleep(_AGAIN)

    async def _take_over(self, space: Space) -> None:
        """Commit, swap, and remove what served before."""
        lens = await self._commit(space)
        await lens.idle()
        await self._remove()
        log.info("the model is %s now", self.in_use)

    async def _commit(self, space: Space) -> Lens:
        """Have the log name the space's model, and everybody use it; returns the lens before."""
        while True:
            with suppress(UnavailableError):
                async with self._deciding:
                    await self._log.set({IN_USE: space.encoder.name, WANTED: ""})
                    return self._swap(space)
            await asyncio.sleep(_AGAIN)

    def _swap(self, space: Space) -> Lens:
        """The one place where the old space and the new change sides; nothing waits in it."""
        lens = self._recall.lens
        self._projector.take_over(space.vectors)
        self._recall.lens = self._look(space)
        self._encoder.current = space.encoder
        self._serving.call("old ")
        space.call("")
        self._serving, self._coming = space, self._serving
        self._phase = _REMOVING
        return lens

    async def _remove(self) -> None:
        """Delete the space that does not serve; until that is done, an erasure is not reported as done."""
        space = self._coming
        if space is not None:
            async with self._projector.removing(space.vectors):
                await space.stop()
                while True:
                    if await self._swept(without=space):
                        break
                    await asyncio.sleep(_AGAIN)
        self._coming = None
        self._wanted = self._stands = self._phase = ""

    async def _sweep_later(self) -> None:
        """Delete what could not be deleted when the server started; an erasure waits for that as well."""
        async with self._projector.deleting():
            while True:
                await asyncio.sleep(_AGAIN)
                async with self._deciding:  # no space may be added meanwhile: it would be deleted
                    if await self._swept():
                        return

    async def _swept(self, without: Space | None = None) -> bool:
        """Try to delete what all other spaces have left; says whether it is done."""
        spaces = [space for space in (self._serving, self._coming) if space is not None and space is not without]
        try:
            await self._keep_only(spaces)
        except UnavailableError as error:
            log.warning("what another model has left cannot be deleted: %s", type(error).__name__)
            return False
        return True

    async def _progress(self) -> PartState:
        """How far the change is, and what it waits for."""
        coming = self._coming
        if self._phase == _REMOVING and not self._stands:
            return PartState(REEMBED, "starting", 0, f"{self._wanted}: {_REMOVING}")
        if coming is None or self._stands:
            return PartState(REEMBED, "down", 0, f"{self._wanted}: {self._stands}")
        # All that is asked of the projector comes before the wait: the change may be given up meanwhile.
        phase, cursors = self._phase, self._projector.cursors(coming.vectors)
        waits_for = self._projector.state(coming.vectors).waiting_for
        return progress_part(coming, phase, cursors, await self._log.heads(), waits_for)
