"""All that dagentd prints passes here: tables for a terminal, plain text for a pipe, JSON for programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Any

import click

from dagentd.cli import tables
from dagentd.cli.tables import Column as Column
from dagentd.errors import NotAllowed
from dagentd.model import jsontext, oneline
from dagentd.model.figures import ago as ago
from dagentd.model.figures import counted as counted
from dagentd.model.figures import duration as duration
from dagentd.model.figures import share as share
from dagentd.model.figures import size as size
from dagentd.model.figures import tokens as tokens

# C0 but tab and newline, DEL, C1, the marks and overrides that turn the direction of text, and surrogates,
# which no encoding can write.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CALL = 200  # characters of what a tool was given
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
# What we write ourselves, for terminals that have ASCII alone; of what others wrote, escapes are shown.
_PLAINER = str.maketrans({"…": "...", "«": "<<", "»": ">>", "→": "->", "·": "-"})
_NOT_ASCII = re.compile("[^\x00-\x7f]")
colourless = False  # what somebody's configuration says; the environment may say it too


def prepare() -> None:
    """Let no character stop us: with LANG=C, and with half an emoji, escapes are printed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def clean(text: str) -> str:
    """The text with all that could steer a terminal made visible."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode-escape").decode(), text.replace("\r\n", "\n"))


def text(text: str) -> None:
    """Print a text that somebody else wrote, line for line."""
    _put(clean(text) + "\n")


def line(text: str = "") -> None:
    """A sentence of ours: a terminal breaks it between words."""
    told = clean(text) + "\n"
    _put(tables.wrapped(told) if on_terminal() else told)


def cut(text: str, margin: int = 0) -> str:
    """As much of a line as a terminal shows beside a margin; a pipe gets all of it."""
    shown = clean(text)
    width = get_terminal_size().columns - margin
    return shown if not on_terminal() or len(shown) <= width else f"{shown[: width - 1]}…"


def heading(text: str) -> None:
    """A line over what belongs to it."""
    _put(styled(text, "bold") + "\n")


def styled(text: str, style: str) -> str:
    """For `raw`: the text made safe, and where the terminal can, in bold or in a colour."""
    able = on_terminal() and os.environ.get("TERM", "dumb") != "dumb"
    plain = (colourless or bool(os.environ.get("NO_COLOR"))) and style not in ("bold", "dim")
    return clean(text) if plain or not able else f"\x1b[{_STYLES[style]}m{clean(text)}\x1b[0m"


def raw(text: str) -> None:
    """Parts that `styled` made."""
    _put(text + "\n")


def put_bytes(data: bytes) -> None:
    """As they are: what another program wrote, for a file or a pipe."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    _put("")


def error(message: str, hint: str = "") -> None:
    """A sentence and what to do next, on stderr; it must not fail itself."""
    try:
        if sys.stderr is not None:
            told = f"dagentd: {clean(message)}\n" + (f"{clean(step(hint))}\n" if hint else "")
            sys.stderr.write(tables.wrapped(told) if sys.stderr.isatty() else told)
            sys.stderr.flush()
    except OSError:
        return


def step(hint: str) -> str:
    """The next step in words; most hints are the command to type."""
    return f"Try: {hint}" if hint.startswith("dagentd ") else hint


def problem(message: str, hint: str = "", path: str = "") -> None:
    """Something that is wrong, among other things that are told. Whoever named the file adds no line to them."""
    line(f"! {oneline.visible(path)}: {message}" if path else f"! {message}")
    if hint:
        line(f"  {step(hint)}")


def make_sure(question: str) -> None:
    """Go on only if the user says yes."""
    if not click.confirm(clean(question)):
        raise NotAllowed("nothing was done")


def print_json(value: Any) -> None:
    """Exact JSON, yet safe on a terminal, and pure ASCII where the terminal is."""
    text = _UNSAFE.sub(_json_escape, jsontext.pretty(value).decode())
    _put(text if is_utf8() else _NOT_ASCII.sub(_json_escape, text))


def json_line(value: Any) -> None:
    """JSON on one line, for a stream of objects."""
    text = _UNSAFE.sub(_json_escape, jsontext.encode(value).decode())
    _put((text if is_utf8() else _NOT_ASCII.sub(_json_escape, text)) + "\n")


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]], *, empty: str = "") -> None:
    """Rows under titles; without any rows the sentence `empty`."""
    plainer = {} if is_utf8() else _PLAINER  # before columns are laid out: an arrow becomes longer
    lines = [[clean("" if cell is None else str(cell)) for cell in row] for row in rows]
    cells = [[" ".join(cell.split()).translate(plainer) for cell in row] for row in lines]
    columns = [each._replace(style="") if colourless and each.style != "bold" else each for each in columns]
    if cells:
        _put((tables.drawn if on_terminal() else tables.aligned)(columns, cells))
    elif empty:
        line(empty)


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values, one pair a line."""
    table([Column("", style="bold"), Column("", wrap=True)], pairs)


def on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def can_ask() -> bool:
    """Somebody sits there who could answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def abandon() -> None:
    """Nobody reads on: let Python's own flush at exit go nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _put(text: str) -> None:
    """Flushed at once: whoever reads our pipe is waiting for this line."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text if is_utf8() else text.translate(_PLAINER))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        abandon()
        raise NotAllowed(f"cannot write the output: {problem.strerror}") from None


def is_utf8() -> bool:
    """One without an encoding, as a buffer in memory, takes everything."""
    encoding = sys.stdout.encoding if sys.stdout is not None else "ascii"
    return encoding is None or encoding.lower().replace("-", "") == "utf8"


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def tool_calls(message: dict[str, Any]) -> list[str]:
    """Each tool that an agent used with that message, in a line."""
    metadata = message.get("metadata")
    uses = metadata.get("toolUse") if isinstance(metadata, dict) else None
    return [_in_a_line(use) for use in uses if isinstance(use, dict)] if isinstance(uses, list) else []


def _in_a_line(use: dict[str, Any]) -> str:
    """Its name and what it was given first: a path, a command, a query."""
    given = use.get("input")
    texts = [given] if isinstance(given, str) else list(given.values()) if isinstance(given, dict) else []
    first = next((" ".join(text.split()) for text in texts if isinstance(text, str)), "")
    return (
        f"[{use.get('name') or 'tool'}{', failed' if use.get('isError') else ''}] {oneline.cut(first, _CALL)}".rstrip()
    )
