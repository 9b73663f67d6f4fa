"""A progress bar on stderr, where somebody looks at it and there is much to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

_MUCH = 10

Advance = Callable[[object], None]


@contextlib.contextmanager
def bar(what: str, total: int) -> Iterator[Advance]:
    """What is given is called with each thing that is done."""
    if total < _MUCH or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.advance(task)
