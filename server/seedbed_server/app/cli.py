"""The command ``seedbed``: all but ``serve`` and ``models`` talk to a server, through the public client."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from seedbed_server import __version__
from seedbed_server.app import settings as configuration
from seedbed_server.app.codes import MODELS, USAGE
from seedbed_server.app.target import Target, calling, err

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seedbed import Message
    from seedbed_server.models.manifest import Model

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
models_app = typer.Typer(no_args_is_help=True, help="Local models: what there is, fetch it, verify it.")
eval_app = typer.Typer(no_args_is_help=True, help="Measure a running server on labelled data.")
app.add_typer(models_app, name="models")
app.add_typer(eval_app, name="eval")

# What is printed may be anybody's words: a ":name:" in them is no emoji.
out = Console(emoji=False)
# Neither are they commands to a terminal: control characters but tab and newline are shown as U+FFFD.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")

_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"]
Session = Annotated[str, typer.Option("--session", help="Session.")]


@app.command()
def serve(
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.")] = None,
    listen: Annotated[str | None, typer.Option(help="Address and port; port 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The directory that holds everything stored.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as NAME=VALUE; repeatable.")
    ] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the settings, secrets hidden.")] = False,
    ready_fd: Annotated[int | None, typer.Option(help="Write the address to this file descriptor when ready.")] = None,
) -> None:
    """Run the server until SIGTERM or Ctrl-C."""
    from seedbed_server.app.serve import run

    flags: dict[str, Any] = dict(_pair(one) for one in setting or [])
    # A flag of its own goes before --set of the same name.
    flags |= {name: value for name, value in (("listen", listen), ("data_dir", data_dir)) if value is not None}
    try:
        settings = configuration.load(config, flags)
    except configuration.SettingsError as error:
        err.print(f"[red]Settings:[/red] {error}")
        raise typer.Exit(USAGE) from None
    if print_config:
        for name, value in settings.shown().items():
            out.print(f"{name} = {value}", highlight=False)
        return
    raise typer.Exit(run(settings, ready_fd, err))


def _pair(one: str) -> tuple[str, str]:
    name, equals, value = one.partition("=")
    if not equals:
        err.print(f"[red]--set {name}[/red] is not NAME=VALUE")
        raise typer.Exit(USAGE)
    return name, value


@app.command()
@calling
def demo(
    target: Target,
) -> None:
    """Replay a bundled conversation, and show the seed of each variant for a few questions."""
    from seedbed_server.app.demo import run

    with target.client() as client:
        run(client, out)


@app.command()
@calling
def write(
    target: Target,
    memory: str,
    text: Annotated[str, typer.Argument(help="What was said; - reads standard input.")],
    role: str = "user",
    name: str = "",
    session: Session = "default",
) -> None:
    """Write one message."""
    from seedbed import Message

    said = sys.stdin.read() if text == "-" else text
    with target.client() as client:
        written = client.memory(memory, session=session).write([Message(role, (said,), name)])
        out.print(f"seq {written.last_seq}", highlight=False)


@app.command()
@calling
def seed(
    target: Target,
    memory: str,
    query: Annotated[str, typer.Argument(help="What the agent is about to answer.")] = "",
    max_tokens: int | None = None,
    session: Session = "default",
) -> None:
    """Print the seed, as the messages that a chat API takes."""
    with target.client() as client:
        found = client.memory(memory, session=session).seed(query, max_tokens=max_tokens)
        out.print_json(json.dumps(found.messages, ensure_ascii=False))
        note = ", truncated" if found.truncated else ""
        degraded = f", degraded: {', '.join(found.degraded_parts)}" if found.degraded else ""
        err.print(f"{found.tokens} tokens{note}{degraded}", highlight=False)


@app.command()
@calling
def recall(
    target: Target,
    memory: str,
    query: str,
    k: int = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each leg gave.")] = False,
) -> None:
    """Print the ranked search behind the seed."""
    with target.client() as client:
        found = client.memory(memory).recall(query, k=k, explain=explain)
        for hit in found.hits:
            out.print(f"{hit.score:.3f}  {_line(hit.message)}", highlight=False, markup=False, soft_wrap=True)
            if explain:
                legs = "  ".join(f"{leg.leg} {leg.contribution:+.3f} (#{leg.rank})" for leg in hit.legs if leg.rank)
                out.print(f"       {legs}", highlight=False, markup=False, soft_wrap=True, style="dim")
        if found.below_floor:
            least = f"nothing is about that; of {found.below_floor} left out the best has {found.best_below_floor:.3f}"
            err.print(least, highlight=False)
        if found.degraded:
            err.print(f"degraded: without {', '.join(found.degraded_legs)}", highlight=False)


@app.command()
@calling
def recalls(
    target: Target,
    memory: str,
    session: Annotated[str, typer.Option("--session", help="Only calls about this session.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="The most calls.")] = 20,
    texts: Annotated[bool, typer.Option("--texts", help="Show the messages, as the log has them now.")] = False,
) -> None:
    """Print what was asked of a memory and what it showed, newest first: the server's recall log."""
    from seedbed_server.app.recalls import told

    with target.client() as client:
        entries = client.memory(memory).recalls(session=session, with_messages=texts, page_size=min(limit, 1000))
        for entry in islice(entries, limit):
            for line in told(entry):
                out.print(line.translate(_CONTROLS), highlight=False, markup=False, soft_wrap=True)
        if not any(part.part == "recall_log" for part in client.status().parts):
            err.print("the recall log is off: the server's setting recall_log turns it on", highlight=False)


@app.command()
@calling
def read(
    target: Target,
    memory: str,
    session: Annotated[str, typer.Option("--session", help="Only this session.")] = "",
) -> None:
    """Print the stored messages."""
    with target.client() as client:
        for message in client.memory(memory).messages(session=session):
            out.print(f"{message.seq:>5}  {_line(message)}", highlight=False, markup=False, soft_wrap=True)


def _line(message: Message) -> str:
    when = f"{message.time:%Y-%m-%d %H:%M}" if message.time else ""
    return f"{when}  {message.name or message.role}: {message.text}".translate(_CONTROLS)


@app.command("import")
@calling
def import_(
    target: Target,
    memory: str,
    file: Annotated[
        Path, typer.Argument(help="JSON Lines, a chat API's messages, or the conversations.json of ChatGPT or Claude.")
    ],
) -> None:
    """Import a conversation; repeating it stores nothing twice."""
    from seedbed.wire import WireError
    from seedbed_server.app.transfer import BadFileError, import_file

    with target.client() as client:
        try:
            done = import_file(client.memory(memory), file, err)
        except WireError as error:
            err.print(f"[red]{file}[/red]: a message has no acceptable {error.path}")
            raise typer.Exit(USAGE) from None
        except BadFileError as error:
            err.print(f"[red]{file}[/red]: {error}; nothing after that was read")
            raise typer.Exit(USAGE) from None
        except OSError as error:
            err.print(f"[red]{file}[/red] cannot be read: {error.strerror}")
            raise typer.Exit(USAGE) from None
    out.print(f"{done.imported} imported, {done.skipped} were there already", highlight=False)
    if done.decisions_imported or done.decisions_skipped:
        out.print(f"{done.decisions_imported} decisions, {done.decisions_skipped} passed over", highlight=False)


@app.command()
@calling
def export(
    target: Target,
    memory: str,
    file: Annotated[Path, typer.Argument(help="Where to; - is standard output.")] = Path("-"),
) -> None:
    """Export a memory's messages and decisions as JSON Lines, which ``import`` reads."""
    from seedbed_server.app.transfer import export_file

    with target.client() as client:
        export_file(client.memory(memory), file)


@app.command()
def extract(
    file: Annotated[
        Path, typer.Argument(help="JSON Lines of one conversation: role, content, and if known name, time.")
    ],
    to: Annotated[Path, typer.Option("--out", help="Where to; - is standard output.")] = Path("-"),
) -> None:
    """Read messages for the names and triples in them, as the server does; no server is needed."""
    from seedbed_server.app.extracting import extract_file
    from seedbed_server.app.transfer import BadFileError
    from seedbed_server.models.weights import WeightsError

    try:
        count = extract_file(configuration.models_dir(configuration.load()), file, to, err)
    except BadFileError as error:
        err.print(f"[red]{file}[/red]: {error}; nothing was written")
        raise typer.Exit(USAGE) from None
    except OSError as error:
        err.print(f"[red]{error.filename or file}[/red]: {error.strerror}; nothing was written")
        raise typer.Exit(USAGE) from None
    except WeightsError as error:
        err.print(str(error), highlight=False, markup=False)
        raise typer.Exit(MODELS) from None
    err.print(f"{count} messages", highlight=False)


@app.command()
@calling
def graph(
    target: Target,
    memory: str,
    file: Annotated[Path, typer.Option("--out", help="FILE.graphml, FILE.json (node-link), or FILE.html to look at.")],
    valid_at: Annotated[datetime | None, typer.Option(formats=_TIMES, help="Facts that held then (UTC).")] = None,
    known_at: Annotated[datetime | None, typer.Option(formats=_TIMES, help="What was recorded by then (UTC).")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The most facts, newest first: all, but on a page 2,000.")
    ] = None,
) -> None:
    """Export a memory's graph of facts, as files that networkx reads, or as a page on its own."""
    from seedbed_server.app.graph_file import FORMATS, write_graph

    if file.suffix not in FORMATS:
        err.print(f"[red]--out[/red] must end with one of {', '.join(FORMATS)}")
        raise typer.Exit(USAGE)
    with target.client() as client:
        try:
            written = write_graph(
                client.memory(memory), file, valid_at=_utc(valid_at), known_at=_utc(known_at), limit=limit
            )
        except OSError as error:
            err.print(f"[red]{file}[/red] cannot be written: {error.strerror}")
            raise typer.Exit(USAGE) from None
    out.print(f"{written.entities} entities, {written.facts} facts: {file}", highlight=False, markup=False)
    if written.left_out:
        err.print(f"{written.left_out} older facts are left out; --limit takes more", highlight=False, markup=False)


def _utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=UTC)


@app.command()
@calling
def status(
    target: Target,
    memory: Annotated[str, typer.Argument(help="Also how far its derived stores are.")] = "",
) -> None:
    """Print what the server runs."""
    with target.client() as client:
        found = client.status(memory)
        out.print(f"seedbed {found.version}", highlight=False)
        for part in found.parts:
            out.print(f"  {part.part:<10} {part.state:<9} {part.restarts} restarts  {part.detail}", highlight=False)
        for projection in found.projections:
            skipped = f", {projection.skipped} skipped" if projection.skipped else ""
            waiting = f", waiting for {projection.waiting_for}" if projection.waiting_for else ""
            out.print(
                f"  {projection.projection:<10} {projection.applied_seq} of {found.last_seq}{skipped}{waiting}",
                highlight=False,
            )


@app.command()
@calling
def reembed(
    target: Target,
    model: Annotated[str, typer.Argument(help="An encoder, as named by ``seedbed models list``.")],
    give_up: Annotated[bool, typer.Option("--give-up", help="Give the change to this model up.")] = False,
) -> None:
    """Change the server's embedding model while it serves; ``seedbed status`` tells how far it is."""
    with target.client() as client:
        messages = client.reembed(model, give_up=give_up)
        out.print("given up" if give_up else f"{messages} messages to embed", highlight=False)


@models_app.command("list")
def models_list() -> None:
    """List the models of the manifest, and your own encoders."""
    from seedbed_server.models.weights import verify

    root = configuration.models_dir(configuration.load())
    for model in _known(root):
        missing = "optional" if model.optional and not (root / model.name).exists() else "missing"
        here = "here" if not verify(root, [model]) else missing
        out.print(
            f"{model.name:<20} {model.role:<8} {model.licence:<12} {model.size / 1e6:6.1f} MB  {here}", highlight=False
        )


@models_app.command("pull")
def models_pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these; without a name all but the optional ones.")
    ] = None,
) -> None:
    """Fetch the models that are missing, and verify every file."""
    from seedbed_server.app.pulling import pull_with_progress

    root = configuration.models_dir(configuration.load())
    by_name = {model.name: model for model in _known(root)}
    unknown = [name for name in names or () if name not in by_name]
    if unknown:
        err.print(f"no such model: {', '.join(unknown)}; there are {', '.join(by_name)}", highlight=False, markup=False)
        raise typer.Exit(USAGE)
    wanted = [by_name[name] for name in names] if names else None
    raise typer.Exit(pull_with_progress(root, err, wanted))


def _known(root: Path) -> Sequence[Model]:
    from seedbed_server.models.manifest import ManifestError, known

    try:
        return known(root)
    except ManifestError as error:
        err.print(str(error), highlight=False, markup=False)
        raise typer.Exit(MODELS) from None


@models_app.command("verify")
def models_verify() -> None:
    """Hash every model file and compare it with the manifest."""
    from seedbed_server.models.weights import HOW_TO_GET, verify

    problems = verify(configuration.models_dir(configuration.load()))
    for problem in problems:
        err.print(problem, highlight=False, markup=False)
    if problems:
        err.print(HOW_TO_GET, highlight=False)
        raise typer.Exit(MODELS)
    out.print("all model files are here and unaltered")


@eval_app.command("recall")
@calling
def eval_recall(
    target: Target,
    dataset: Annotated[Path, typer.Argument(help="JSON Lines, gzipped or not, a conversation a line.")],
    rankings: Annotated[Path, typer.Option(help="Where the rankings go, as JSON Lines.")],
    max_tokens: Annotated[int, typer.Option(help="Budget of each seed.")] = 2000,
    limit: Annotated[int, typer.Option(help="Hits per question.")] = 50,
    unrelated: Annotated[Path | None, typer.Option(help="Questions that should find nothing, one a line.")] = None,
) -> None:
    """Write every conversation, ask every question, and keep what came back."""
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    from seedbed_server.app.evaluate import Options, evaluate

    started = time.perf_counter()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        dataset.open("rb").close()
    except OSError as error:
        err.print(f"[red]{dataset}[/red] cannot be read: {error.strerror}")
        raise typer.Exit(USAGE) from None
    with target.client() as client, Progress(*columns, console=err) as progress:
        found = evaluate(client, Options(dataset, rankings, limit, max_tokens, unrelated), progress)
    out.print(f"{found.answered} questions in {time.perf_counter() - started:.0f} s: {rankings}", highlight=False)
    if found.unrelated:
        out.print(f"{found.nothing} of {found.unrelated} unrelated questions found nothing", highlight=False)


@app.command()
def version() -> None:
    """Print the version."""
    out.print(__version__, highlight=False)


def main() -> Any:
    """Run the command line."""
    return app()
