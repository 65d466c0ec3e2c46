"""The ranked search behind the seed.

postings   words: BM25 of a message, of its neighbourhood, of its session
hot        one memory in arrays
memories   the loaded memories, kept current with the log
queries    the vector of a question
lens       queries and memories in the vectors of one encoder
exact      what a query names exactly: identifiers and names
times      times that a query speaks of
anchors    times that hang on an event or a date: before the move
asker      whom "I" means in a query
facts      messages from which facts stem that answer
fusion     from the legs' scores to one order
floor      whether anything is related at all
search     a question in, messages out
reembedding   the change from one encoder to another
parts      how the encoder and its vectors stand, and a change of them
"""

from seedbed_server.recall.asker import asker
from seedbed_server.recall.facts import FactSources
from seedbed_server.recall.lens import Lens
from seedbed_server.recall.memories import HotMemories
from seedbed_server.recall.queries import QueryVectors
from seedbed_server.recall.search import Found, Leg, Ranking, Recall, Search

__all__ = [
    "FactSources",
    "Found",
    "HotMemories",
    "Leg",
    "Lens",
    "QueryVectors",
    "Ranking",
    "Recall",
    "Search",
    "asker",
]
