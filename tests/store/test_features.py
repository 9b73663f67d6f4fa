"""Features that dagentd makes, at a user's word."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.git import project_at
from dagentd.errors import Conflict, InvalidInput, NotFound
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import FEATURE, SampleProject, git


@pytest.fixture
def store(project: SampleProject) -> Iterator[Store]:
    with contextlib.closing(Store(project_at(project.root), Index(None))) as made:
        yield made


@pytest.fixture
def worktree(project: SampleProject) -> Path:
    git(project.root, "worktree", "add", "-q", "-b", "pay", ".dagent-worktrees/pay")
    return project.root / ".dagent-worktrees" / "pay"


def test_one_is_made_in_the_worktree_of_its_name(store: Store, worktree: Path) -> None:
    made = store.maker.make_feature("pay", "Payment", "Cards only.")
    assert (made.id, made.tree.worktree, made.shape) == ("pay", worktree, "flat")
    found = json.loads((worktree / ".dagent" / "feature.json").read_text())
    assert found == {**found, "id": "pay", "name": "Payment", "description": "Cards only.", "status": "in_progress"}
    session = store.maker.get_or_create("feature", "pm", "pay")
    assert session.folder.journal.name == "history_pm-feature-pay.jsonl"


def test_one_is_made_by_the_name_of_a_link_to_its_worktree(
    store: Store, project: SampleProject, tmp_path: Path
) -> None:
    git(project.root, "worktree", "add", "-q", "-b", "pay", str(tmp_path / "elsewhere"))
    (project.root / ".dagent-worktrees" / "pay").symlink_to(tmp_path / "elsewhere")
    (project.root / ".dagent-worktrees" / "home").symlink_to(project.root)
    made = store.maker.make_feature("pay")
    assert (made.id, made.tree.worktree) == ("pay", tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        store.maker.make_feature("home")


def test_without_a_worktree_it_says_who_makes_one(store: Store) -> None:
    with pytest.raises(NotFound) as told:
        store.maker.make_feature("pay")
    assert told.value.hint == "dagentd new pay"
    with pytest.raises(InvalidInput):
        store.maker.make_feature("../pay")


def test_none_is_made_over_another(store: Store, worktree: Path) -> None:
    with pytest.raises(Conflict):
        store.maker.make_feature(FEATURE)
    (worktree / ".dagent").mkdir()
    (worktree / ".dagent" / "feature.json").write_text('{"id": "checkout"}')
    with pytest.raises(Conflict, match="holds feature checkout"):
        store.maker.make_feature("pay")
    assert (worktree / ".dagent" / "feature.json").read_text() == '{"id": "checkout"}'


def test_nothing_is_written_behind_a_link(store: Store, worktree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (worktree / ".dagent").symlink_to(elsewhere)
    with pytest.raises(Exception, match="leads out"):
        store.maker.make_feature("pay")
    assert not list(elsewhere.iterdir())
