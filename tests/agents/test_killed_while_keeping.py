"""Killed at every step of keeping: what the agent's file still has is there after the next start, once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.adapters.files import disk
from tests.agents.desk import ID, TALK, Desk, grow, line, long_ago


class Killed(BaseException):
    """Nothing catches it, and nothing reaches the disk after it."""


@contextmanager
def killing(after: int, *, within: bool = False) -> Iterator[list[int]]:
    """Before the step of that number, or `within` the write that it is. How many there were, if it was not reached."""
    steps, before, write = [0], disk.step, disk.write_some

    def step(what: str, path: str | Path) -> None:
        if Path(path).name in ("lock", "turn"):  # the system lets go of them
            return
        steps[0] += 1
        if steps[0] > after or (steps[0] == after and not (within and what == "write")):
            raise Killed

    def write_some(fd: int, data: bytes | memoryview) -> int:
        if within and steps[0] == after:
            os.write(fd, bytes(data)[: len(data) // 2])
            raise Killed
        return write(fd, data)

    disk.step, disk.write_some = step, write_some  # type: ignore[assignment]
    try:
        yield steps
    finally:
        disk.step, disk.write_some = before, write


def begin(desk: Desk) -> list[bytes]:
    path = desk.path()
    path.write_bytes(line(desk.root, say="one"))
    (path.with_suffix("") / "tool-results").mkdir(parents=True, exist_ok=True)
    (path.with_suffix("") / "tool-results/r").write_bytes(b"result")
    return [path.read_bytes()]


def go_on(desk: Desk) -> list[bytes]:
    first = begin(desk)
    desk.look()
    grow(desk.path(), line(say="two") + b"and half a li")
    return [first[0] + line(say="two") + b"and half a li"]


def rewrite(desk: Desk) -> list[bytes]:
    first = begin(desk)
    desk.look()
    desk.path().write_bytes(line(desk.root, say="otherwise") * 3)
    return [*first, desk.path().read_bytes()]


def seal(desk: Desk) -> list[bytes]:
    first = begin(desk)
    desk.look()
    long_ago(desk.parts()[0].path)
    return first


def unseal(desk: Desk) -> list[bytes]:
    expected = seal(desk)
    desk.following.tidy()
    grow(desk.path(), line(say="again"))
    return [expected[0] + line(say="again")]


@pytest.mark.parametrize("forgetful", [False, True])
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("prepare", [begin, go_on, rewrite, seal, unseal], ids=lambda each: each.__name__)
def test_every_step(
    home: Path, repo: Path, tmp_path: Path, prepare: Callable[[Desk], list[bytes]], within: bool, forgetful: bool
) -> None:
    number, reached = 0, True
    while reached:
        number += 1
        desk = Desk(home, tmp_path / f"ours{number}", repo)
        for path in sorted((home / "talk").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        expected = prepare(desk)
        reached = False
        with killing(number, within=within):
            try:
                desk.look()
                desk.following.tidy()
            except Killed:
                reached = True
        desk.stop()
        desk.start(forgetful=forgetful)
        desk.look()
        desk.following.tidy()
        assert desk.kept() == expected, f"killed at step {number}"
        folder = desk.following.keep(TALK).folder
        assert not [path for path in folder.iterdir() if path.name.endswith(disk.TEMP)]
        assert (desk.following.keep(TALK).files_folder(ID) / "tool-results/r").read_bytes() == b"result"
        assert desk.following.owner(TALK, ID) is not None
        desk.stop()
    assert number > 2


class Story:
    """An agent's file through anything, with what was in it whenever we looked."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.folder = desk, 0
        self.seen: list[bytes] = []
        self.path.write_bytes(line(desk.root))
        desk.look()  # whose it is stands in its first line

    @property
    def path(self) -> Path:
        return self.desk.path(f"f{self.folder}")

    def grow(self, data: bytes) -> None:
        grow(self.path, data)

    def truncate(self, data: bytes) -> None:
        os.truncate(self.path, self.path.stat().st_size * len(data) // 12)

    def replace(self, data: bytes) -> None:
        new = self.path.with_suffix(".new")
        new.write_bytes(line(self.desk.root) + data)
        new.rename(self.path)

    def move(self, _: bytes) -> None:
        before = self.path
        self.folder += 1
        before.rename(self.path)

    def copy(self, data: bytes) -> None:
        held = self.path.read_bytes()
        self.folder += 1
        self.path.write_bytes(held + data)

    def restart(self, data: bytes) -> None:
        self.desk.stop()
        self.desk.start(forgetful=len(data) % 2 == 0)

    def seal(self, _: bytes) -> None:
        for part in self.desk.parts():
            if not part.is_sealed:
                long_ago(part.path)
        self.desk.following.tidy()

    def look(self, data: bytes) -> None:
        """Killed on the way, or not."""
        with killing(2 + len(data), within=len(data) % 2 == 0):
            try:
                self.desk.look()
            except Killed:
                pass
            else:
                self.check()

    def check(self) -> None:
        self.seen.append(self.path.read_bytes())
        kept = self.desk.kept()
        for data in self.seen:
            assert any(part.startswith(data) for part in kept)
        assert all(any(part.startswith(one) for part in self.sources()) or one in kept for one in kept)

    def sources(self) -> list[bytes]:
        return [path.read_bytes() for path in self.desk.home.glob("talk/*/*.jsonl")]


ACTIONS = st.tuples(
    st.sampled_from(["grow", "grow", "grow", "truncate", "replace", "move", "copy", "restart", "seal", "look", "look"]),
    st.binary(max_size=12),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=14))
def test_any_story(actions: list[tuple[str, bytes]], home: Path, repo: Path, tmp_path: Path) -> None:
    for path in sorted([*home.glob("talk/*/*"), *tmp_path.glob("story/agents/*/*")]):
        path.unlink()
    (tmp_path / "story/agents.sqlite3").unlink(missing_ok=True)
    desk = Desk(home, tmp_path / "story", repo)
    story = Story(desk)
    for name, data in actions:
        getattr(story, name)(data)
    desk.look()
    story.check()
    assert desk.look() == 0
    rewritten = sum(name in ("truncate", "replace", "copy") for name, _ in actions)
    assert len(desk.kept()) <= 1 + rewritten, "something is kept twice"
    desk.stop()
