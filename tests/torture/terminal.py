"""A real terminal for a command: what reaches it, byte for byte, and what of that would steer it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.patience import patience
from tests.warm import Command

# What rich writes by itself: colours, and the cursor hidden during a progress bar.
_OURS = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AK])")
_STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(*arguments: str, cwd: Path | str, typed: bytes = b"", **environment: str) -> str:
    """What a dagentd command puts on its terminal, until it ends."""
    master, slave = os.openpty()
    more = {"TERM": "xterm-256color", "COLUMNS": "100", "LC_ALL": "C.UTF-8", **environment}
    process = Command(*arguments, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, **more})
    os.close(slave)
    os.write(master, typed)
    try:
        return _read(master, process).decode("utf-8", "surrogateescape")
    finally:
        process.kill()
        process.wait()
        os.close(master)


def watched(*arguments: str, cwd: Path | str, enough: Callable[[str], bool]) -> None:
    """A command that goes on until it is ended, here when `enough` says so of all that it has shown."""
    master, slave = os.openpty()
    more = {"TERM": "xterm-256color", "COLUMNS": "160", "LINES": "50", "LC_ALL": "C.UTF-8"}
    process = Command(*arguments, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, **more})
    os.close(slave)
    found, end = b"", time.monotonic() + patience()
    try:
        while process.poll() is None and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                found += os.read(master, 1 << 16)
            if enough(found.decode("utf-8", "surrogateescape")):
                break
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _read(master: int, process: subprocess.Popen[bytes]) -> bytes:
    """A terminal ends with EIO when everyone has closed it."""
    found, end = b"", time.monotonic() + patience()
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                found += os.read(master, 1 << 16)
            elif process.poll() is not None:
                break
    assert process.wait(patience()) is not None
    return found


def steering(text: str) -> list[str]:
    """The characters that a terminal would obey, each with what is around it."""
    rest = _OURS.sub("", text)
    return [ascii(rest[max(0, each.start() - 30) : each.end() + 20]) for each in _STEERING.finditer(rest)]
