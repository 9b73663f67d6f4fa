"""Bars: a share in eighths of a character, and progress on stderr where somebody looks at it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

# A share as a bar: in eighths of a character where the terminal has them, else by signs that every one has.

_EIGHTHS = "▏▎▍▌▋▊▉"


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """Always `width` wide; what is there shows, and only what is full looks full."""
    part = min(max(share, 0.0), 1.0) * width
    whole, eighths = int(part), int(part % 1 * 8)
    if plain:
        whole = max(whole, int(share > 0))
        return ("#" * whole + "." * (width - whole))[:width]
    if share > 0 and whole == eighths == 0 < width:
        eighths = 1
    drawn = "█" * whole + (_EIGHTHS[eighths - 1] if eighths else "")
    return drawn + "·" * (width - len(drawn))


def colour(share: float) -> str:
    """By the levels at which `session:budget` warns: 75 and 90 %."""
    return "red" if share >= 0.9 else "yellow" if share >= 0.75 else "green"


# A progress bar on stderr, where somebody looks at it and there is much to do.

_MUCH = 10

Advance = Callable[[object], None]


@contextlib.contextmanager
def progress_bar(what: str, count: Callable[[], int]) -> Iterator[Advance]:
    """Show a bar; what is given is called with each thing that is done. They are counted only if somebody looks."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    total = count() if watched else 0
    if total < _MUCH:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.advance(task)
