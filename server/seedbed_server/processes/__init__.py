"""Child processes: heavy libraries live in them, and their failures end there.

    parent  Child: spawns a process, calls it, watches it, replaces it
    child   the main loop inside the process: one queue, urgent work first
    wire    the frames between the two: msgpack over a socket pair

A child that dies or hangs makes a part unavailable, never the server. Values and
arrays cross; code, pickles and the text of errors do not.
"""

from seedbed_server.processes.parent import Child
from seedbed_server.processes.wire import Priority

__all__ = ["Child", "Priority"]
