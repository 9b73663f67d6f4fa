"""What hooks leave is taken once and whole, whatever else lies in the spool."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import threading
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.errors import NotAllowed
from dagentd.model.project import Project
from dagentd.store import spool as module
from dagentd.store.spool import Note, Spool
from tests.conftest import SampleProject, git


@pytest.fixture
def spool(project: SampleProject) -> Spool:
    made = Spool(Project(project.root, project.root / ".git"))
    made.make()
    made.make()
    return made


@pytest.fixture
def folder(project: SampleProject) -> Path:
    return project.root / ".git" / "dagentd" / "spool"


def test_names_say_what_happened_and_where(spool: Spool, folder: Path, project: SampleProject) -> None:
    (folder / "post-commit").write_text("post-commit\n")
    (folder / f"post-checkout.{project.feature}").write_text("x")
    (folder / "post-merge.gone").write_text("x")
    (folder / "post-rewrite.gone").write_text("")
    taken = spool.take()
    assert sorted(taken, key=lambda note: note.event) == [
        Note("post-checkout", project.worktree),
        Note("post-commit", project.root),
        Note("post-merge", None),
    ]
    assert spool.take() == []
    left = {path.name: path.read_text() for path in folder.iterdir()}
    assert left == {"post-commit": "", f"post-checkout.{project.feature}": ""}, "empty, and only of worktrees there are"
    (folder / "post-commit").write_text("x")
    assert spool.take() == [Note("post-commit", project.root)]


def test_without_a_folder_there_is_nothing_to_take(project: SampleProject) -> None:
    spool = Spool(Project(project.root, project.root / ".git"))
    assert spool.take() == []
    spool.remove()


def test_a_worktree_that_was_moved_is_known_by_its_new_place(
    spool: Spool, folder: Path, project: SampleProject, tmp_path: Path
) -> None:
    (folder / f"post-commit.{project.feature}").write_text("x")
    git(project.root, "worktree", "move", str(project.worktree), str(tmp_path / "moved\nhere"))
    assert spool.take() == [Note("post-commit", tmp_path / "moved\nhere")]


def test_a_note_need_not_be_a_plain_file(spool: Spool, folder: Path, project: SampleProject, tmp_path: Path) -> None:
    """Nothing is waited for, and nothing a link leads to is touched."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    os.mkfifo(folder / "post-commit")
    (folder / "post-checkout").symlink_to(secret)
    (folder / "post-merge").mkdir()
    with open(folder / "post-rewrite", "wb") as huge:
        huge.truncate(1 << 40)
    assert {note.event for note in spool.take()} == {"post-commit", "post-checkout", "post-rewrite"}
    assert sorted(os.listdir(folder)) == ["post-merge", "post-rewrite"]
    assert (folder / "post-rewrite").stat().st_size == 0
    assert secret.read_text() == "x"


def test_foreign_files_are_removed_with_one_line(spool: Spool, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(50):
        (folder / f"rubbish-{number}").write_text("")
    (folder / "..data").write_text("")
    (folder / "post-commit-msg").write_text("")
    (folder / "folder").mkdir()
    with caplog.at_level(logging.WARNING):
        assert spool.take() == []
        assert spool.take() == []
    assert os.listdir(folder) == ["folder"]
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "cannot be removed: Is a directory",
        "removed 52 files that no hook of ours wrote",
    ]


def test_of_too_many_a_bounded_number_is_taken_at_a_time(
    spool: Spool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 20)
    for number in range(30):
        (folder / f"rubbish-{number}").write_text("")
    assert spool.take() == [Note("overflow", None)]
    assert len(os.listdir(folder)) == 10
    assert spool.take() == []


def test_no_change_is_missed_by_whoever_looks_after_taking(spool: Spool, folder: Path, tmp_path: Path) -> None:
    """A writer changes something and then leaves word, as a hook does, as fast as it can. Who takes word and then
    looks sees the last change in the end."""
    state, rounds = tmp_path / "state", 300
    state.write_text("0")
    change, word = 'echo $n >"$1/new"; mv "$1/new" "$1/state"', '[ -s "$0" ] || echo x >>"$0"'
    script = f'n=0; while [ $n -lt "$2" ]; do n=$((n+1)); {change}; {word}; done'
    command = ["sh", "-c", script, str(folder / "post-commit"), str(tmp_path), str(rounds)]
    done = threading.Event()
    seen = []

    def look() -> None:
        ended = False
        while not ended:
            ended = done.is_set()  # what was left before this is there now
            if spool.take():
                seen.append(int(state.read_text()))

    reader = threading.Thread(target=look)
    reader.start()
    subprocess.run(command, check=True)
    done.set()
    reader.join()
    assert seen[-1] == rounds


def test_word_that_cannot_be_emptied_takes_none_of_the_others_with_it(
    spool: Spool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first was emptied, and lost with the error of the second."""
    for event in ("post-checkout", "post-commit"):
        (folder / event).write_text("x")
    cuts = []

    def step(what: str, path: str | Path) -> None:
        cuts.append(what)
        if len(cuts) == 2:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(disk, "step", step)
        assert {note.event for note in spool.take()} == {"post-checkout", "post-commit"}
    assert len(spool.take()) == 1, "it is found once more"
    assert spool.take() == []


def test_removing_takes_all_but_what_we_did_not_put_there(spool: Spool, folder: Path) -> None:
    (folder / "post-commit").write_text("")
    (folder / "probe.post-commit").write_text("")
    (folder / "folder").mkdir()
    spool.remove()
    assert os.listdir(folder) == ["folder"]
    (folder / "folder").rmdir()
    spool.remove()
    assert not folder.exists()


def test_a_probe_is_left_for_who_sent_it_and_a_ping_is_taken_silently(
    spool: Spool, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "probe.post-commit").write_text("token\n")
    (folder / "probe.post-commit.name").write_text("other\n")
    spool.ping()
    spool.ping()
    assert spool.ping_is_there()
    assert spool.take() == []
    assert not spool.ping_is_there()
    assert not spool.withdraw_ping()
    assert spool.arrived("post-commit", "", "token")
    assert not spool.arrived("post-commit", "", "token")
    assert not spool.arrived("post-commit", "name", "token")
    spool.expect("post-commit", "name")
    assert os.listdir(folder) == []
    assert caplog.records == []


def test_behind_a_link_nothing_is_taken_and_nothing_removed(
    spool: Spool, folder: Path, project: SampleProject, tmp_path: Path
) -> None:
    """All that is in the spool and not ours is removed: behind a link these were a user's files."""
    (tmp_path / "letters").mkdir()
    for name in ("letter", "post-commit"):
        (tmp_path / "letters" / name).write_text("Dear")
    folder.rmdir()
    folder.symlink_to(tmp_path / "letters")
    assert spool.take() == []
    spool.remove()
    with pytest.raises(NotAllowed, match="is a link"):
        spool.make()
    assert [path.read_text() for path in sorted((tmp_path / "letters").iterdir())] == ["Dear", "Dear"]


def test_a_file_that_has_another_name_too_is_not_emptied(spool: Spool, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear")
    os.link(tmp_path / "letter", folder / "post-commit")
    assert [note.event for note in spool.take()] == ["post-commit"]
    assert (tmp_path / "letter").read_text() == "Dear" and not (folder / "post-commit").exists()
