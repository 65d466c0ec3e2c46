"""``seedbed serve``: check, start, say so, run, and end with a code that tells why."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from rich.console import Console
from rich.text import Text

from seedbed_server.app.choosing import needed_at_start
from seedbed_server.app.codes import MODELS, STORAGE, TAKEN, USAGE
from seedbed_server.app.lock import DataDirTakenError
from seedbed_server.app.logs import configure
from seedbed_server.app.settings import Settings, SettingsError, models_dir
from seedbed_server.errors import StorageFullError, StorageUnavailableError
from seedbed_server.models.weights import WeightsError, require

# Matrices here are small: a second thread of the algebra library would burn a processor waiting, and holds memory.
# The library reads this once, when NumPy is imported; the model processes have settings of their own.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

_M_ARENA_MAX = -8  # malloc.h


def run(settings: Settings, ready_fd: int | None, console: Console) -> int:
    """Run the server until it is told to stop; returns the exit code."""
    # What people wrote is for the user of the server alone; the children inherit it.
    os.umask(0o077)
    configure(settings.log_format)
    os.environ.update(_ONE_THREAD)
    _share_memory()
    try:
        with ThreadPoolExecutor(1) as beside:
            verified = beside.submit(require, models_dir(settings), needed_at_start(settings))
            _import()  # takes longer than the hashing of all model files
            verified.result()
        return _run(settings, ready_fd, console)
    except WeightsError as error:
        return _fail(console, MODELS, "The model files are not complete.", str(error))
    except SettingsError as error:
        return _fail(console, USAGE, "A setting is not acceptable.", str(error))
    except DataDirTakenError:
        return _fail(
            console,
            TAKEN,
            "Another server runs on this data directory.",
            f"{settings.data_dir.resolve()}; --data-dir or SEEDBED_DATA_DIR names another",
        )
    except (StorageUnavailableError, StorageFullError) as error:
        return _fail(
            console, STORAGE, "The log cannot be opened.", f"{type(error).__name__}: {settings.data_dir.resolve()}"
        )
    except OSError as error:
        return _fail(console, STORAGE, "The data directory cannot be used.", f"{error.strerror}: {error.filename}")


def _share_memory() -> None:
    """Keep all threads in one arena: glibc would give each its own, and what one frees no other could use."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _import() -> None:
    """Import the server. Nothing of it becomes garbage, so no collection looks for any: neither now nor ever after."""
    gc.disable()
    from seedbed_server.app import lifecycle  # noqa: F401

    gc.freeze()
    gc.enable()


def _run(settings: Settings, ready_fd: int | None, console: Console) -> int:
    from seedbed_server.app.lifecycle import serve_until_stopped
    from seedbed_server.rpc.server import AddressTakenError, Server

    try:
        pipe = None if ready_fd is None else os.fdopen(ready_fd, "w", encoding="ascii")
    except OSError:
        return _fail(console, USAGE, "A setting is not acceptable.", f"--ready-fd: {ready_fd} is not open for writing")

    def ready(server: Server) -> None:
        host = settings.listen.rpartition(":")[0]
        if pipe is not None:
            with pipe:
                pipe.write(f"{host}:{server.port}\n")
        kept = Text(f"It keeps its data in {settings.data_dir.resolve()}")
        console.print(f"Seedbed takes calls at [bold]{host}:{server.port}[/bold]; models load in the background.")
        console.print(kept, soft_wrap=True)
        where = "" if f"{host}:{server.port}" == Settings().listen else f" --server {host}:{server.port}"
        command = f"{sys.executable} -m seedbed_server" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
        console.print(f"Try it in a second terminal: [bold]{command} demo{where}[/bold]", soft_wrap=True)

    try:
        asyncio.run(serve_until_stopped(settings, ready))
    except AddressTakenError:
        return _fail(
            console,
            TAKEN,
            "The address cannot be listened on; is it taken?",
            f"{settings.listen}; --listen or SEEDBED_LISTEN names another",
        )
    return 0


def _fail(console: Console, code: int, what: str, details: str) -> int:
    console.print(f"[red]{what}[/red]")
    console.print(details, highlight=False, markup=False, soft_wrap=True)
    return code
