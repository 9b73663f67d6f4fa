"""`dagentd completion`: the script that lets a shell complete commands, options, session ids and paths."""

from __future__ import annotations

from pathlib import Path

import click

from dagentd.cli import output

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands, options and session ids in a shell.

    \b
    bash: put  eval "$(dagentd completion bash)"  into ~/.bashrc
    zsh:  put  eval "$(dagentd completion zsh)"   into ~/.zshrc, after compinit
    fish: dagentd completion fish > ~/.config/fish/completions/dagentd.fish
    """
    output.text(Path(__file__).with_name(f"dagentd.{shell}").read_text(encoding="utf-8").removesuffix("\n"))
