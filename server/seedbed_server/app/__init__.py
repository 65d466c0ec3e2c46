"""Puts the server together: settings, lifecycle, logs, and the command line."""
