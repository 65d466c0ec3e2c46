"""Exit codes of ``seedbed``, so that scripts can tell what to do."""

from __future__ import annotations

USAGE = 2
TAKEN = 3
MODELS = 4
CALL = 5
STORAGE = 6
