"""A watch of real folders, and a listener that takes its batches until they hold what a test waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagentd.adapters.watch import Watch
from dagentd.adapters.watch.batches import Batch
from tests.patience import patience

MARK = "mark"


class Listener:
    """Takes down all that came."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.paths: set[Path] = set()
        self.folders: set[Path] = set()
        self.lost = False
        self.beats = True  # the heart, as in the daemon: then a check finds what no event tells
        self._followed: set[Path] = set()

    def until(self, condition: Callable[[], object], what: str) -> None:
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < patience(), (
                f"{what} did not come; {self.paths} {self.folders} {self.watch.status()}"
            )
            if self.beats:
                self.watch.check()
            self.take(0.2)

    def take(self, timeout: float) -> Batch | None:
        if batch := self.watch.batch(timeout):
            self.paths |= batch.paths
            self.folders |= batch.folders
            self.lost |= batch.lost
        return batch

    def follow(self, *folders: Path) -> None:
        """And take the batch that this leads to, so that what comes later is news."""
        self.watch.follow(folders)
        new, self._followed = {*folders} - self._followed, {*folders}
        self.until(lambda: {folder for folder in new if folder.is_dir()} <= self.folders, "the folders themselves")
        self.forget()

    def sees(self, *paths: Path) -> None:
        self.until(lambda: set(paths) <= self.paths, f"a change of {paths}")

    def sees_writing(self, folder: Path, name: str = MARK) -> None:
        """What was told before this write has been told when it is seen."""
        self.sees_writing_in(folder, name=name)

    def sees_writing_in(self, *folders: Path, name: str = MARK) -> None:
        for folder in folders:
            (folder / name).write_text("x")
        self.sees(*(folder / name for folder in folders))

    def sees_folder(self, *folders: Path) -> None:
        self.until(lambda: set(folders) <= self.folders, f"the folders {folders}")

    def forget(self) -> None:
        self.paths, self.folders, self.lost = set(), set(), False

    @property
    def incidents(self) -> str:
        return "; ".join(incident.message for incident in self.watch.status().incidents)

    @property
    def problems(self) -> dict[str, str]:
        return {problem.id: f"{problem.message} {problem.hint}" for problem in self.watch.status().problems}


@contextmanager
def listening(state: Path, **more: Any) -> Iterator[Listener]:
    state.mkdir(exist_ok=True)
    watch = Watch(state / "cookie", **{"settle": 0.02, "ceiling": 0.5, **more})
    try:
        yield Listener(watch)
    finally:
        watch.close()
