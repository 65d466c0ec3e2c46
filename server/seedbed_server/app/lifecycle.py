"""The server's life, in the order in which things start; they stop in the reverse order.

    lock         one server per data directory
    log          the truth: from here on, writes can be taken
    children     encoder, tagger and vectors begin to load; nobody waits for them
    derived      the SQLite file of the projections
    projector    follows the log
    rpc          takes calls; health says SERVING
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

from seedbed.frame import is_echo
from seedbed.messages import Message
from seedbed.variants import Hybrid, KnowledgeGraph, Vector, Window

from seedbed_server.app.lock import lock_data_dir
from seedbed_server.app.settings import Settings, models_dir, read_tokens
from seedbed_server.log import Log
from seedbed_server.memories import Seeder
from seedbed_server.memories.custom import CustomPart, registered
from seedbed_server.memories.knowledge import KnowledgePart
from seedbed_server.memories.summaries import SummaryPart
from seedbed_server.memories.vector import VectorPart
from seedbed_server.models.encoder import Encoder
from seedbed_server.models.manifest import models
from seedbed_server.models.tagger import Tagger
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.vector_index import VectorIndex
from seedbed_server.projections.vectors import Vectors
from seedbed_server.recall import HotMemories, Recall
from seedbed_server.rpc.admin_servicer import AdminServicer
from seedbed_server.rpc.guards import Access, Admission, Draining, Guards, deadline, journal, statuses
from seedbed_server.rpc.knowledge_servicer import KnowledgeServicer
from seedbed_server.rpc.memory_servicer import MemoryServicer
from seedbed_server.rpc.server import Server, Tls

log = logging.getLogger(__name__)

# What a memory is read through when nobody says: recent turns, what recall finds, and facts.
DEFAULT_VARIANT = Hybrid(Window(10), Vector(k=10), KnowledgeGraph(max_facts=10, recent=0))
# A stop that hangs longer than its drain by this many seconds shows where every thread stands, and ends.
_HANGS_AFTER = 20.0
