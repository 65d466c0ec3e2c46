"""Puts the server together: settings, lifecycle, logs, and the command line."""

import os

# gRPC reads this when it is imported; its own lines would stand between those of the log, in another form.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
