"""A folder of an open session is exchanged for a link out of its worktree: nothing outside is read, written or kept."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from dagentd.errors import DagentdError, NotAllowed
from dagentd.store.documents import document_writer
from dagentd.store.layout import layout, rolled_back
from tests.conftest import SampleProject, git
from tests.store.place import FEATURE, NESTED, Place, said
from tests.torture import reader

SECRET = "only the victim's"
SETTLE = 0.004


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_writer, "_APART", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def victim(tmp_path: Path) -> Place:
    """Another project of the same user, with a session of the same id."""
    other = Place(tmp_path / "victim").make()
    with other.session() as theirs:
        theirs.add([{"id": "v", "role": "user", "content": SECRET}])
    return other


def seen(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file, with how many names it has: a journal of theirs that we keep has one more."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_nlink, path.read_bytes()) for path in files}


def exchange(folder: Path, victim: Path) -> Path:
    moved = folder.with_name(f"{folder.name}.moved")
    folder.rename(moved)
    folder.symlink_to(victim)
    return moved


FOLDERS = ["sessions", ""]  # "": the tree itself


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_open_session_does_not_follow_its_folder_out(place: Place, victim: Place, folder: str) -> None:
    before = seen(victim.flat)
    with place.store(SETTLE) as store:
        mine = store.maker.get_or_create("feature", "pm", FEATURE)
        mine.add(said("a"))
        mine.reconcile()
        moved = exchange(place.flat / folder, victim.flat / folder)
        with pytest.raises(NotAllowed):
            mine.add(said("b"))
        for look in (mine.reconcile, store.reconciler.reconcile, lambda: mine.replace("context", {"notes": ["x"]})):
            with contextlib.suppress(DagentdError):
                look()
        assert SECRET not in json.dumps(mine.messages())
        assert SECRET not in json.dumps(mine.history())
        assert seen(victim.flat) == before
        (place.flat / folder).unlink()
        moved.rename(place.flat / folder)
        mine.add(said("b"))
    assert seen(victim.flat) == before
    assert reader.agree(place.pm).chat == ["a", "b"]
    kept = [path.read_text() for path in place.kept.glob("*.jsonl")]
    assert len(kept) == 1 and SECRET not in kept[0]


def test_nothing_is_kept_behind_a_git_folder_that_became_a_link(place: Place, victim: Place) -> None:
    with place.store(SETTLE) as store:
        mine = store.maker.get_or_create("feature", "pm", FEATURE)
        mine.add(said("a"))
        exchange(place.root / ".git", victim.root)
        before = seen(victim.root)
        for act in (lambda: mine.add(said("b")), lambda: store.memory.add("x", "user"), mine.archive, mine.reconcile):
            with contextlib.suppress(DagentdError):
                act()
    assert seen(victim.root) == before


def test_a_session_that_is_not_open_is_not_served_from_outside(place: Place, victim: Place) -> None:
    with place.session() as mine:
        mine.add(said("a"))
    exchange(place.pm.folder, victim.pm.folder)
    before = seen(victim.flat)
    with place.store(SETTLE) as store:
        with pytest.raises(DagentdError):
            store.maker.get_or_create("feature", "pm", FEATURE)
        store.reconciler.reconcile()
    assert seen(victim.flat) == before and len(list(place.kept.glob("*.jsonl"))) == 1


def test_a_tree_in_a_tree_is_none(place: Place) -> None:
    """What lies in it would be reached beneath the folder that holds it, and that may be a link."""
    within = place.flat / "nodes" / ".dagent" / "sessions"
    within.mkdir(parents=True)
    with place.session() as mine:
        mine.add(said("a"))
    for path in place.pm.folder.iterdir():
        shutil.copy(path, within)
    (tree,) = [tree for tree in layout.trees(place.project) if tree.path == place.flat]
    (feature,) = layout.features(tree)
    assert {folder.path for folder in layout.sessions(feature)} == {place.pm.folder}
    assert layout.twins(layout.sessions(feature)[0]) == [] and rolled_back._names(within.parents[1]) == []


@pytest.mark.parametrize("folder", ["kept", ""])
def test_what_is_ours_in_gits_folder_does_not_lead_out_of_it(place: Place, tmp_path: Path, folder: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with place.store(SETTLE) as store:
        mine = store.maker.get_or_create("feature", "pm", FEATURE)
        mine.add(said("a"))
        exchange(place.project.own_dir / folder, outside)
        with contextlib.suppress(DagentdError):
            mine.add(said("b"))
            mine.reconcile()
        with pytest.raises(DagentdError):
            store.maker.get_or_create("feature", "pm", NESTED)
    assert not list(outside.iterdir())


# --- the worktree itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("up", [1, 2])  # the worktree, the folder of all worktrees
def test_a_worktree_that_is_exchanged_for_another_projects_is_refused(place: Place, victim: Place, up: int) -> None:
    folder, theirs = [place.flat, *place.flat.parents][up], [victim.flat, *victim.flat.parents][up]
    before = seen(victim.root)
    with place.store(SETTLE) as store:
        mine = store.maker.get_or_create("feature", "pm", FEATURE)
        mine.add(said("a"))
        mine.reconcile()
        moved = folder.rename(place.root / "moved")
        folder.symlink_to(theirs)
        with pytest.raises(NotAllowed):
            mine.add(said("b"))
        for look in (mine.reconcile, store.reconciler.reconcile, store.reconciler.look_around):
            with contextlib.suppress(DagentdError):
                look()
        assert [problem.path for problem in store.problems if problem.id == "folder"] == [str(place.flat.parent)]
        assert SECRET not in json.dumps([mine.history(), mine.messages()])
        folder.unlink()
        moved.rename(folder)
        mine.add(said("b"))
    assert seen(victim.root) == before and reader.agree(place.pm).chat == ["a", "b"]


def test_a_link_beside_the_worktrees_leads_to_no_other_project(place: Place, victim: Place) -> None:
    (place.flat.parents[1] / "other").symlink_to(victim.flat.parent)
    assert [tree.path for tree in layout.trees(place.project)] == [place.flat, place.root / ".dagent"]


@pytest.mark.parametrize("which", ["worktree", "folder"])
def test_a_worktree_that_the_user_keeps_elsewhere_is_served_there(project: SampleProject, which: str) -> None:
    away, folder = project.root.parent / "away", project.root / ".dagent-worktrees"
    away.mkdir()
    git(project.root, "worktree", "move", str(project.worktree), str(away / "here"))
    link = folder / "here" if which == "worktree" else folder
    if which == "folder":
        folder.rmdir()
    link.symlink_to(away / "here" if which == "worktree" else away)
    served = Place(project.root)
    with served.store(SETTLE) as store:
        mine = store.maker.get_or_create("feature", "pm", FEATURE)
        mine.add(said("a"))
        assert mine.folder.feature.tree.worktree == away / "here" and not store.problems
