"""Memory: only a user decides, what is withdrawn is told to nobody, and nothing that was said is written over."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.errors import InvalidInput, LimitReached, NotAllowed, NotFound
from dagentd.model.project import Project
from dagentd.store.memory import LONGEST, MOST_NOTES, Memory
from tests.conftest import SampleProject

HERE, THERE = "/w/here", "/w/there"


@pytest.fixture
def where(project: SampleProject) -> Project:
    found = git.project_at(project.root)
    found.own_dir.mkdir()
    return found


def told(memory: Memory, features: list[str], worktree: str) -> list[str]:
    return [entry.text for entry in memory.told(features, worktree)]


def test_a_decision_is_for_its_feature_its_worktree_or_the_project(where: Project) -> None:
    memory = Memory(where)
    memory.add("of the feature", "user", feature_id="login", worktree=HERE)
    memory.add("of the worktree", "user", worktree=HERE)
    memory.add("of the project", "user")
    read = Memory(where)
    assert told(read, ["login"], HERE) == ["of the feature", "of the worktree", "of the project"]
    assert told(read, ["login"], THERE) == ["of the feature", "of the project"]
    assert told(read, ["search"], THERE) == ["of the project"]
    assert [entry.decides for entry in read.entries()] == [True, True, True]


def test_a_note_is_for_its_own_worktree_and_decides_nothing_until_it_is_confirmed(where: Project) -> None:
    memory = Memory(where)
    note = memory.add("the tests need redis", "agent", feature_id="login", worktree=HERE, session_id="claude-1")
    assert told(memory, ["login"], THERE) == [] and told(memory, [], HERE) == ["the tests need redis"]
    assert not note.decides
    confirmed = memory.confirm(note.id)
    [only] = Memory(where).told(["login"], THERE)
    assert only == confirmed and only.decides and only.confirms == note.id and only.session_id == "claude-1"
    with pytest.raises(InvalidInput):
        memory.confirm(confirmed.id)
    with pytest.raises(NotFound):
        memory.confirm(note.id)
    with pytest.raises(NotAllowed):
        memory.add("for all", "agent")


def test_an_agent_can_withdraw_notes_alone(where: Project) -> None:
    memory = Memory(where)
    decision, note = memory.add("decided", "user"), memory.add("noted", "agent", worktree=HERE)
    with pytest.raises(NotAllowed):
        memory.withdraw(decision.id, "agent")
    memory.withdraw(note.id, "agent")
    assert told(Memory(where), [], HERE) == ["decided"]
    memory.withdraw(decision.id, "user")
    assert Memory(where).entries() == []
    with pytest.raises(NotFound):
        memory.withdraw(decision.id, "user")


def test_the_file_is_only_added_to(where: Project) -> None:
    memory = Memory(where)
    first = memory.add("one", "user")
    before = where.memory_file.read_bytes()
    memory.add("two", "user")
    memory.withdraw(first.id, "user")
    now = where.memory_file.read_bytes()
    assert now.startswith(before) and now.count(b"\n") == 3
    assert where.memory_file.stat().st_mode & 0o777 == 0o600
    record = json.loads(before.splitlines()[0])
    assert record == {"id": first.id, "at": first.at, "by": "user", "text": "one"}


def test_notes_and_texts_have_their_limits(where: Project) -> None:
    memory = Memory(where)
    for number in range(MOST_NOTES):
        memory.add(f"note {number}", "agent", worktree=HERE)
    with pytest.raises(LimitReached):
        memory.add("one more", "agent", worktree=HERE)
    memory.add("in another worktree", "agent", worktree=THERE)
    memory.add("a decision", "user")
    for bad in ("", " \n\t", "x" * (LONGEST + 1), "half \ud83d"):
        with pytest.raises(InvalidInput):
            memory.add(bad, "user")
    assert memory.add("  two\n lines ", "user").text == "two lines"


@pytest.mark.parametrize("damage", [b"{", b"[]\n", b'{"id": 7, "by": "user"}\n', b"\x00\x00\n", b'{"by": "god"}\n'])
def test_a_line_that_makes_no_sense_is_told_and_costs_nothing_else(damage: bytes, where: Project) -> None:
    Memory(where).add("before", "user")
    with where.memory_file.open("ab") as file:
        file.write(damage)
    memory = Memory(where)
    [problem] = memory.problems()
    assert "line 2" in problem.message and problem.path == str(where.memory_file)
    memory.add("after", "user")
    assert told(Memory(where), [], HERE) == ["before", "after"]


def test_what_cannot_be_read_is_an_error_and_not_empty(where: Project) -> None:
    where.memory_file.mkdir()
    with pytest.raises(NotAllowed):
        Memory(where).entries()
    assert [problem.id for problem in Memory(where).problems()] == ["memory"]


def test_what_could_not_be_reached_is_there_again_afterwards(where: Project) -> None:
    """A folder that is back has the file just as it was: of that nothing was read anew, and all was forgotten."""
    memory = Memory(where)
    memory.add("Keep it small.", "user")
    held = memory.entries()
    away = where.own_dir.rename(where.own_dir.with_name("away"))
    where.own_dir.touch()
    with pytest.raises(NotAllowed):
        memory.entries()
    where.own_dir.unlink()
    away.rename(where.own_dir)
    assert memory.entries() == held != []


def test_a_link_in_its_place_is_not_followed(where: Project, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    where.memory_file.symlink_to(tmp_path / "mine")
    with pytest.raises(NotAllowed):
        Memory(where).add("one", "user")
    assert (tmp_path / "mine").read_text() == ""


def test_who_only_reads_writes_nothing(where: Project) -> None:
    with pytest.raises(NotAllowed):
        Memory(where, read_only=True).add("one", "user")
    assert not where.memory_file.exists()


def test_all_who_note_at_once_are_heard(where: Project) -> None:
    memory, texts = Memory(where), [f"note {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: memory.add(text, "agent", worktree=HERE), texts))
    assert sorted(told(Memory(where), [], HERE)) == sorted(texts)


@pytest.mark.parametrize("put", [os.link, os.symlink], ids=["hard link", "link"])
def test_what_has_another_name_gets_nothing_added(where: Project, tmp_path: Path, put: Callable[..., None]) -> None:
    """Whoever can write in the repository would have it added to any file of the user."""
    victim = tmp_path / "victim"
    victim.write_text("theirs\n")
    put(victim, where.memory_file)
    with pytest.raises(NotAllowed):
        Memory(where).add("mine", "user")
    assert victim.read_text() == "theirs\n"


def test_a_pipe_in_its_place_holds_nobody_up(where: Project) -> None:
    os.mkfifo(where.memory_file)
    memory = Memory(where)
    with pytest.raises(NotAllowed):
        memory.add("mine", "user")
    [problem] = memory.problems()
    assert "not a regular file" in problem.message
