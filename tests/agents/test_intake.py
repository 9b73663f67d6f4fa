"""The thread that takes in what agents write, and the process that does it where there is much."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd.agents import bulk, intake
from dagentd.agents.followed import Followed
from dagentd.agents.following import Gained
from dagentd.agents.intake import Intake
from dagentd.agents.notes import Notes
from dagentd.model.project import Project, Registered
from dagentd.settings.tables import Agents
from tests.agents.claude_lines import answer, plumbing, user
from tests.agents.desk import ID, grow, long_ago
from tests.patience import until

CLAUDE = f"claude-{ID}"


class Served:
    def __init__(self, home: Path, root: Path, state: Path) -> None:
        self.folder, self.root, self.state = home / ".claude/projects/-x", root, state
        self.folder.mkdir(parents=True)
        (state / "agents").mkdir(parents=True)
        self.settings = Agents()
        self.registered = [Registered("p1", Project(root, root / ".git"), "")]
        self.followed = Followed(state, lambda: self.settings, lambda: self.registered)
        self.told: list[tuple[str, int]] = []
        self.watched: list[Path] = []
        self.bugs: list[BaseException] = []

    def start(self, *, process: list[str] | None = None) -> Intake:
        self.intake = Intake(
            self.followed.following, self.followed.reading, Notes(self.state / "connect"), announce=self._announce,
            watched=self._watch, tidy=self.followed.tidy, on_bug=self.bugs.append,
            process=(lambda: [*process]) if process else None,
        )  # fmt: skip
        self.intake.start()
        return self.intake

    def _announce(self, gained: Gained, new: int) -> None:
        self.told.append((gained.name, new))

    def _watch(self, folders: list[Path]) -> None:
        self.watched = folders

    def path(self, uuid: str = ID) -> Path:
        return self.folder / f"{uuid}.jsonl"

    def found(self, text: str) -> Callable[[], bool]:
        return lambda: bool(self.followed.sessions.search(text, None, None, 5))


@pytest.fixture
def served(home: Path, repo: Path, tmp_path: Path) -> Iterator[Served]:
    served = Served(home, repo, tmp_path / "state")
    yield served
    served.intake.close()
    served.followed.close()
    assert served.bugs == []


def test_what_a_hook_names_is_looked_at_at_once(served: Served) -> None:
    """Nothing else is heard of it, as where nothing can be watched. One that is not known yet has all looked at."""
    spool = served.state / "connect" / "spool"
    spool.mkdir(parents=True)
    running = served.start()
    until(lambda: spool in served.watched)
    for words in ("about the walrus", "about the okapi"):
        with served.path().open("ab") as transcript:
            transcript.write(user(words, served.root))
        (spool / f"claude-code.{ID}").write_text("Stop\n")
        running.hear([spool / f"claude-code.{ID}"])
        until(served.found(words.split()[-1]))
        assert list(spool.iterdir()) == []
    assert "claude-code" in Notes(served.state / "connect").last()


def test_old_ones_are_taken_in_and_new_lines_as_they_are_heard_of(served: Served) -> None:
    served.path().write_bytes(user("about the walrus", served.root))
    running = served.start()
    until(served.found("walrus"))
    assert served.folder in served.watched and served.folder.parent in served.watched
    grow(served.path(), answer("and the dugong", served.root) + answer("and the manatee", served.root))
    running.hear([served.path()])
    until(served.found("manatee"))
    until(lambda: len(served.told) == 2)
    assert served.told == [(ID, 1), (ID, 3)]


def test_a_new_folder_is_looked_into(served: Served) -> None:
    running = served.start()
    until(lambda: served.watched)
    other = served.folder.parent / "-y"
    other.mkdir()
    (other / f"{ID}.jsonl").write_bytes(user("about the walrus", served.root))
    running.hear([other])
    until(served.found("walrus"))


def test_the_folder_of_all_is_waited_for_where_it_will_be(served: Served) -> None:
    """Else its first line would be heard of only when all is looked at once more."""
    projects = served.folder.parent
    shutil.rmtree(projects)
    running = served.start()
    until(lambda: {projects, projects.parent} <= set(served.watched))
    served.folder.mkdir(parents=True)
    running.hear([projects])
    until(lambda: projects in served.watched and projects.parent not in served.watched)


def test_much_is_taken_in_by_a_process(served: Served) -> None:
    served.path().write_bytes(user("about the walrus", served.root) + plumbing(intake._MUCH))
    other = "22222222-2222-4333-8444-555555555555"
    served.path(other).write_bytes(user("about the dugong", served.root))
    running = served.start(process=intake.command(bulk.arguments(served.state, served.settings, served.registered)))
    until(lambda: served.watched and running.progress is None, "the intake")
    assert served.told == []  # not by the thread
    assert served.found("walrus")() and served.found("dugong")()
    assert served.followed.following.survey().due == []


def test_that_process_runs_behind_everything_else() -> None:
    code = "import os; from dagentd.agents.bulk import *; give_way(); print(os.nice(0), os.sched_getscheduler(0))"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["19", str(getattr(os, "SCHED_IDLE", 0))]


def test_new_lines_are_heard_of_while_a_process_takes_in_much(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of a folder that came meanwhile, before it is known that it came; what is old is the process's."""
    monkeypatch.setattr(intake, "_MUCH", 0)
    served.path().write_bytes(user("about the walrus", served.root))
    long_ago(served.path())
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    running = served.start(process=["cat", str(go_on)])
    until(lambda: served.watched and running.progress is not None)
    other = served.path("22222222-2222-4333-8444-555555555555")
    for words in ("about the dugong", "and the manatee"):
        grow(other, user(words, served.root))
        running.hear([other])
        until(served.found(words.split()[-1]))
    folder = served.folder.parent / "-y"
    folder.mkdir()
    (folder / "33333333-2222-4333-8444-555555555555.jsonl").write_bytes(user("about the okapi", served.root))
    running.hear([folder])
    until(served.found("okapi"))
    assert folder in served.watched and running.progress is not None and not served.found("walrus")()
    go_on.write_bytes(b"")
    until(served.found("walrus"))


def test_a_process_ends_when_other_projects_are_wanted(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it goes on keeping conversations of one that was removed, whose others are deleted just then."""
    monkeypatch.setattr(intake, "_MUCH", 0)
    served.path().write_bytes(user("about the walrus", served.root))
    never = tmp_path / "never"
    os.mkfifo(never)
    process = ["cat", str(never)]
    running = served.start(process=process)
    until(lambda: served.watched and running.progress is not None)
    served.registered.clear()
    process[:] = ["true"]
    running.look_at_all()
    until(lambda: running.progress is None, "the end of the process")
    assert served.followed.sessions.all() == []


def test_what_is_wrong_with_one_is_told_and_holds_up_none(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = served.folder.parent.parent.parent / ".codex/sessions/2026/11/18"
    packed.mkdir(parents=True)
    broken = packed / f"rollout-2026-11-18T10-00-00-{ID}.jsonl.zst"
    broken.write_bytes(b"(\xb5/\xfd nonsense")
    served.path().write_bytes(user("about the walrus", served.root))
    running = served.start()
    until(served.found("walrus"))
    until(running.problems)
    assert [(each.id, each.path) for each in running.problems()] == [("agents-transcript", str(broken))]
    broken.unlink()
    running.look_at_all()
    until(lambda: not running.problems())


def test_where_there_is_no_room_it_parks_and_goes_on(served: Served) -> None:
    served.settings = Agents(max_bytes=10)
    served.path().write_bytes(user("about the walrus", served.root))
    running = served.start()
    until(running.problems)
    assert [each.id for each in running.problems()] == ["agents-parked"]
    served.settings = Agents()
    running.look_at_all()
    until(served.found("walrus"))
    until(lambda: not running.problems())


def test_what_another_version_of_ours_read_is_read_again(served: Served) -> None:
    served.path().write_bytes(user("about the walrus", served.root))
    served.start()
    until(served.found("walrus"))
    served.intake.close()
    with served.followed.known.transaction() as db:
        db.execute("update journals set version = '0.0', facts = '{}'")
    served.start()
    until(lambda: served.followed.sessions.get(CLAUDE)["readBy"] != "0.0")
    until(lambda: served.followed.sessions.listed()[0]["total"] == 1)


def test_what_is_damaged_is_told_and_holds_up_nothing(served: Served) -> None:
    served.path().write_bytes(user("about the elephant", served.root))
    agent = served.followed.following.all_agents[0]
    with served.followed.following.writing(agent) as keep:
        damaged = keep.folder / "99999999-2222-4333-8444-555555555555.jsonl.zst"
        damaged.write_bytes(b"nonsense")
        (keep.folder / "98999999-2222-4333-8444-555555555555.jsonl").mkdir()
    served.start()
    until(served.found("elephant"))
    until(served.intake.problems)
    (problem,) = served.intake.problems()
    assert problem.path == str(damaged) and "cannot be unpacked" in problem.message
    assert served.bugs == []


@pytest.mark.parametrize("damaged", [b"{", b"[]", b"\xff", b'{"codex": 1}'])
def test_what_is_damaged_of_the_times_of_hooks_costs_nobody_a_hook(tmp_path: Path, damaged: bytes) -> None:
    notes = Notes(tmp_path)
    notes.spool.mkdir()
    (notes.spool / f"claude-code.{ID}").touch()
    (tmp_path / "arrived.json").write_bytes(damaged)
    assert list(notes.last()) == ["claude-code"]
    assert [note.uuid for note in notes.take()] == [ID]
    assert list(Notes(tmp_path).last()) == ["claude-code"]
