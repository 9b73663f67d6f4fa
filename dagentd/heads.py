"""Where the checkouts are in their history: a rebase is one change, however many commits it makes."""

from __future__ import annotations

from dagentd.adapters import clock
from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head
from dagentd.model.project import Tree
from dagentd.store.store import Store
from dagentd.surveyed import Surveyed

_PAUSE = 1.0  # seconds without a commit after which a rebase has stopped, for a conflict or a long command


class Heads:
    """Never called by two threads at once."""

    def __init__(self) -> None:
        self._rebasing: dict[Tree, tuple[Surveyed, float]] = {}  # until when to wait for more commits

    def moved(self, project: Surveyed, tree: Tree, unheard: float) -> Head | None:
        """Where HEAD is, if it is elsewhere than before and no rebase is about to move it on. While commits come in one
        stream, we hear of them only after up to `unheard` seconds."""
        held = self._rebasing.pop(tree, None)  # first: one that cannot be looked at must not be due at once again
        if repository.rebasing(tree.worktree) and (held is None or held[1] > clock.monotonic()):
            self._rebasing[tree] = project, clock.monotonic() + _PAUSE + unheard
            return None
        return project.moved(tree)

    def pause(self) -> float | None:
        """Seconds after which a rebase may have stopped; None if there is none."""
        due = min((due for _, due in self._rebasing.values()), default=None)
        return None if due is None else max(0.0, due - clock.monotonic())

    def stopped(self) -> list[tuple[Surveyed, Tree]]:
        """The rebases that may have."""
        now = clock.monotonic()
        return [(project, tree) for tree, (project, due) in self._rebasing.items() if due <= now]

    def drop(self, store: Store) -> None:
        self._rebasing = {tree: held for tree, held in self._rebasing.items() if held[0].store is not store}
