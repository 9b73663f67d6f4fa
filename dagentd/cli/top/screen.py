"""The terminal as a screen: taken over, painted, read from, and given back as it was, whatever happens."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from dagentd.cli.top.view import Line

_USUAL = (80, 24)
_TAKE = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # another buffer, no cursor, no wrapping
_GIVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_STYLES = {"bold": "1", "dim": "2", "reverse": "7", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLOURS = ("red", "green", "yellow", "cyan")
_SEQUENCES = {"[A": "up", "OA": "up", "[B": "down", "OB": "down", "[5~": "pageup", "[6~": "pagedown",
              "[H": "g", "OH": "g", "[F": "G", "OF": "G"}  # fmt: skip
_KEY = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-Z])|\x1b|.", re.DOTALL)


class Screen:
    """Ctrl-C and Ctrl-Z are left to the terminal: the one raises KeyboardInterrupt, the other gives the screen back
    until we go on."""

    def __init__(self) -> None:
        self._before = termios.tcgetattr(sys.stdin.fileno())
        self._painted: list[str] = []
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        handlers: dict[signal.Signals, Callable[[int, FrameType | None], object]] = {
            signal.SIGWINCH: lambda *_: self._resized(),
            signal.SIGTSTP: lambda *_: self._suspended(),
            signal.SIGTERM: _ended,
            signal.SIGHUP: _ended,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            self._take()
            yield
        finally:
            self._give()
            for number, handler in before.items():
                signal.signal(number, handler)

    def wake(self) -> None:
        """From any thread: there is something new."""
        with contextlib.suppress(BlockingIOError):  # it is woken already
            self._waker.send(b"!")

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines as they are now; COLUMNS and LINES, where somebody exports them, do not follow."""
        try:
            columns, lines = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            return _USUAL
        return columns or _USUAL[0], lines or _USUAL[1]

    def keys(self, timeout: float) -> list[str]:
        """The keys that were typed, as soon as something is or somebody wakes us; none after the timeout."""
        ready = select.select([sys.stdin, self._awake], [], [], timeout)[0]
        if self._awake in ready:
            self._awake.recv(4096)
        if sys.stdin not in ready:
            return []
        typed = os.read(sys.stdin.fileno(), 1024)
        if not typed:  # the terminal is gone
            raise KeyboardInterrupt
        return names(typed.decode("utf-8", "replace"))

    def paint(self, lines: Sequence[Line]) -> None:
        """Only what differs from what is there: most of the time nothing."""
        drawn = ["".join(_drawn(span.text, span.style) for span in line.spans) for line in lines]
        changed = [(at, text) for at, text in enumerate(drawn) if self._painted[at : at + 1] != [text]]
        self._painted = drawn
        if changed:
            _write("".join(f"\x1b[{at + 1};1H{text}\x1b[K" for at, text in changed))

    def _take(self) -> None:
        self._painted = []
        tty.setcbreak(sys.stdin.fileno())
        _write(_TAKE)

    def _give(self) -> None:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
        _write(_GIVE)

    def _resized(self) -> None:
        self._painted = []
        _write("\x1b[2J")
        self.wake()

    def _suspended(self) -> None:
        self._give()
        os.kill(os.getpid(), signal.SIGSTOP)  # here we wait for `fg`
        self._take()
        self.wake()


def names(typed: str) -> list[str]:
    """The keys by name; what has none is left out."""
    found = []
    for match in _KEY.finditer(typed):
        if match[1]:
            found.append(_SEQUENCES.get(match[1], ""))
        else:
            found.append({"\r": "enter", "\n": "enter", "\x1b": "escape"}.get(match[0], match[0]))
    return [name for name in found if name]


def _drawn(text: str, style: str) -> str:
    if not style or (style in _COLOURS and os.environ.get("NO_COLOR")):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def _write(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal was closed; the next reading of it tells
        sys.stdout.write(text)
        sys.stdout.flush()


def _ended(*_: object) -> None:
    raise KeyboardInterrupt
