"""Workers for the tests of processes: small, and each with a habit."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seedbed_server.errors import StorageFullError


class Habits:
    """A worker with good and bad habits."""

    def __init__(self, settings):
        self.settings = settings
        self.order = []

    def describe(self):
        return {"pid": os.getpid(), "settings": self.settings}

    def echo(self, value):
        return value

    def environment(self, names):
        return {name: os.environ.get(name) for name in names}

    def halves(self, array):
        return {"half": array / np.float32(2), "same": array}

    def fail(self, text):
        raise ValueError(text)

    def full(self):
        raise StorageFullError

    def unsendable(self):
        return object()

    def hang(self):
        time.sleep(3600)

    def leave(self):
        os._exit(7)

    def noise(self, text):
        os.write(1, text.encode())
        os.write(2, text.encode())

    def note(self, word):
        self.order.append(word)
        return list(self.order)

    def steps(self, word, count, pause) -> Iterator[None]:
        for number in range(count):
            self.order.append(f"{word}{number}")
            time.sleep(pause)
            yield
        return list(self.order)

    def close(self):
        path = self.settings.get("closed")
        if path:
            Path(path).write_text("closed")


def create(settings):
    if settings.get("hang"):
        time.sleep(3600)
    if settings.get("full"):
        raise StorageFullError
    return Habits(settings)
