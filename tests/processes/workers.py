"""Workers for the tests of processes: small, and each with a habit."""

import os
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seedbed_server.errors import StorageFullError


class Habits:
    """A worker with good and bad habits."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.order: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "settings": self.settings}

    def echo(self, value: Any) -> Any:
        return value

    def environment(self, names: list[str]) -> dict[str, str | None]:
        return {name: os.environ.get(name) for name in names}

    def halves(self, array: np.ndarray) -> dict[str, np.ndarray]:
        return {"half": array / np.float32(2), "same": array}

    def fail(self, text: str) -> None:
        raise ValueError(text)

    def full(self) -> None:
        raise StorageFullError

    def unsendable(self) -> object:
        return object()

    def hang(self) -> None:
        time.sleep(3600)

    def leave(self) -> None:
        os._exit(7)

    def noise(self, text: str) -> None:
        os.write(1, text.encode())
        os.write(2, text.encode())

    def note(self, word: str) -> list[str]:
        self.order.append(word)
        return list(self.order)

    def steps(self, word: str, count: int, hold: str = "") -> Generator[None, None, list[str]]:
        """Half way it makes the file ``hold``, and takes small steps that do nothing while that is there."""
        for number in range(count):
            if hold and number == count // 2:
                Path(hold).touch()
                while Path(hold).exists():
                    time.sleep(0.005)
                    yield
            self.order.append(f"{word}{number}")
            yield
        return list(self.order)

    def close(self) -> None:
        path = self.settings.get("closed")
        if path:
            Path(path).write_text("closed")


def create(settings: Mapping[str, Any]) -> Habits:
    if settings.get("hang"):
        time.sleep(3600)
    if settings.get("full"):
        raise StorageFullError
    return Habits(settings)
