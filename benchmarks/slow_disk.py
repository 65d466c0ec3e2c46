"""A disk whose fsync takes longer, for processes started meanwhile: many machines measure on disks that hardly wait.

A library put before libc's (LD_PRELOAD) sleeps before each fsync and fdatasync,
then does it. It is compiled on the spot, so a C compiler is needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int slowly(const char *name, int file) {
    struct timespec wait = {0, MICROSECONDS * 1000L};
    nanosleep(&wait, 0);
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
"""


@contextmanager
def slow_disk(folder: Path, milliseconds: int) -> Iterator[bool]:
    """Let processes that are started in the block wait so long at each fsync; False where no compiler is found."""
    compiler = shutil.which("cc")
    if compiler is None:
        yield False
        return
    library = folder / "slow_disk.so"
    source = _SOURCE.replace("MICROSECONDS", str(1000 * milliseconds))
    command = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library), "-ldl"]
    subprocess.run(command, input=source, text=True, check=True)
    before = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = str(library)
    try:
        yield True
    finally:
        if before is None:
            del os.environ["LD_PRELOAD"]
        else:
            os.environ["LD_PRELOAD"] = before
