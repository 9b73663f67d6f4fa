"""Heads that move: by one commit, by a rebase, and where nobody can tell."""

from __future__ import annotations

import pytest

from dagentd.adapters import git
from dagentd.errors import DagentdError
from dagentd.model.project import Tree
from dagentd.serving import watched_project
from dagentd.serving.watched_project import Heads, WatchedProject
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject


@pytest.fixture
def surveyed(project: SampleProject) -> WatchedProject:
    known = WatchedProject(Store(git.project_at(project.root), Index(None)), watched=False)
    known.survey()
    return known


@pytest.fixture
def tree(project: SampleProject, surveyed: WatchedProject) -> Tree:
    return next(each for each in surveyed.checkouts if each.worktree == project.worktree)


def _begin_rebase(tree: Tree) -> None:
    own = git.git_dir(tree.worktree)
    assert own is not None
    (own / "rebase-merge").mkdir()


def test_a_rebase_is_waited_for_until_it_pauses(
    surveyed: WatchedProject, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Heads()
    assert found.moved(surveyed, tree, 0.0) is not None and found.pause() is None
    _begin_rebase(tree)
    assert found.moved(surveyed, tree, 9.0) is None
    assert (found.pause() or 0.0) > 9.0 and found.stopped() == []
    monkeypatch.setattr(watched_project, "_PAUSE", 0.0)
    assert found.moved(surveyed, tree, 0.0) is None
    assert found.pause() == 0.0 and found.stopped() == [(surveyed, tree)]
    assert found.moved(surveyed, tree, 0.0) is None and found.pause() is None, "nothing moved, and it is over"


def test_a_rebase_in_a_checkout_that_cannot_be_read_is_not_waited_for(surveyed: WatchedProject, tree: Tree) -> None:
    """It was due again at once, for as long as there was no descriptor to read .git: a core was busy all the time."""
    found = Heads()
    _begin_rebase(tree)
    found.moved(surveyed, tree, 0.0)
    (tree.worktree / ".git").write_text(f"gitdir: /{'x' * 300}\n")  # a name that no file system takes
    with pytest.raises(DagentdError):
        found.moved(surveyed, tree, 0.0)
    assert found.pause() is None


def test_a_project_that_is_dropped_is_not_waited_for(surveyed: WatchedProject, tree: Tree) -> None:
    found = Heads()
    _begin_rebase(tree)
    found.moved(surveyed, tree, 0.0)
    found.drop(surveyed.store)
    assert found.pause() is None
