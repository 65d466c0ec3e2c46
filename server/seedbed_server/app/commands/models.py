"""Local models: what there is, fetch it, verify it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedbed_server.app import settings as configuration
from seedbed_server.app.codes import MODELS, USAGE
from seedbed_server.app.screen import err, fail, note, say

if TYPE_CHECKING:
    from seedbed_server.models.manifest import Model

app = typer.Typer()
models_app = typer.Typer(no_args_is_help=True, help=__doc__)
app.add_typer(models_app, name="models")


@models_app.command("list")
def models_list() -> None:
    """List the models of the manifest, and your own encoders."""
    from seedbed_server.models.weights import verify

    root = _root()
    for model in _known(root):
        missing = "optional" if model.optional and not (root / model.name).exists() else "missing"
        here = "here" if not verify(root, [model]) else missing
        say(f"{model.name:<20} {model.role:<8} {model.licence:<12} {model.size / 1e6:6.1f} MB  {here}")


@models_app.command("pull")
def models_pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these; without a name all but the optional ones.")
    ] = None,
) -> None:
    """Fetch the models that are missing, and verify every file."""
    from seedbed_server.app.pulling import pull_with_progress

    root = _root()
    by_name = {model.name: model for model in _known(root)}
    unknown = [name for name in names or () if name not in by_name]
    if unknown:
        fail(USAGE, "no such model:", f" {', '.join(unknown)}; there are {', '.join(by_name)}")
    wanted = [by_name[name] for name in names] if names else None
    raise typer.Exit(pull_with_progress(root, err, wanted))


@models_app.command("verify")
def models_verify() -> None:
    """Hash every model file and compare it with the manifest."""
    from seedbed_server.models.weights import HOW_TO_GET, verify

    problems = verify(_root())
    for problem in problems:
        note(problem)
    if problems:
        fail(MODELS, "", HOW_TO_GET)
    say("all model files are here and unaltered")


def _root() -> Path:
    return configuration.models_dir(configuration.load())


def _known(root: Path) -> Sequence[Model]:
    from seedbed_server.models.manifest import ManifestError, known

    try:
        return known(root)
    except ManifestError as error:
        fail(MODELS, "", str(error))
