"""`dagentd demo`: what dagentd does, shown on a sample repository in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from dagentd.cli import output
from dagentd.cli.demonstration import Demonstration
from dagentd.cli.life import stop_daemon
from dagentd.cli.sample import Sample

_PLACES = {
    "HOME": ".", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data",
    "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run",
}  # fmt: skip
_NOT_OURS = ("DAGENTD_", "ANTHROPIC_", "CLAUDE_", "GIT_")  # the user's own daemon, keys and repository


@click.command()
def demo() -> int:
    """Show on a sample repository what dagentd does.

    Takes a few seconds, in a temporary folder that is removed again. Nothing of yours is touched, and no network is
    needed.
    """
    with _folder() as folder, _alone_in(folder):
        sample = Sample(folder)
        sample.make()
        os.chdir(sample.root)
        Demonstration(sample).show()
    output.raw(f"\nOn your own repository: {output.styled('dagentd init', 'bold')}. All of it is undone by "
               f"{output.styled('dagentd remove', 'bold')}.")  # fmt: skip
    return 0


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """It goes whatever happens, and before it the daemon that was started in it."""
    with tempfile.TemporaryDirectory(prefix="dagentd-demo-", ignore_cleanup_errors=True) as name:
        yield Path(os.path.realpath(name))


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """As if this were another user's machine; and whoever ends us, by Ctrl-C or by closing the terminal, waits until
    we have cleared away."""
    before, here = dict(os.environ), os.getcwd()
    for name in [name for name in os.environ if name.startswith(_NOT_OURS)]:
        del os.environ[name]
    os.environ |= {variable: str(folder / place) for variable, place in _PLACES.items()}
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.chdir(here)
        stop_daemon()
        os.environ.clear()
        os.environ |= before
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt
