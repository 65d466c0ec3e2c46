"""The variants, served: a variant in, a seed out.

Recency variants run the very code that an agent runs in process; the heavy ones
ask recall, the graph and the summaries what to show. Everything they show goes
through one packer, under one budget.
"""

from seedbed_server.memories.forgetting import Forgetting
from seedbed_server.memories.seeder import Seeder
from seedbed_server.memories.view import Ask

__all__ = ["Ask", "Forgetting", "Seeder"]
