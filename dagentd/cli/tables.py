"""Rows as text: aligned for a pipe, drawn by rich for a terminal, in blocks where a table does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table

_GAP = 2
_MARKS = ("- ", "! ", "+ ", "> ", "< ")  # before what stands in a list
_NARROWEST = 16  # characters that a wrapping column keeps


class Column(NamedTuple):
    """`right` is for numbers; `wrap` lets a column become narrower than its text; `style` is rich's."""

    title: str
    right: bool = False
    wrap: bool = False
    style: str = ""


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Plain text, with a line of titles if there are any."""
    titles = [column.title for column in columns]
    lines = [titles, *rows] if any(titles) else list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = []
    for row in lines:
        cells = zip(columns, row, widths, strict=True)
        padded = (cell.rjust(width) if column.right else cell.ljust(width) for column, cell, width in cells)
        shown.append((" " * _GAP).join(padded).rstrip() + "\n")
    return "".join(shown)


def drawn(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """For the terminal on stdout. A table that would cut ids in two becomes one block a row."""
    from rich.console import Console

    # Measured here, because rich takes every terminal that is "dumb" for 80 columns wide.
    width, height = get_terminal_size()
    if _least_width(columns, rows) > width:
        return _blocks(columns, rows)
    console = Console(markup=False, highlight=False, emoji=False, width=width, height=height)
    with console.capture() as capture:
        console.print(_grid(columns, rows))
    return capture.get()


def wrapped(text: str) -> str:
    """For the terminal: lines that are too long go on under themselves, in a list under its text."""
    from textwrap import TextWrapper

    width = max(_NARROWEST, get_terminal_size().columns)
    lines = []
    for line in text.split("\n"):
        margin = len(line) - len(line.lstrip(" ")) + (_GAP if line.lstrip(" ")[:2] in _MARKS else 0)
        wrap = TextWrapper(width, subsequent_indent=" " * margin, break_long_words=False, break_on_hyphens=False,
                           drop_whitespace=True, expand_tabs=False, replace_whitespace=False)  # fmt: skip
        lines += wrap.wrap(line) if len(line) > width else [line]
    return "\n".join(lines)


def _grid(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    titled = any(column.title for column in columns)
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", show_header=titled)
    for title, right, wrap, style in columns:
        justify: Literal["left", "right"] = "right" if right else "left"
        grid.add_column(Text(title), justify=justify, style=style, no_wrap=not wrap, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    total = _GAP * (len(columns) - 1)
    for number, column in enumerate(columns):
        width = max(cell_len(text) for text in (column.title, *(row[number] for row in rows)))
        total += min(width, _NARROWEST) if column.wrap else width
    return total


def _blocks(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    names = max(len(column.title) for column in columns[1:]) if len(columns) > 1 else 0
    blocks = []
    for row in rows:
        rest = zip(columns[1:], row[1:], strict=True)
        lines = [row[0], *(f"  {column.title.ljust(names)}  {cell}".rstrip() for column, cell in rest if cell)]
        blocks.append("".join(f"{line}\n" for line in lines))
    return "".join(blocks)
