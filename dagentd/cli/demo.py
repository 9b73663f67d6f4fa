"""`dagentd demo`: what dagentd does, shown on a sample repository in a temporary folder."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from pathlib import Path

import click

from dagentd import cli
from dagentd.cli import output
from dagentd.cli.life import stop_daemon
from dagentd.cli.sample import SESSION, Sample


@click.command()
def demo() -> None:
    """Show on a sample repository what dagentd does."""
    with tempfile.TemporaryDirectory(prefix="dagentd-demo-") as name:
        here = os.getcwd()
        places = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_RUNTIME_DIR": "run"}
        os.environ |= {variable: f"{name}/{folder}" for variable, folder in places.items()}
        os.environ.pop("DAGENTD_SOCKET", None)  # a daemon of the user's own is not touched
        sample = Sample(Path(os.path.realpath(name)))
        try:
            sample.make()
            os.chdir(sample.root)
            _show(sample)
        finally:
            stop_daemon()
            os.chdir(here)


def _show(sample: Sample) -> None:
    output.line(f"A repository with one agent's worktree, in {sample.root}. The desktop app wrote its session there.")
    _run("run", "--once")
    _say("The session now has a journal: what is in it is never lost. The app adds a message ...")
    sample.app_adds()
    _run("run", "--once")
    _say("... and crashes in the middle of its next write, which leaves half a file:")
    sample.tear()
    _run("run", "--once")
    _say("The half file was set aside and the chat made again. Nothing is missing:")
    _run("history", SESSION)
    _say("What an agent would be sent, and what it costs:")
    _run("request", SESSION, "--sizes")
    _say("The daemon serves it to other tools on a socket:")
    _run("init")
    _run("call", "session.addMessage", json.dumps({"sessionId": SESSION, "role": "assistant", "content": "Started."}))
    _run("status")
    _say("A chat that outgrows its budget is compacted by itself; here on demand. What was decided stays:")
    _run("compact", SESSION)
    _run("show", SESSION)
    _say("And there is always a way back:")
    _run("undo", SESSION)
    _run("remove")
    _say("On your own repository: dagentd init PATH.")


def _say(text: str) -> None:
    output.line(f"\n{text}")


def _run(*arguments: str) -> None:
    output.line(f"\n$ dagentd {shlex.join(arguments)}")
    cli.run(arguments)
