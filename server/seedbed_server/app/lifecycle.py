"""The server's life, in the order in which things start; they stop in the reverse order.

lock         one server per data directory
log          the truth: from here on, writes can be taken
children     encoder, tagger and vectors begin to load; nobody waits for them
derived      the SQLite file of the projections
projector    follows the log
rpc          takes calls; health says SERVING
"""

from __future__ import annotations

import logging

from seedbed.variants import Hybrid, KnowledgeGraph, Vector, Window

log = logging.getLogger(__name__)

# What a memory is read through when nobody says: recent turns, what recall finds, and facts.
DEFAULT_VARIANT = Hybrid(Window(10), Vector(k=10), KnowledgeGraph(max_facts=10, recent=0))
# A stop that hangs longer than its drain by this many seconds shows where every thread stands, and ends.
_HANGS_AFTER = 20.0


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Server]:
    """Run a server until the block ends.

    Raises SettingsError, DataDirTakenError, AddressTakenError, StorageUnavailableError;
    what had started by then is stopped again, and nothing stored is touched.
    """
    tokens = read_tokens(settings.tokens_file)
    weights = models_dir(settings)
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_dir(settings.data_dir))
        truth = await Log.open(f"sqlite:///{settings.data_dir / 'log.db'}")
        stack.push_async_callback(truth.close)

        encoder = Encoder(weights, threads=settings.worker_threads)
        tagger = Tagger(weights, threads=settings.worker_threads)
        index = ChromaIndex(
            settings.data_dir / "derived" / "chroma",
            fingerprint=encoder.fingerprint,
            dimensions=encoder.dimensions,
            floor=settings.min_free_mb * 1024 * 1024,
        )
        children = (encoder.child, tagger.child, index.child)
        for child in children:
            await child.start()
            stack.push_async_callback(child.stop)

        schemas = [kind.schema for kind in (Lexical, Vectors, Knowledge, Summaries)]
        derived = await Derived.open(settings.data_dir / "derived", schemas)
        stack.push_async_callback(derived.close)
        lexical = Lexical(derived)
        vectors = Vectors(derived, encoder, index)
        knowledge = Knowledge(derived, tagger)
        summaries = Summaries(derived, truth, summariser(settings, encoder))
        projector = Projector(truth, derived, (lexical, vectors, knowledge, summaries), is_echo=_is_echo)
        truth.on_change.append(projector.changed)
        await projector.start()
        stack.push_async_callback(projector.stop)

        hot = HotMemories(
            truth, projector, lexical, vectors, encoder, limit_bytes=settings.hot_memory_mb * 1024 * 1024
        )
        recall = Recall(truth, hot, projector, encoder)
        graphs = Graphs(knowledge)
        seeder = Seeder(
            truth,
            VectorPart(recall),
            KnowledgePart(truth, graphs),
            SummaryPart(summaries),
            CustomPart(registered()),
        )
        draining = Draining()
        guards = Guards(
            [statuses, journal, draining, Admission(settings.max_calls), deadline, Access(tokens)],
        )
        server = Server(
            settings.listen,
            (
                MemoryServicer(truth, recall, seeder, DEFAULT_VARIANT),
                KnowledgeServicer(truth, knowledge, graphs),
                AdminServicer(truth, projector, children, models(), datetime.now(UTC)),
            ),
            guards,
            max_message_mb=settings.max_message_mb,
            tls=_tls(settings),
        )
        await server.start()

        async def drain() -> None:
            draining.stopping = True
            await server.stop(settings.drain_seconds)

        stack.push_async_callback(drain)
        yield server


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


def _is_echo(message: Message) -> bool:
    """Whether a message is a memory block of ours that an agent wrote back."""
    return message.role == "system" and is_echo(message.text)


def _tls(settings: Settings) -> Tls | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return Tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
