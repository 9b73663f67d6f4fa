"""`dagentd demo`: what dagentd does, shown step by step on a sample repository in a temporary folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from dagentd import cli, paths
from dagentd.cli import output
from dagentd.cli.bars import bar, colour
from dagentd.cli.life import stop_daemon
from dagentd.cli.sample import LIMIT, OUTPUT, SESSION, Sample
from dagentd.errors import Unreachable
from dagentd.rpc.client import Client, Subscription

# What `dagentd demo` shows, step by step: each with the command that does it on one's own repository.

_BAR = 40
_BESIDE = 30  # columns beside a bar
_BREATH = 0.8  # seconds between two steps, for somebody who reads along
_WAIT = 15.0  # seconds for the daemon to do something by itself
_LISTS = {
    "decisions": "decided", "completed": "done", "inProgress": "in hand", "pending": "open", "blockers": "blocked",
    "facts": "known",
}  # fmt: skip


class Demonstration:
    def __init__(self, sample: Sample) -> None:
        self._sample, self._number = sample, 0

    def show(self) -> None:
        output.heading("A shop, and an agent at work on its login")
        output.line(f"In {self._sample.root}, until the demo ends. Nothing of yours is used.")
        self._migrated()
        _served()
        with Client(timeout=_WAIT) as daemon:
            daemon.call("project.scan", project=str(self._sample.root))
            self._committed(daemon)
            self._compacted(daemon)
            self._undone(daemon)
        self._answered()

    # --- steps ---------------------------------------------------------------------------------------------

    def _migrated(self) -> None:
        self._step("The chat of an older version becomes a session. The original stays.", "dagentd migrate")
        for line in _printed("migrate").splitlines():
            self._tell(line)

    def _committed(self, daemon: Client) -> None:
        self._step("A commit arrives in what the agent knows.", "dagentd init", "git commit -m 'Sell socks'")
        before = daemon.call("session.getContext", sessionId=SESSION)["gitCommit"]
        with daemon.subscribe(types=["session:updated"], sessionId=SESSION) as events:
            self._sample.sell("socks")
            begin = time.monotonic()
            _wait(events, lambda event: event["action"] == "context")
        known = daemon.call("session.getContext", sessionId=SESSION)
        self._tell(f"{known['recentCommits'][0]}   (was {before[:7]}; known after {_ms(begin)})")

    def _compacted(self, daemon: Client) -> None:
        self._step(f"The chat outgrows its budget, here {output.tokens(LIMIT)}. It is compacted by itself.")
        said = {"role": "assistant", "content": OUTPUT}
        with daemon.subscribe(types=["session:compaction-start", "session:compaction-complete"]) as events:
            daemon.call("session.addMessage", sessionId=SESSION, **said)
            start = _wait(events, lambda event: event["type"] == "session:compaction-start")
            _wait(events, lambda event: event["type"] == "session:compaction-complete")
        self._tell_share("before", start["estimatedTokens"], start["messagesCount"])
        self._tell_share("after", *_filled(daemon))
        summary = daemon.call("session.getCheckpoint", sessionId=SESSION)["summary"]
        told: list[str] = []
        for name, title in _LISTS.items():
            for item in summary.get(name, ()):
                told.append(_rest(item if isinstance(item, str) else str(item.get("text")), told))
                self._tell(f"  {title:<8}{told[-1]}")
        self._tell(f"By hand: dagentd compact {SESSION}")

    def _undone(self, daemon: Client) -> None:
        self._step("And there is always a way back.", f"dagentd undo {SESSION}")
        self._tell(_printed("undo", SESSION).strip())
        self._tell_share("again", *_filled(daemon))

    def _answered(self) -> None:
        asked = {"query": "stolen"}
        self._step("Other tools ask on a socket, in JSON.", f"dagentd call session.search '{json.dumps(asked)}'")
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.search", "params": asked})
        output.line(f"   > {request}")
        output.line(f"   < {_exchanged(request)}")

    # --- telling -------------------------------------------------------------------------------------------

    def _step(self, title: str, *commands: str) -> None:
        if output.on_terminal():
            time.sleep(_BREATH)
        self._number += 1
        output.raw(f"\n{output.styled(f'{self._number}  {title}', 'bold')}")
        for command in commands:
            output.raw(f"   {output.styled(f'$ {command}', 'cyan')}")

    def _tell(self, text: str) -> None:
        output.text(f"   {output.cut(text, 3)}")

    def _tell_share(self, when: str, tokens: int, messages: int) -> None:
        share = tokens / LIMIT
        width = max(10, min(_BAR, get_terminal_size().columns - _BESIDE))
        drawn = output.styled(bar(share, width, plain=not output.is_utf8()), colour(share))
        output.raw(f"   {when:<6} {drawn} {output.share(share):>5}  {output.counted(messages, 'message')}")


def _rest(text: str, said: list[str]) -> str:
    """The part of a text that was not said in a line before."""
    for known in said:
        text = text.replace(known, "")
    return text.strip(" →")


def _served() -> None:
    """In a process of its own: the daemon is forked off it."""
    done = subprocess.run([sys.executable, "-m", "dagentd", "init"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Unreachable(f"the daemon of the demo did not start: {done.stderr.strip()}")


def _printed(*arguments: str) -> str:
    """By the command itself."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        cli.run_command(arguments)
    return printed.getvalue()


def _filled(daemon: Client) -> tuple[int, int]:
    """Tokens of a request, and messages in chat."""
    built = daemon.call("session.previewRequest", sessionId=SESSION)["breakdown"]["total"]
    return built, daemon.call("session.getMessages", sessionId=SESSION, limit=0)["total"]


def _wait(events: Subscription, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Not for ever: the subscription is closed then, which ends it."""
    alarm = threading.Timer(_WAIT, events.close)
    alarm.start()
    try:
        for event in events:
            if wanted(event):
                return dict(event)
    finally:
        alarm.cancel()
    raise Unreachable(f"the daemon of the demo did not do it within {_WAIT:.0f} s", hint="Please report this.")


def _exchanged(request: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_WAIT)
        connection.connect(str(paths.socket()))
        connection.sendall(f"{request}\n".encode())
        with connection.makefile(encoding="utf-8") as lines:
            return lines.readline().strip()


def _ms(begin: float) -> str:
    return f"{(time.monotonic() - begin) * 1000:.0f} ms"


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
    here = _own_name()
    output.raw(f"\nOn your own repository: {output.styled(f'{here} init', 'bold')}. All of it is undone by "
               f"{output.styled(f'{here} remove', 'bold')}.")  # fmt: skip
    return 0


def _own_name() -> str:
    """How this very program can be called: from a clone it is not installed."""
    if shutil.which("dagentd"):
        return "dagentd"
    beside = Path(sys.executable).with_name("dagentd")
    return str(beside) if beside.exists() else f"{sys.executable} -m dagentd"


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
