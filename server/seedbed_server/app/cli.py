"""The command ``seedbed``, from its first moment: Ctrl-C ends it with exit code 130, and no traceback."""

from __future__ import annotations

import os
import signal
from typing import Any

INTERRUPTED = 130  # as shells have it


def main() -> Any:
    """Run the command line."""
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:  # else it is ignored, as in the background of a script
        # While modules are imported there is nothing to undo, and an exception might end in any of them.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from seedbed_server.app.commands import app

    signal.signal(signal.SIGINT, interrupt)
    return app()
