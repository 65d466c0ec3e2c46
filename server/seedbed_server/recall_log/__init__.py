"""The recall log: what was asked and what was shown, to say later why an agent said what it said.

``RecallLog`` is the whole surface. Behind it: ``entries`` (the values, and how
large they may be), ``rows`` (what the file holds of them) and ``file`` (SQLite).
It stores no text of a message and no id: it knows the log, and nothing else.
"""

from seedbed_server.recall_log.entries import Entry, Leg, Piece, beginning
from seedbed_server.recall_log.recall_log import Listed, RecallLog

__all__ = ["Entry", "Leg", "Listed", "Piece", "RecallLog", "beginning"]
