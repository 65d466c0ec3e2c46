"""``python -m seedbed_server``: the same as the command ``seedbed``."""

from seedbed_server.app.cli import main

main()
