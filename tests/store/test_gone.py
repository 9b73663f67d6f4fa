"""Sessions whose worktree is gone: listed, read, and restored by the very file that was kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from dagentd.adapters import git
from dagentd.adapters.files import fileio
from dagentd.errors import Conflict, LimitReached, NotAllowed, NotFound
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.conftest import git as run_git
from tests.store.served import Served

OTHER = "feat-pay"


@pytest.fixture
def lost(served: Served) -> Served:
    """Served no longer: its worktree was removed."""
    served.add("a", "b")
    served.session.clear()
    served.add("c")
    run_git(served.project.root, "worktree", "remove", "--force", str(served.worktree))
    return served


@pytest.fixture
def other(project: SampleProject) -> Path:
    """A second worktree, of another feature."""
    worktree = project.root / ".dagent-worktrees" / OTHER
    run_git(project.root, "worktree", "add", "-q", "-b", f"feature/{OTHER}", str(worktree))
    (worktree / ".dagent").mkdir()
    (worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": OTHER, "name": "Pay"}))
    return worktree / ".dagent"


@pytest.fixture
def reader(project: SampleProject) -> Iterator[Store]:
    """One who may not write, as `dagentd show` is."""
    index = Index(None)
    store = Store(git.project_at(project.root), index, read_only=True)
    yield store
    store.close()
    index.close()


def test_nothing_is_gone_while_its_worktree_is_there(served: Served) -> None:
    served.add("a")
    assert served.store.catalogue.gone() == []


def test_it_is_listed_when_its_worktree_is_gone(lost: Served) -> None:
    (gone,) = lost.store.catalogue.gone()
    assert (gone.id, gone.journal) == (lost.session.id, lost.kept[0])
    assert lost.store.catalogue.gone("another") == [] and lost.store.catalogue.folders() == []


@pytest.mark.parametrize("by", ["daemon", "reader"])
def test_it_can_be_read(lost: Served, reader: Store, by: str) -> None:
    store = lost.store if by == "daemon" else reader
    with store.sessions.using(lost.session.id) as session:
        assert [raw["id"] for raw in session.chat()] == ["c"]
        assert [raw["id"] for raw in session.history()[0]] == ["a", "b", "c"]
        document = session.document()
    assert document["gone"] is True and document["worktree"] is None and document["featureId"] == lost.feature
    assert lost.kept[0].stat().st_nlink == 1 and not lost.worktree.exists()


def test_it_can_only_be_read(lost: Served) -> None:
    before, names = lost.kept[0].read_bytes(), os.listdir(lost.kept[0].parent)
    with lost.store.sessions.using(lost.session.id) as session:
        with pytest.raises(NotFound, match="gone with its worktree") as caught:
            session.add([{"role": "user", "content": "x"}])
        assert caught.value.hint == f"dagentd restore {session.id}"
        for act in (session.clear, session.archive, lambda: session.replace("context", {})):
            with pytest.raises(NotFound):
                act()
    assert lost.kept[0].read_bytes() == before and os.listdir(lost.kept[0].parent) == names


def test_no_context_is_made_where_git_has_begun_to_remove_files(served: Served) -> None:
    """Git has read which files there are: with one more it fails to remove the folder."""
    served.folder.document("chat").unlink()
    with pytest.raises(NotFound):
        served.session.replace("context", {"projectMd": ""})
    assert not served.folder.document("context").exists()


def test_no_agent_description_is_made_again_while_the_session_is_served(served: Served) -> None:
    """Beside a full load git was held up behind this file, which it removes first, and failed with the new one."""
    served.store.reconciler.reconcile()
    served.folder.document("agent-description").unlink()
    served.store.reconciler.reconcile()
    assert not served.folder.document("agent-description").exists()
    served.store.maker.get_or_create("feature", "pm", served.feature)
    assert served.folder.document("agent-description").exists()


def _hard_copy(served: Served, away: Path) -> None:
    subprocess.run(["cp", "-al", str(served.worktree), str(away)], check=True)
    run_git(served.project.root, "worktree", "remove", "--force", str(served.worktree))


def _to_trash(served: Served, away: Path) -> None:
    served.worktree.rename(away)


@pytest.mark.parametrize("how", [_hard_copy, _to_trash])
def test_it_is_gone_though_a_link_to_it_is_left_somewhere(
    served: Served, other: Path, tmp_path: Path, how: Callable[[Served, Path], None]
) -> None:
    """In a copy made by `cp -al`, or in the trash: no tree of the project has it."""
    served.add("a")
    how(served, tmp_path / "away")
    (gone,) = served.store.catalogue.gone()
    assert gone.journal == served.kept[0] and gone.journal.stat().st_nlink == 2
    with served.store.sessions.using(served.session.id) as session:
        assert [raw["id"] for raw in session.history()[0]] == ["a"]
    session = served.store.maker.restore(served.session.id, OTHER)
    assert [raw["id"] for raw in session.history()[0]] == ["a"] and served.store.catalogue.gone() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_it_may_be_in_a_folder_that_is_closed_to_us(served: Served) -> None:
    served.add("a")
    served.worktree.chmod(0)
    try:
        assert served.store.catalogue.gone() == []
    finally:
        served.worktree.chmod(0o755)
    shutil.rmtree(served.worktree)
    assert len(served.store.catalogue.gone()) == 1


def test_nor_is_it_gone_while_a_tree_is_refused(served: Served, tmp_path: Path) -> None:
    """A link that leads out of its worktree: what a link is left of may be behind it."""
    served.add("a")
    served.worktree.rename(tmp_path / "away")
    served.worktree.mkdir()
    (served.worktree / ".dagent").symlink_to(tmp_path / "away" / ".dagent")
    assert served.store.catalogue.gone() == []
    shutil.rmtree(served.worktree)
    assert len(served.store.catalogue.gone()) == 1


def test_a_copy_that_a_live_journal_begins_with_is_not_gone(served: Served) -> None:
    """As when a whole project was copied: its entries are files of their own."""
    served.add("a")
    old = served.kept[0].with_name(f"{served.session.id}.7.jsonl")
    shutil.copy(served.kept[0], old)
    served.add("b")
    assert served.store.catalogue.gone() == []
    old.write_bytes(old.read_bytes()[:-2] + b" }\n")
    assert [each.journal for each in served.store.catalogue.gone()] == [old]


def test_nor_one_of_a_journal_that_cannot_be_read_just_now(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.add("a")
    shutil.copy(served.kept[0], served.kept[0].with_name(f"{served.session.id}.7.jsonl"))
    opened = fileio.opened

    def failing(path: Path) -> BinaryIO:
        if path == served.journal:
            raise LimitReached("too many files are open", path=path, hint="")
        return opened(path)

    monkeypatch.setattr(fileio, "opened", failing)
    assert served.store.catalogue.gone() == []


def test_documents_without_their_journal_are_not_gone(served: Served) -> None:
    served.add("a")
    served.close()
    served.journal.unlink()
    served.open()
    assert served.store.catalogue.gone() == [] and os.path.samefile(served.kept[0], served.journal)


def test_of_several_that_are_gone_each_can_be_named(lost: Served, project: SampleProject) -> None:
    run_git(project.root, "worktree", "add", "-q", str(lost.worktree), f"feature/{project.feature}")
    (lost.worktree / ".dagent").mkdir()
    (lost.worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": project.feature}))
    lost.store.maker.get_or_create("feature", "pm", project.feature).add(
        [{"id": "new", "role": "user", "content": "x"}]
    )
    run_git(project.root, "worktree", "remove", "--force", str(lost.worktree))
    for name, expected in ((lost.session.id, ["new"]), (f"{lost.session.id}.1", ["a", "b", "c"])):
        with lost.store.sessions.using(name) as session:
            assert [raw["id"] for raw in session.history()[0]] == expected and session.id == lost.session.id


# --- restoring ----------------------------------------------------------------------------------------------------


def test_it_is_restored_by_the_same_file(lost: Served, other: Path) -> None:
    inode = lost.kept[0].stat().st_ino
    session = lost.store.maker.restore(lost.session.id, OTHER)
    assert session.folder.journal.parent == other / "sessions"
    assert session.folder.journal.stat().st_ino == inode and lost.kept[0].stat().st_nlink == 2
    session.add([{"id": "d", "role": "user", "content": "x"}])
    session.reconcile()
    chat = json.loads(session.folder.document("chat").read_bytes())
    assert [raw["id"] for raw in chat["messages"]] == ["c", "d"]
    assert json.loads(session.folder.document("agent-description").read_bytes())["agentType"] == "pm"
    assert json.loads((other / "feature.json").read_bytes()) == {"id": OTHER, "name": "Pay", "sessionId": session.id}
    assert session.document()["featureId"] == OTHER and session.fields["restored"]["worktree"] == OTHER
    assert lost.store.catalogue.gone() == [] and len(lost.kept) == 1
    assert lost.records("session", path=lost.kept[0])[-1]["set"]["featureId"] == OTHER


def test_it_goes_to_its_own_feature_where_that_is_there_again(lost: Served, project: SampleProject) -> None:
    run_git(project.root, "worktree", "add", "-q", str(lost.worktree), f"feature/{project.feature}")
    (lost.worktree / ".dagent").mkdir()
    (lost.worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": project.feature}))
    session = lost.store.maker.restore(lost.session.id)
    assert [raw["id"] for raw in session.history()[0]] == ["a", "b", "c"]
    assert session.folder.feature.tree.worktree == lost.worktree
    lost.again()
    assert lost.known() == ["c"] and not lost.problems()


def test_without_a_place_it_says_what_to_type(lost: Served) -> None:
    with pytest.raises(NotFound, match="feat-login has no worktree") as caught:
        lost.store.maker.restore(lost.session.id)
    assert caught.value.hint == f"dagentd restore {lost.session.id} --into feat-login"
    assert len(lost.store.catalogue.gone()) == 1


def test_one_that_lives_is_not_replaced(lost: Served, project: SampleProject) -> None:
    run_git(project.root, "worktree", "add", "-q", str(lost.worktree), f"feature/{project.feature}")
    (lost.worktree / ".dagent").mkdir()
    (lost.worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": project.feature}))
    new = lost.store.maker.get_or_create("feature", "pm", project.feature)
    new.add([{"id": "new", "role": "user", "content": "x"}])
    before = new.folder.journal.read_bytes()
    with pytest.raises(Conflict, match="goes on with another journal"):
        lost.store.maker.restore(new.id)
    assert new.folder.journal.read_bytes() == before and len(lost.store.catalogue.gone(new.id)) == 1


def test_nothing_is_restored_that_is_not_gone(served: Served, reader: Store) -> None:
    with pytest.raises(NotFound, match="no session"):
        served.store.maker.restore(served.session.id)
    with pytest.raises(NotAllowed, match="read-only"):
        reader.maker.restore(served.session.id)


def test_a_task_session_is_linked_in_its_task(served: Served, other: Path) -> None:
    task = served.store.maker.get_or_create("task", "dev", served.feature, "task-1", "in_dev")
    task.add([{"id": "t", "role": "user", "content": "x"}])
    run_git(served.project.root, "worktree", "remove", "--force", str(served.worktree))
    served.store.maker.restore(task.id, OTHER)
    linked = json.loads((other / "nodes" / "task-1" / "task.json").read_bytes())
    assert linked["states"]["in_dev"]["sessionIds"] == [task.id] and linked["currentState"] == "in_dev"


def test_what_a_crash_tore_is_cut_when_it_is_restored(lost: Served, other: Path) -> None:
    with lost.kept[0].open("ab") as file:
        file.write(b'{"t": "mess')
    session = lost.store.maker.restore(lost.session.id, OTHER)
    session.add([{"id": "d", "role": "user", "content": "x"}])
    assert [raw["id"] for raw in session.history()[0]] == ["a", "b", "c", "d"]
    assert "torn" in {problem.id for problem in session.problems}


def test_restored_and_removed_again_it_has_all(lost: Served, other: Path) -> None:
    session = lost.store.maker.restore(lost.session.id, OTHER)
    session.add([{"id": "d", "role": "user", "content": "x"}])
    run_git(lost.project.root, "worktree", "remove", "--force", str(other.parent))
    with lost.store.sessions.using(session.id) as found:
        assert [raw["id"] for raw in found.history()[0]] == ["a", "b", "c", "d"] and found.folder.gone


def test_fields_of_another_program_become_no_paths(lost: Served, other: Path) -> None:
    record = {"t": "session", "at": "", "set": {"agentType": "../../x", "taskId": "../y", "taskState": {"z": 1}}}
    with lost.kept[0].open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")
    session = lost.store.maker.restore(lost.session.id, OTHER)
    assert session.read("agent-description") is None and not (other / "nodes").exists()
