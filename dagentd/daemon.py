"""Serving projects: build the parts, start them in order, wait, stop in reverse."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from dagentd import paths
from dagentd.adapters import disk
from dagentd.errors import DagentdError
from dagentd.jobs.reconcile import Report, reconcile
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store

LOCK_WAIT = 5.0  # seconds that a busy project lock is waited for


def serve(projects: Sequence[Project], settings: Settings, tell: Callable[[Project, Report], None]) -> None:
    """Keep the projects right until SIGINT or SIGTERM: now, and every `reconcile_s`."""
    stopping = _stop_signals()
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(writing(project, settings)) for project in projects]
        while True:
            for store in stores:
                tell(store.project, reconcile(store))
            if stopping.wait(settings.watch.reconcile_s):
                return


def once(project: Project, settings: Settings) -> Report:
    """Do everything that is due in one project."""
    with writing(project, settings) as store:
        return reconcile(store)


@contextlib.contextmanager
def writing(project: Project, settings: Settings) -> Iterator[Store]:
    """The project's store with its lock held; what is behind is written before it is let go."""
    index = Index(_index_file())
    try:
        store = Store(project, index, settle=settings.watch.settle_ms / 1000, wait=LOCK_WAIT)
        try:
            yield store
        finally:
            store.close()
    finally:
        index.close()


def _index_file() -> Path | None:
    """None, and so an index in memory, where the state folder cannot be made: it is only a cache."""
    try:
        with disk.explained(paths.state_dir()):
            disk.make_folders(paths.state_dir())
    except DagentdError:
        return None
    return paths.index_file()


def _stop_signals() -> threading.Event:
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopping
