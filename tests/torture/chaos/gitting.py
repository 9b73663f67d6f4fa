"""Git: commits, rebases, checkouts, and worktrees that go with all that is in them and come back."""

from __future__ import annotations

import json
import random
import shutil
import threading
from pathlib import Path

from tests.torture.chaos.cowriter import Cowriter
from tests.torture.chaos.trouble import Trouble
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import PASSING, GitFailed, Place, World

_PAUSE = 0.5


class Gitter:
    """What git is asked for must work at all times when nothing else is wrong: dagentd is never in its way."""

    def __init__(self, world: World, truth: Truth, trouble: Trouble, app: Cowriter, dice: random.Random) -> None:
        self._world, self._truth, self._trouble, self._app, self._dice = world, truth, trouble, app, dice
        self._number = 0
        self.legacy: dict[str, tuple[Place, int]] = {}  # texts of older files, with the place and the life of it

    def run(self, over: threading.Event) -> None:
        acts = [self._commit, self._commit, self._rebase, self._checkout, self._pass]
        while not over.wait(self._dice.random() * _PAUSE):
            act, place = self._dice.choice(acts), self._dice.choice(self._world.places)
            with self._trouble.noticed_by_all() as disturbed, place.lock:
                try:
                    act(place)
                    self._truth.count(act.__name__.strip("_"))
                except (GitFailed, OSError) as error:
                    failed = str(error)
                else:
                    failed = ""
            if failed and disturbed():
                self._truth.could_not(failed)
            elif failed:
                self._truth.complain(f"git was disturbed: {failed}")

    def finish(self) -> None:
        """Every worktree is there again."""
        for place in self._world.places:
            if not place.there:
                self._make(place)

    def _commit(self, place: Place) -> None:
        if place.there:
            self._number += 1
            (place.worktree / "work.txt").write_text(f"{self._number}\n")
            self._world.git(place.worktree, "add", "work.txt")
            self._world.git(place.worktree, "commit", "-q", "--allow-empty", "-m", f"Work {self._number}")

    def _rebase(self, place: Place) -> None:
        """Onto a main branch that has moved on."""
        self._number += 1
        (self._world.root / f"main-{self._number % 20}.txt").write_text(f"{self._number}\n")
        self._world.git(self._world.root, "add", "-A", ".")
        self._world.git(self._world.root, "commit", "-q", "--allow-empty", "-m", f"Main {self._number}")
        if place.there:
            self._end_rebase(place)
            self._world.git(place.worktree, "checkout", "-q", "-f", "HEAD")
            self._world.git(place.worktree, "rebase", "-q", "--force-rebase", "-X", "theirs", "main")

    def _end_rebase(self, place: Place) -> None:
        """One that a full disk ended; what is noted of it may be empty, so git itself cannot."""
        for name in ("rebase-merge", "rebase-apply"):
            shutil.rmtree(self._world.root / ".git" / "worktrees" / place.feature / name, ignore_errors=True)

    def _checkout(self, _: Place) -> None:
        """A new branch beside main: AGX makes a session for it."""
        self._world.git(self._world.root, "checkout", "-q", "-B", f"side-{self._dice.randrange(3)}", "main")
        self._world.git(self._world.root, "checkout", "-q", "main")

    def _pass(self, place: Place) -> None:
        if place.feature not in PASSING:
            return
        if place.there:
            self._app.removed(place)
            place.there = False
            self._remove(place)
        else:
            self._make(place)

    def _remove(self, place: Place) -> None:
        """One that fails has deleted some of it, and may have forgotten it."""
        try:
            self._world.git(self._world.root, "worktree", "remove", "--force", str(place.worktree))
        except GitFailed as error:
            left = [str(each.relative_to(place.worktree)) for each in place.worktree.rglob("*")]
            raise GitFailed(f"{error}; there is still {', '.join(left)}") from None

    def _make(self, place: Place) -> None:
        if place.worktree.exists():  # left by one that failed
            shutil.rmtree(place.worktree)
        self._world.git(self._world.root, "worktree", "prune")
        self._world.add(place)
        if self._dice.random() < 0.5:
            self._number += 1
            texts = [f"<legacy-{self._number}-{n}> said long ago" for n in range(3)]
            entries = [{"type": "user", "text": text, "timestamp": "2026-01-17T12:00:00.000Z"} for text in texts]
            self._write_older(place.folder / "chat.json", json.dumps({"entries": entries}))
            self.legacy |= dict.fromkeys(texts, (place, place.life))

    def _write_older(self, path: Path, text: str) -> None:
        """Whole or not at all: an empty one that a full disk left would be ours, and dagentd leaves such as it is."""
        try:
            path.write_text(text)
        except OSError:
            path.unlink(missing_ok=True)
            raise
