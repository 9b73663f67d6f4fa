"""What `dagentd demo` shows, step by step: each with the command that does it on one's own repository."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from shutil import get_terminal_size
from typing import Any

from dagentd import cli, paths
from dagentd.cli import output
from dagentd.cli.bars import bar, colour
from dagentd.cli.sample import LIMIT, OUTPUT, SESSION, Sample
from dagentd.errors import Unreachable
from dagentd.rpc.client import Client, Subscription

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
        told = f"The chat outgrows its budget, here {output.tokens(LIMIT)}. It is compacted by itself."
        self._step(told, f"dagentd compact {SESSION}")
        said = {"role": "assistant", "content": OUTPUT}
        with daemon.subscribe(types=["session:compaction-start", "session:compaction-complete"]) as events:
            daemon.call("session.addMessage", sessionId=SESSION, **said)
            start = _wait(events, lambda event: event["type"] == "session:compaction-start")
            _wait(events, lambda event: event["type"] == "session:compaction-complete")
        self._tell_share("before", start["estimatedTokens"], start["messagesCount"])
        self._tell_share("after", *_filled(daemon))
        summary = daemon.call("session.getCheckpoint", sessionId=SESSION)["summary"]
        for name, title in _LISTS.items():
            for item in summary.get(name, ()):
                self._tell(f"  {title:<8}{item if isinstance(item, str) else item.get('text')}")

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


def _served() -> None:
    """In a process of its own: the daemon is forked off it."""
    done = subprocess.run([sys.executable, "-m", "dagentd", "init"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Unreachable(f"the daemon of the demo did not start: {done.stderr.strip()}")


def _printed(*arguments: str) -> str:
    """By the command itself."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        cli.run(arguments)
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
