"""A terminal of a given size: what a command writes there, and what is typed when it says something."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.patience import patience
from tests.warm import Command

_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def _at_home() -> None:
    """What a terminal gives to a command. Tests that a shell runs in the background have Ctrl-C ignored."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """One command on it, `dagentd …` or any other. It is the leader of a session of its own, so that Ctrl-C reaches it
    as it would a user's."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], columns: int = 80, lines: int = 24
    ) -> None:
        self._screen, slave = pty.openpty()
        self.resize(columns, lines)
        ours: dict[str, Any] = {"cwd": cwd, "env": dict(env), "stdin": slave, "stdout": slave, "stderr": slave}
        self.process: subprocess.Popen[bytes]
        if command[0] == "dagentd":
            self.process = Command(*command[1:], **ours, start_new_session=True)
        else:
            self.process = subprocess.Popen(command, **ours, start_new_session=True, preexec_fn=_at_home)
        os.close(slave)
        self.said = ""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def until(self, text: str) -> None:
        """Read until the command has said this."""
        self._read(lambda: text in self.said)
        assert text in self.said, f"{text!r} was not said in:\n{self.said}"

    def end(self) -> int:
        """Read until it has ended; its exit status."""
        self._read(lambda: self.process.poll() is not None and not self._readable(0))
        status = self.process.wait(patience())
        os.close(self._screen)
        return status

    def _read(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + patience()
        while not done():
            if time.monotonic() > end:
                os.killpg(self.process.pid, signal.SIGKILL)
                raise AssertionError(f"{self.process.args!r} did not go on within {patience()} s:\n{self.said}")
            if self._readable(0.05):
                try:
                    self.said += os.read(self._screen, 1 << 16).decode("utf-8", "replace")
                except OSError:  # EIO: nobody has the other end any more
                    self.process.wait(patience())
                    return

    def _readable(self, timeout: float) -> bool:
        return bool(select.select([self._screen], [], [], timeout)[0])

    @property
    def text(self) -> str:
        """What was said, without colours and with plain ends of lines."""
        return _STYLES.sub("", self.said).replace("\r\n", "\n")
