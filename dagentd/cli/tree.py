"""Every command of dagentd, one after the other: for what is made from all of them. Loads them all."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dagentd.cli import root


def every_command() -> Iterator[tuple[str, click.Context]]:
    """Each with its name after `dagentd`, groups before what is in them; the first is `dagentd` itself."""
    yield from _below("", click.Context(root, info_name="dagentd", **root.context_settings))


def _below(name: str, ctx: click.Context) -> Iterator[tuple[str, click.Context]]:
    yield name, ctx
    if isinstance(ctx.command, click.Group):
        for each in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, each)
            assert command is not None
            yield from _below(f"{name} {each}".strip(), click.Context(command, parent=ctx, info_name=each))
