"""A progress bar on stderr, where somebody looks at it and there is much to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

_MUCH = 10

Advance = Callable[[object], None]


@contextlib.contextmanager
def bar(what: str, count: Callable[[], int]) -> Iterator[Advance]:
    """What is given is called with each thing that is done. They are counted only for somebody who looks."""
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
