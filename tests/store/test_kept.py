"""Kept journals: a session outlives its worktree, and a journal its deletion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.errors import DagentdError, NotFound
from dagentd.store.documents import document_writer
from dagentd.store.journal.index import Index
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.conftest import git as run_git
from tests.patience import patience
from tests.store.served import Served

ROUNDS = int(os.environ.get("REMOVALS", "6"))  # with temp files beside the documents, 3 to 6 of 100 failed
Wait = Callable[[float], None]


def test_a_new_journal_is_kept_from_its_first_moment(served: Served) -> None:
    (kept,) = served.kept
    assert kept.name == f"{served.session.id}.1.jsonl" and os.path.samefile(kept, served.journal)
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700


def test_another_file_takes_the_next_number_and_none_is_replaced(served: Served) -> None:
    served.add("a")
    first = served.kept[0].read_bytes()
    served.close()
    copy = served.journal.with_suffix(".copy")
    shutil.copy(served.journal, copy)
    copy.replace(served.journal)
    served.open()
    served.add("b")
    old, new = served.kept
    assert old.read_bytes() == first and os.path.samefile(new, served.journal)
    served.again()
    assert len(served.kept) == 2


@pytest.fixture
def documents_follow_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents are written all the time, which is when git is disturbed the most."""
    monkeypatch.setattr(document_writer, "_APART", 0.0)


@pytest.mark.usefixtures("documents_follow_at_once")
def test_appends_that_were_answered_outlive_the_worktree(project: SampleProject, wait: Wait) -> None:
    """`git worktree remove --force` while several threads append: putting the journal back made git fail, and so did
    temp files of the documents beside them."""
    for turn in range(ROUNDS):
        worktree = project.root / ".dagent-worktrees" / f"turn-{turn}"
        run_git(project.root, "worktree", "add", "-q", "--detach", str(worktree))
        (worktree / ".dagent" / "sessions").mkdir(parents=True)
        served = Served(worktree, worktree.name, None)
        served.add("written")
        callers = Callers(served, 3)
        callers.wait_for(20 + 10 * (turn % 6))
        removed = subprocess.run(
            ["git", "worktree", "remove", "--force", str(worktree)], cwd=project.root, capture_output=True, text=True
        )
        errors = callers.end(removed.returncode == 0)
        assert removed.returncode == 0, removed.stderr
        wait(2e9)
        served.close()
        assert not worktree.exists()
        assert len(errors) == 3 and all(isinstance(error, NotFound) for error in errors), errors
        assert all("dagentd sessions --gone" in error.hint for error in errors)
        (kept,) = served.kept
        written = served.written(kept)
        assert len(written) == len(set(written)) and set(callers.answered) <= set(written)


def test_a_journal_is_not_put_back_while_its_folder_is_being_removed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git removes the files one by one, and has come to the journal: the others go while we wait and see."""
    served.add("a")
    served.journal.unlink()
    monkeypatch.setattr(time, "sleep", lambda _: shutil.rmtree(served.folder.path, ignore_errors=True))
    with pytest.raises(NotFound):
        served.session.add([{"role": "user", "content": "x"}])
    monkeypatch.undo()
    assert not served.folder.path.exists()


class Callers:
    """Threads that add messages until they are refused."""

    def __init__(self, served: Served, number: int) -> None:
        self.answered: list[str] = []
        self._served, self._errors, self._stop = served, list[DagentdError](), threading.Event()
        self._threads = [threading.Thread(target=self._add) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def _add(self) -> None:
        try:
            while not self._stop.is_set():
                (one,) = self._served.session.add([{"role": "user", "content": "x" * 200}])
                self.answered.append(one["id"])
        except DagentdError as error:
            self._errors.append(error)

    def wait_for(self, number: int) -> None:
        while len(self.answered) < number and any(thread.is_alive() for thread in self._threads):
            threading.Event().wait(0.001)

    def end(self, by_themselves: bool) -> list[DagentdError]:
        if not by_themselves:
            self._stop.set()
        for thread in self._threads:
            thread.join(patience())
        return self._errors


def test_after_its_worktree_is_gone_a_session_takes_no_message(served: Served) -> None:
    served.add("a")
    run_git(served.project.root, "worktree", "remove", "--force", str(served.worktree))
    with pytest.raises(NotFound, match="no longer on disk"):
        served.session.add([{"role": "user", "content": "x"}])
    with served.store.sessions.using(served.session.id) as lost, pytest.raises(NotFound, match="can only be read"):
        lost.add([{"role": "user", "content": "x"}])
    served.session.reconcile()
    served.store.reconciler.reconcile()
    served.close()
    assert not served.worktree.exists() and served.written(served.kept[0])[0] == "a"


@pytest.mark.usefixtures("documents_follow_at_once")
def test_the_folder_does_not_come_back_though_nothing_is_appended(served: Served, wait: Wait) -> None:
    served.add("written")
    served.session.add([{"role": "user", "content": "x"}])
    subprocess.run(["rm", "-rf", str(served.worktree)], check=True)
    served.session.reconcile()
    wait(2e9)
    served.close()
    assert not served.worktree.exists()


def test_a_worktree_that_comes_back_is_served_again(project: SampleProject, served: Served) -> None:
    served.add("a")
    run_git(project.root, "worktree", "remove", "--force", str(served.worktree))
    with pytest.raises(NotFound):
        served.session.add([{"role": "user", "content": "x"}])
    run_git(project.root, "worktree", "add", "-q", str(served.worktree), f"feature/{project.feature}")
    (served.worktree / ".dagent").mkdir()
    (served.worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": project.feature}))
    session = served.store.maker.get_or_create("feature", "pm", project.feature)
    session.add([{"id": "new", "role": "user", "content": "x"}])
    session.reconcile()
    assert served.shown() == ["new"] and len(served.kept) == 2
    assert served.written(served.kept[0])[0] == "a"


# --- copies of a project ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["-r", "-a"])
def test_both_copies_of_a_project_work(repo: Path, tmp_path: Path, how: str) -> None:
    (repo / ".dagent").mkdir()
    (repo / ".dagent" / "feature.json").write_text('{"id": "f1"}')
    served = Served(repo, "f1", tmp_path / "index.sqlite")
    served.add("a", "b")
    served.close()
    copied = tmp_path / "copy"
    subprocess.run(["cp", how, str(repo), str(copied)], check=True)
    copy = Served(copied, "f1", tmp_path / "index.sqlite")  # one daemon, one index
    copy.add("in-copy")
    served.open()
    served.add("in-first")
    assert served.shown() == ["a", "b", "in-first"] and copy.shown() == ["a", "b", "in-copy"]
    for each in (served, copy):
        live = each.journal.read_bytes()
        for kept in each.kept:  # none counts as gone: linked, or a prefix of the live one
            assert kept.stat().st_nlink > 1 or live.startswith(kept.read_bytes())
        assert not each.problems()
        each.again()
        assert len(each.written()) == 3
    copy.close()
    served.close()


def test_a_copied_worktree_is_another_place_of_the_same_session(served: Served, project: SampleProject) -> None:
    served.add("a")
    served.close()
    other = project.root / ".dagent-worktrees" / "copy"
    shutil.copytree(served.worktree / ".dagent", other / ".dagent")
    served.open()
    copy = served.store.session(served.session.id, worktree="copy")
    copy.add([{"id": "c", "role": "user", "content": "x"}])
    served.add("b")
    assert served.known() == ["a", "b"] and [one["id"] for one in copy.chat()] == ["a", "c"]
    assert len(served.kept) == 2


# --- two files, where a link cannot be ----------------------------------------------------------------------------


def test_where_the_git_folder_is_on_another_file_system_each_append_goes_to_both(apart: Served) -> None:
    apart.add("a")
    (kept,) = apart.kept
    assert not os.path.samefile(kept, apart.journal) and kept.read_bytes() == apart.journal.read_bytes()
    assert "kept-by-copy" in apart.problems()
    apart.again()
    apart.add("b")
    assert [kept] == apart.kept and kept.read_bytes() == apart.journal.read_bytes()
    apart.close()
    shutil.rmtree(apart.worktree / ".dagent")
    assert apart.written(kept) == ["a", "b"]


def test_a_second_file_that_fell_behind_is_brought_up(apart: Served) -> None:
    apart.add("a")
    apart.close()
    whole = apart.kept[0].read_bytes()
    apart.kept[0].write_bytes(whole[: len(whole) // 2])
    apart.open()
    apart.add("b")
    assert [each.read_bytes() for each in apart.kept] == [apart.journal.read_bytes()]


def test_a_second_file_has_what_somebody_else_appended_too(apart: Served) -> None:
    with apart.journal.open("ab") as file:
        file.write(b'{"half":')
    apart.session.add([{"id": one, "role": "user", "content": "x"} for one in ("call", "result")])
    assert [each.read_bytes() for each in apart.kept] == [apart.journal.read_bytes()]
    apart.again()
    assert apart.all() == ["call", "result"] and len(apart.kept) == 1


def test_the_main_checkout_is_found_from_a_worktree_of_a_repository_with_a_separate_git_folder(tmp_path: Path) -> None:
    root, far = tmp_path / "repo", tmp_path / "far.git"
    run_git(tmp_path, "init", "-q", "--separate-git-dir", str(far), str(root))
    run_git(root, "commit", "-q", "--allow-empty", "-m", "Start")
    run_git(root, "worktree", "add", "-q", "--detach", ".dagent-worktrees/f1")
    for path in (root, root / ".dagent-worktrees" / "f1"):
        project = git.project_at(path)
        assert (project.root, project.common_dir) == (root, far)


def test_a_store_of_nothing(repo: Path) -> None:
    store = Store(git.project_at(repo), Index(None))
    assert store.catalogue.folders() == [] and store.reconciler.reconcile() == []
    with pytest.raises(NotFound):
        store.maker.get_or_create("feature", "pm", "f1")
    store.close()


def test_what_lies_behind_a_link_was_not_kept(served: Served, tmp_path: Path) -> None:
    """Whoever can write in git's folder could have sessions of elsewhere shown as gone, or journals made there."""
    served.close()
    served.project.kept_dir.rename(tmp_path / "elsewhere")
    served.project.kept_dir.symlink_to(tmp_path / "elsewhere")
    assert KeptJournals(served.project).all() == {} and KeptJournals(served.project).of(served.session.id) == []
    with pytest.raises(DagentdError, match="is a link"):
        served.again()


def test_something_else_in_the_place_of_the_folder_is_told_in_words(served: Served) -> None:
    served.close()
    shutil.rmtree(served.project.kept_dir)
    served.project.kept_dir.write_text("mine")
    with pytest.raises(DagentdError, match="a part of the path is not a folder"):
        KeptJournals(served.project).all()


@pytest.mark.parametrize("open_session", [True, False], ids=["open", "closed"])
def test_a_kept_journal_that_was_removed_is_kept_again(served: Served, open_session: bool) -> None:
    """By hand, with all of our folder in git's; nothing said so, and with the worktree the session was lost."""
    served.add("a")
    served.store.reconciler.reconcile()
    if not open_session:
        served.again()
        served.store.reconciler.reconcile()
    shutil.rmtree(served.project.kept_dir)
    for feature in served.store.catalogue.features():
        list(served.store.reconciler.in_turn(feature, everything=False))
    (kept,) = served.kept
    assert os.path.samefile(kept, served.journal)
    shutil.rmtree(served.worktree)
    assert [gone.id for gone in served.store.catalogue.gone()] == [served.session.id]


def test_a_second_file_that_was_removed_is_made_again(apart: Served) -> None:
    apart.add("a")
    apart.kept[0].unlink()
    apart.flush()
    apart.add("b")
    assert apart.kept[0].read_bytes() == apart.journal.read_bytes()
