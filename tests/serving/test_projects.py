"""Which projects are served: what is wrong with one of them is its own, and leaves the others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from dagentd.adapters.git import project_at
from dagentd.serving.projects import Projects
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from tests.conftest import git
from tests.permissions import mode, ordinary


class Nobody:
    """Who is told that a project is taken up or let go."""

    def take_up(self, *_: object) -> None: ...

    def drop(self, *_: object) -> None: ...

    def changed(self, *_: object) -> None: ...

    def release(self, *_: object) -> Any:
        return lambda _: True


@pytest.fixture
def projects() -> Iterator[Projects]:
    index, nobody = Index(None), cast(Any, Nobody())
    with ordinary():
        made = Projects(lambda _: Settings(), index, nobody, nobody, nobody, lambda *_, **__: None)
        yield made
        assert made.close(10)
    index.close()


@pytest.mark.parametrize("where", ["box", "box/shop", "box/shop/.git"])
def test_one_that_may_not_be_looked_into_leaves_the_others(projects: Projects, tmp_path: Path, where: str) -> None:
    closed, other = tmp_path / "box" / "shop", tmp_path / "other"
    for root in (closed, other):
        git(tmp_path, "init", "-q", str(root))
    wanted = [project_at(closed), project_at(other)]
    projects.follow(wanted)
    assert {store.project.root for store in projects.stores()} == {closed, other}
    with mode(tmp_path / where, 0o000):
        projects.follow(wanted)
        projects.follow(wanted)
        assert other in [store.project.root for store in projects.stores() if not store.read_only]
        (told,) = projects.problems()
        assert (told.id, told.path, told.message) == ("project", str(closed), "permission denied") and told.hint
    projects.follow(wanted)
    assert {store.project.root for store in projects.stores() if not store.read_only} == {closed, other}
    assert projects.problems() == []


def test_one_whose_lock_was_removed_is_locked_again(projects: Projects, tmp_path: Path) -> None:
    """With all of our folder in git's, by hand: a second daemon could have written beside us."""
    git(tmp_path, "init", "-q", str(tmp_path / "shop"))
    wanted = [project_at(tmp_path / "shop")]
    projects.follow(wanted)
    shutil.rmtree(wanted[0].own_dir)
    projects.follow(wanted)
    (store,) = projects.stores()
    assert store.is_locked() and not store.read_only and projects.problems() == []
