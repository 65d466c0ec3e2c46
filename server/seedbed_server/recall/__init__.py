"""The ranked search behind the seed.

postings   words: BM25 of a message, of its neighbourhood, of its session
hot        one memory in arrays
memories   the loaded memories, kept current with the log
queries    the vector of a question
fusion     from the legs' scores to one order
search     a question in, messages out
"""

from seedbed_server.recall.memories import HotMemories
from seedbed_server.recall.queries import QueryVectors
from seedbed_server.recall.search import Found, Leg, Ranking, Recall, Search

__all__ = ["Found", "HotMemories", "Leg", "QueryVectors", "Ranking", "Recall", "Search"]
