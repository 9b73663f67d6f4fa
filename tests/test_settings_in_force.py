"""Settings that change while they are in force."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dagentd.adapters.files import marks
from dagentd.errors import InvalidInput
from dagentd.settings.current import CurrentSettings

SMALL, LARGE, WRONG = "[budget]\nlimit = 5000\n", "[budget]\nlimit = 9000\n", "[budget]\nlimit = 'much'\n"


class Files:
    """The user's settings and those of one project; nothing is written in the same moment as something else."""

    def __init__(self, folder: Path) -> None:
        self.user, self.root = folder / "config.toml", folder / "project"
        self.project = self.root / ".dagent" / "config.toml"
        self.project.parent.mkdir(parents=True)

    def current(self) -> CurrentSettings:
        return CurrentSettings(self.user, lambda root: root / ".dagent" / "config.toml", lambda: "now")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_whoever_asks_has_what_the_files_say_now(files: Files) -> None:
    current = files.current()
    assert (current.user.budget.limit, current.of(files.root).budget.limit) == (100_000, 100_000)
    files.user.write_text(SMALL)
    assert (current.user.budget.limit, current.of(files.root).budget.limit) == (5000, 5000)
    files.project.write_text(LARGE)
    assert (current.user.budget.limit, current.of(files.root).budget.limit) == (5000, 9000)
    files.project.unlink()
    assert current.of(files.root).budget.limit == 5000


def test_a_second_write_in_the_same_moment_and_of_the_same_length_counts(files: Files) -> None:
    current = files.current()
    for text, limit in ((SMALL, 5000), (LARGE, 9000), (SMALL, 5000)):
        files.user.write_text(text)
        assert current.user.budget.limit == limit


def test_what_did_not_change_is_read_once(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.user.write_text(SMALL)
    current, later = files.current(), time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert current.user is current.user


def test_a_mistake_keeps_what_was_there_and_shows_until_it_is_mended(files: Files) -> None:
    files.user.write_text(SMALL)
    current = files.current()
    assert current.of(files.root).budget.limit == 5000 and not current.problems()
    files.user.write_text(WRONG)
    assert (current.user.budget.limit, current.of(files.root).budget.limit) == (5000, 5000)
    (problem,) = current.problems()
    assert (problem.id, problem.path) == ("settings", str(files.user)) and "budget.limit" in problem.message
    assert str(files.user) not in problem.message  # it stands before it
    files.user.write_text(LARGE)
    assert (current.user.budget.limit, current.of(files.root).budget.limit, current.problems()) == (9000, 9000, [])


def test_a_mistake_of_a_project_is_its_own(files: Files) -> None:
    current = files.current()
    current.of(files.root)
    files.project.write_text(WRONG)
    assert current.of(files.root).budget.limit == current.user.budget.limit == 100_000
    (problem,) = current.problems()
    assert (problem.id, problem.path) == ("project-settings", str(files.project))


def test_with_mistakes_there_is_nothing_to_begin_with(files: Files) -> None:
    files.user.write_text(WRONG)
    with pytest.raises(InvalidInput):
        files.current()


def test_a_look_tells_whose_settings_changed(files: Files) -> None:
    current = files.current()
    current.of(files.root)
    assert current.look([files.root]) == set() and current.read_at is None
    files.project.write_text(LARGE)
    assert current.look([files.root]) == {files.root} and current.read_at == "now"
    files.user.write_text(SMALL)
    assert current.look([files.root]) == {None}
    assert current.look([]) == set() and current.look([files.root]) == set()


def test_what_counts_from_the_next_start_on_is_named(files: Files) -> None:
    current = files.current()
    current.of(files.root)
    files.user.write_text(SMALL)
    assert current.wait_for_restart() == []
    files.user.write_text("[watch]\nmode = 'poll'\n")
    files.project.write_text("[watch]\nenabled = false\n")
    assert current.wait_for_restart() == ["watch.enabled", "watch.mode"]


def test_a_project_that_is_asked_for_during_a_look_does_no_harm(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a job of a project that was removed just now does it, in another thread."""
    other, seen, asked = files.root.parent / "other", marks.seen, list[Path]()

    def asks(path: Path, *, follow: bool = False) -> tuple[int, ...]:
        if path == files.project and not asked:
            asked.append(path)
            current.of(other)
        return seen(path, follow=follow)

    current = files.current()
    current.of(files.root)
    monkeypatch.setattr(marks, "seen", asks)
    assert current.look([files.root]) == set() and asked
    assert current.of(other).budget.limit == 100_000
