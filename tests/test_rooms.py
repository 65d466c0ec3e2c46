"""The rooms: each third-party library is imported in one of them, and what must start fast imports little."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "server" / "seedbed_server"
CLIENT = ROOT / "clients" / "python" / "seedbed"

# Library: the rooms of the server that may import it.
HOMES = {
    "sqlalchemy": {"log"},
    "alembic": {"log"},
    "chromadb": {"projections"},
    "networkx": {"projections"},
    "Stemmer": {"projections"},
    "sentence_transformers": {"models"},
    "torch": {"models"},
    "transformers": {"models"},
    "spacy": {"models"},
    "thinc": {"models"},
    "safetensors": {"models"},
    "httpx": {"models"},
    "msgpack": {"processes"},
    "grpc": {"rpc"},
    "grpc_health": {"rpc"},
    "grpc_reflection": {"rpc"},
    "grpc_status": {"rpc"},
    "google": {"app", "rpc"},  # app: files hold the JSON form of the contract
    "typer": {"app"},
    "rich": {"app"},
    "numpy": {"models", "projections", "recall", "processes"},
}
HEAVY = ("torch", "transformers", "spacy", "thinc", "chromadb", "sentence_transformers")
# Modules of the client that speak gRPC; everything else is usable without it.
SPEAKS_GRPC = {"carriers", "connection", "errors"}


def _imported(file: Path) -> Iterator[str]:
    """Every absolute module that a file imports, wherever in it; also by name through importlib."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"{file} reaches out of its room by a relative import"
            if not node.level:
                yield node.module or ""
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _BY_NAME:
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


_BY_NAME = {"import_module", "__import__"}


@cache
def _imports(folder: Path) -> list[tuple[str, str]]:
    """Pairs of a file, as a path below its package, and a library or package it imports."""
    files = [file for file in sorted(folder.rglob("*.py")) if "v1" not in file.parts]
    return [(file.relative_to(folder).as_posix(), module) for file in files for module in _imported(file)]


def test_the_reader_of_imports_sees_all_kinds(tmp_path: Path) -> None:
    """The rule below rests on this: imports in functions, under conditions and by name are seen."""
    (tmp_path / "a.py").write_text(
        "import one.two\nif x:\n    from three import y\ndef f():\n    import four\n    import_module('five.six')\n"
    )
    assert sorted(module for _, module in _imports(tmp_path)) == ["five.six", "four", "one.two", "three"]


def test_each_library_has_its_room() -> None:
    """Every import of a library that has a home stands in it, and every home is real."""
    strays, seen = [], set()
    for file, module in _imports(SERVER):
        top = module.partition(".")[0]
        if top in HOMES:
            seen.add(top)
            if file.partition("/")[0] not in HOMES[top]:
                strays.append((file, module))
    assert strays == []
    # Never imported by name: transformers and thinc come along with others.
    assert set(HOMES) - seen <= {"transformers", "thinc"}


def test_every_third_party_import_is_accounted_for() -> None:
    """A library that nobody has thought about has no room yet: it needs one in HOMES."""
    known = {*sys.stdlib_module_names, *HOMES, "seedbed", "seedbed_server"}
    assert {m.partition(".")[0] for _, m in _imports(SERVER)} - known == set()


def test_servicers_import_no_model_no_sql_and_no_graph_library() -> None:
    """The rpc room reaches everything through the rooms behind it."""
    rpc = {module.partition(".")[0] for file, module in _imports(SERVER) if file.startswith("rpc/")}
    assert rpc & {"sqlalchemy", "alembic", "networkx", "chromadb", "numpy", *HEAVY} == set()


@pytest.mark.parametrize(
    ("room", "may_not_know"),
    [
        ("log", {"models", "projections", "recall", "memories", "rpc", "app", "processes"}),
        ("processes", {"log", "models", "projections", "recall", "memories", "rpc", "app"}),
        ("models", {"log", "projections", "recall", "memories", "rpc", "app"}),
        ("projections", {"recall", "memories", "rpc", "app"}),
        ("recall", {"memories", "rpc", "app"}),
        ("recall_log", {"processes", "models", "projections", "recall", "memories", "rpc", "app"}),
        ("memories", {"rpc", "app"}),
        ("rpc", {"app"}),
    ],
)
def test_data_flows_one_way(room: str, may_not_know: set[str]) -> None:
    """A room knows the rooms before it, never those after it."""
    known = {
        module.split(".")[1]
        for file, module in _imports(SERVER)
        if file.startswith(f"{room}/") and module.startswith("seedbed_server.")
    }
    assert known & may_not_know == set()


def test_the_client_is_light() -> None:
    """It imports no server package and no model library, and gRPC only where it speaks."""
    imports = _imports(CLIENT)
    tops = {module.partition(".")[0] for _, module in imports}
    assert "seedbed_server" not in tops
    assert tops - set(sys.stdlib_module_names) <= {"seedbed", "grpc", "grpc_status", "google", "bpe_openai"}
    speaking = {file.removesuffix(".py") for file, module in imports if module.partition(".")[0].startswith("grpc")}
    assert speaking == SPEAKS_GRPC


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("seedbed_server.app.lifecycle", HEAVY),
        ("seedbed", ("grpc", "google.protobuf", "numpy", *HEAVY)),
        ("seedbed.client", ("numpy", "seedbed_server", *HEAVY)),
    ],
)
def test_what_must_start_fast_loads_little(module: str, absent: tuple[str, ...]) -> None:
    """In a fresh interpreter, the import brings none of these along."""
    check = f"import sys, {module}; print([m for m in {absent!r} if m in sys.modules], {module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
