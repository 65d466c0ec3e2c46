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
