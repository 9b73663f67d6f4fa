"""Heads that move: by one commit, by a rebase, and where nobody can tell."""

from __future__ import annotations

import pytest

from dagentd.adapters import clock, git
from dagentd.errors import DagentdError
from dagentd.model.project import Tree
from dagentd.serving import watched_project
from dagentd.serving.watched_project import WatchedProject
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
    assert surveyed.moved(tree) is not None and not surveyed.rebasing
    _begin_rebase(tree)
    assert surveyed.moved(tree, 9.0) is None
    assert surveyed.rebasing[tree] > clock.monotonic() + 9.0
    monkeypatch.setattr(watched_project, "_PAUSE", 0.0)
    assert surveyed.moved(tree) is None
    assert surveyed.rebasing[tree] <= clock.monotonic()
    assert surveyed.moved(tree) is None and not surveyed.rebasing, "nothing moved, and it is over"


def test_a_rebase_in_a_checkout_that_cannot_be_read_is_not_waited_for(surveyed: WatchedProject, tree: Tree) -> None:
    """It was due again at once, for as long as there was no descriptor to read .git: a core was busy all the time."""
    _begin_rebase(tree)
    surveyed.moved(tree)
    (tree.worktree / ".git").write_text(f"gitdir: /{'x' * 300}\n")  # a name that no file system takes
    with pytest.raises(DagentdError):
        surveyed.moved(tree)
    assert not surveyed.rebasing


def test_a_git_folder_that_cannot_be_reached_keeps_the_project_from_nothing(project: SampleProject) -> None:
    """One such worktree, and nothing of the whole project was watched."""
    (project.worktree / ".git").write_text(f"gitdir: /{'x' * 300}\n")
    known = WatchedProject(Store(git.project_at(project.root), Index(None)), watched=True)
    assert [each.id for each in known.survey().new] == [project.feature]
    assert project.dagent in known.places() and project.root / ".git" in known.places()
