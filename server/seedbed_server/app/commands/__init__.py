"""The commands: all but ``serve``, ``models`` and ``extract`` talk to a server, through the public client."""

from __future__ import annotations

import errno
from typing import Any

import typer
from typer.core import TyperGroup

from seedbed_server import __version__
from seedbed_server.app.codes import USAGE
from seedbed_server.app.commands import conversation, evaluation, knowledge, memories, models, server, transfer
from seedbed_server.app.files import FileError
from seedbed_server.app.screen import fail, say
from seedbed_server.app.settings import SettingsError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Commands(TyperGroup):
    """Where a file, a setting or the output is not usable, every command ends alike."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except FileError as error:
            fail(USAGE, str(error.file), f" {error.why}")
        except SettingsError as error:
            fail(USAGE, "Settings:", f" {error}")
        except OSError as error:
            if error.errno not in _FULL or error.filename is not None:
                raise
            fail(USAGE, "standard output", f" cannot be written: {error.strerror}")


app = typer.Typer(
    cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__
)
for group in (server, conversation, memories, transfer, knowledge, models, evaluation):
    app.add_typer(group.app)


@app.command()
def version() -> None:
    """Print the version."""
    say(__version__)
