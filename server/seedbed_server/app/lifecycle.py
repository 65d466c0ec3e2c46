"""The server's life, in the order in which things start; they stop in the reverse order.

port         bound, and not served yet: a taken address is found before anything is touched
lock         one server per data directory
log          the truth: from here on, writes can be taken
recall log   follows what the log erased while it was down
derived      the SQLite file of the projections
model        the encoder that the log names, and its vectors; a change to another is taken up
projector    follows the log
rpc          the port takes calls; health says SERVING
children     encoder, tagger and vectors begin to load; nobody waits for them

The children are spawned last, so that they do not take the processors from what
takes writes; they stop when nothing calls them any more, before the log closes.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import math
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial

from seedbed.frame import is_echo
from seedbed.messages import Message
from seedbed.tokens import count, cut
from seedbed.variants import Hybrid, KnowledgeGraph, Vector, Window
from seedbed_server.app.choosing import LOG_FILE, chosen_encoder, known_models
from seedbed_server.app.lock import lock_data_dir
from seedbed_server.app.settings import Settings, check_tls, models_dir, read_operators, read_tokens
from seedbed_server.log import Log
from seedbed_server.log.sqlite import sqlite_url
from seedbed_server.memories import Forgetting, Seeder
from seedbed_server.memories.correcting import Corrections
from seedbed_server.memories.custom import CustomPart, registered
from seedbed_server.memories.finding import Finding
from seedbed_server.memories.knowledge import KnowledgePart
from seedbed_server.memories.living import Living
from seedbed_server.memories.summaries import SummaryPart
from seedbed_server.memories.vector import VectorPart
from seedbed_server.models.encoder import Encoder
from seedbed_server.models.llm import Llm
from seedbed_server.models.llm_tagger import TRY_SECONDS, LlmTagger
from seedbed_server.models.manifest import Model
from seedbed_server.models.tagger import Tagger
from seedbed_server.processes import Child
from seedbed_server.projections.abstractive import Abstractive
from seedbed_server.projections.analysis import is_blank
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.lexical import Lexical
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.spaces import ServingEncoder, Space, keep_only, make_space
from seedbed_server.projections.summaries import Summaries
from seedbed_server.projections.summarisers import Extractive, Summariser
from seedbed_server.projections.vectors import Vectors
from seedbed_server.recall import FactSources, HotMemories, Lens, QueryVectors, Recall
from seedbed_server.recall.reembedding import IN_USE, Reembedding
from seedbed_server.recall_log import RecallLog
from seedbed_server.rpc.admin_servicer import AdminServicer, Part
from seedbed_server.rpc.guards import Draining, chain
from seedbed_server.rpc.interceptor import Guards
from seedbed_server.rpc.knowledge_servicer import KnowledgeServicer
from seedbed_server.rpc.memory_servicer import MemoryServicer
from seedbed_server.rpc.paging import PAGE_BYTES
from seedbed_server.rpc.server import Server, Tls

log = logging.getLogger(__name__)

DERIVED = "derived"
# What a memory is read through when nobody says: recent turns, what recall finds, and facts.
DEFAULT_VARIANT = Hybrid(Window(10), Vector(k=10), KnowledgeGraph(max_facts=10, recent=0))
# A stop that hangs longer than its drain by this many seconds shows where every thread stands, and ends.
_HANGS_AFTER = 20.0


_SCHEMAS = [kind.schema for kind in (Lexical, Vectors, Knowledge, Summaries)]


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Server]:
    """Run a server until the block ends.

    Raises SettingsError, DataDirTakenError, AddressTakenError, StorageUnavailableError, WeightsError;
    what had started by then is stopped again, and nothing stored is touched.
    """
    tokens = read_tokens(settings.tokens_file)
    check_tls(settings)
    weights_dir = models_dir(settings)
    models = known_models(settings)
    chosen_encoder(models, settings)  # a name that is no encoder is found before anything is touched
    draining = Draining()
    most_bytes = settings.max_message_mb * 1024 * 1024
    guards = Guards(chain(draining, settings.max_calls, tokens, read_operators(settings.tokens_file)), most_bytes)
    server = Server(settings.listen, guards, max_message_bytes=most_bytes, tls=_tls(settings))
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_dir(settings.data_dir))
        truth = await Log.open(sqlite_url(settings.data_dir / LOG_FILE))
        stack.push_async_callback(truth.close)
        recall_log = await _recall_log(settings, truth, stack)

        derived = await Derived.open(settings.data_dir / DERIVED, _SCHEMAS)
        stack.push_async_callback(derived.close)

        make = partial(_space, settings, derived)
        decided = await truth.settings()
        space = make(chosen_encoder(models, settings, decided.get(IN_USE, "")))
        tagger = Tagger(weights_dir, threads=settings.worker_threads)
        stack.push_async_callback(tagger.child.stop)

        serving = ServingEncoder(space.encoder)
        lexical = Lexical(derived)
        reader = _reader(settings, tagger, stack)
        knowledge = Knowledge(derived, tagger if reader is None else reader)
        local = Extractive(serving, count)
        writer = _writer(settings, local, stack)
        summaries = Summaries(derived, truth, local if writer is None else writer, indexable=_indexable)
        projector = Projector(truth, derived, (lexical, space.vectors, knowledge, summaries), is_echo=_is_echo)
        truth.on_change.append(projector.changed)

        look = partial(_lens, settings, truth, projector, lexical)
        graphs = Graphs(knowledge, truth, lambda key: projector.applied(key)["entities"])
        recall = Recall(truth, look(space), projector, FactSources(graphs))
        reembedding = Reembedding(
            truth,
            projector,
            recall,
            serving,
            space,
            models=models,
            weights_dir=weights_dir,
            make=make,
            look=look,
            keep_only=partial(keep_only, derived, settings.data_dir / DERIVED),
            indexable=_indexable,
        )
        await reembedding.open(decided)
        stack.push_async_callback(reembedding.stop)
        await projector.start()
        stack.push_async_callback(projector.stop)
        stack.push_async_callback(reembedding.halt)

        finding = Finding(truth, graphs, projector)
        seeder = Seeder(
            truth,
            VectorPart(recall),
            KnowledgePart(Living(truth), graphs, projector),
            SummaryPart(summaries),
            CustomPart(registered()),
        )
        servicers = (
            MemoryServicer(
                truth,
                recall,
                seeder,
                Forgetting(truth, graphs, projector, derived, recall_log),
                recall_log,
                DEFAULT_VARIANT,
                page_bytes=_page_bytes(settings),
            ),
            KnowledgeServicer(
                truth, knowledge, graphs, finding, Corrections(truth, graphs, finding), page_bytes=_page_bytes(settings)
            ),
            AdminServicer(
                truth,
                projector,
                _parts(tagger.child, reader, writer, recall_log if recall_log.kept else None),
                reembedding,
                datetime.now(UTC),
            ),
        )
        await server.start(servicers)
        stack.push_async_callback(_drain, draining, server, settings.drain_seconds)
        await reembedding.start()
        await tagger.child.start()
        stack.callback(_telling_when_ready(space.encoder.child, space.index.child, tagger.child).cancel)
        yield server


async def _drain(draining: Draining, server: Server, seconds: float) -> None:
    draining.begin()
    await server.stop(seconds)


def _page_bytes(settings: Settings) -> int:
    return min(PAGE_BYTES, settings.max_message_mb * 1024 * 1024 * 3 // 4)


def _telling_when_ready(*children: Child) -> asyncio.Task[None]:
    async def tell() -> None:
        for child in children:
            await child.wait_ready(math.inf)
        log.info("models are ready")

    return asyncio.create_task(tell(), name="telling when ready")


async def _recall_log(settings: Settings, truth: Log, stack: AsyncExitStack) -> RecallLog:
    most = settings.recall_log_mb * 1024 * 1024
    opened = await RecallLog.open(truth, settings.data_dir, kept=settings.recall_log, most_bytes=most)
    stack.push_async_callback(opened.close)
    return opened


async def serve_until_stopped(settings: Settings, ready: Callable[[Server], None]) -> None:
    """Run a server until SIGTERM or SIGINT; ``ready`` is called when it takes writes."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings) as server:
        ready(server)
        await stop.wait()
        log.info("stopping")
        faulthandler.dump_traceback_later(settings.drain_seconds + _HANGS_AFTER, exit=True, file=sys.stderr)
    faulthandler.cancel_dump_traceback_later()
    log.info("stopped")


def _space(settings: Settings, derived: Derived, model: Model) -> Space:
    encoder = Encoder(models_dir(settings), model, threads=settings.worker_threads)
    floor = settings.min_free_mb * 1024 * 1024
    return make_space(derived, settings.data_dir / DERIVED, encoder, floor=floor)


def _lens(settings: Settings, truth: Log, projector: Projector, lexical: Lexical, space: Space) -> Lens:
    hot = HotMemories(
        truth,
        projector,
        lexical,
        space.vectors,
        space.encoder,
        indexable=_indexable,
        limit_bytes=settings.hot_memory_mb * 1024 * 1024,
    )
    return Lens(hot, QueryVectors(space.encoder))


def _is_echo(message: Message) -> bool:
    """Whether a message is a memory block of ours that an agent wrote back."""
    return message.role == "system" and is_echo(message.text)


def _indexable(message: Message) -> bool:
    """Whether anything is made of a message: it has words, and they are not our own."""
    return not is_blank(message.text) and not _is_echo(message)


def _writer(settings: Settings, local: Summariser, stack: AsyncExitStack) -> Abstractive | None:
    """A language model that writes summaries, with the local models behind it, where one is configured."""
    if not settings.llm_url:
        return None
    llm = Llm(settings.llm_url, settings.llm_model, api_key=settings.llm_api_key)
    writer = Abstractive(llm, cut, local)
    stack.push_async_callback(writer.close)
    return writer


def _parts(*parts: Part | None) -> list[Part]:
    """What status reports, of what is on."""
    return [part for part in parts if part is not None]


def _reader(settings: Settings, tagger: Tagger, stack: AsyncExitStack) -> LlmTagger | None:
    """A language model that reads messages, with the tagger behind it, where that is set."""
    if not settings.llm_extraction_calls:
        return None
    llm = Llm(settings.llm_url, settings.llm_model, api_key=settings.llm_api_key, timeout=TRY_SECONDS)
    reader = LlmTagger(llm, tagger, calls=settings.llm_extraction_calls)
    stack.push_async_callback(reader.close)
    return reader


def _tls(settings: Settings) -> Tls | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return Tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
