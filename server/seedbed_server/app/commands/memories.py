"""The memories of a namespace: which there are, and how one, or a part of it, is erased."""

from __future__ import annotations

from typing import Annotated

import typer

from seedbed_server.app.screen import counted, moment, note, say
from seedbed_server.app.target import Target, calling

app = typer.Typer()


@app.command()
@calling
def memories(
    target: Target,
) -> None:
    """List the memories: name, variant, messages, and since when."""
    with target.client() as client:
        for info in client.list_memories():
            kind = type(info.variant).__name__
            say(f"{info.name}  {kind}  {counted(info.message_count, 'message')}  since {moment(info.created_at)}")


@app.command()
@calling
def delete(
    target: Target,
    memory: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a memory, and all that was derived from it."""
    with target.client() as client:
        info = client.get_memory(memory)
        if not yes:
            typer.confirm(f"Delete {counted(info.message_count, 'message')} for good?", abort=True, err=True)
        say(f"{counted(client.delete_memory(memory), 'message')} deleted")


@app.command()
@calling
def forget(
    target: Target,
    memory: str,
    message_ids: Annotated[list[str], typer.Argument(help="Ids of messages, as ``read --ids`` prints them.")],
) -> None:
    """Erase messages, and all that only they support, from every store; print the receipt."""
    with target.client() as client:
        receipt = client.memory(memory).forget(message_ids)
        say(f"receipt {receipt.id}  {moment(receipt.completed_at)}")
        for store in receipt.stores:
            left = "" if store.files_rewritten else "  (its files still hold the bytes until they are reused)"
            say(f"  {store.store:<12} {store.erased} erased{left}")
        if receipt.missing_ids:
            note(f"not there: {', '.join(receipt.missing_ids)}")
