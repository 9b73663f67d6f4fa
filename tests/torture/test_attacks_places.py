"""Somebody who can write in a repository puts something else in the place of each file and folder that dagentd uses
there: links to files of the user, links that dangle, pipes, devices, hard links. Nothing outside is changed or read,
and nothing waits."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture.hostile import DEV, PM, Hostile
from tests.torture.hostile import hostile as hostile

DOCUMENTS = [f"F/sessions/{name}_{PM}.json" for name in (
    "session", "chat", "checkpoint", "context", "agent-description", "memory",
)]  # fmt: skip
PLACES = [
    *DOCUMENTS,
    f"F/sessions/history_{PM}.jsonl", f"F/sessions/history_{DEV}.jsonl", f"F/sessions/chat_{PM}.json.backup",
    f"F/sessions/chat_{PM}.json.corrupt.1", f"F/sessions/history_{PM}.jsonl.torn.1",
    f"F/sessions/.chat_{PM}.json.7-1.dagentd-tmp", "F/sessions/other.json", "F/sessions/uuid-1",
    "F/feature.json", "F/dag.json", "F/spec.md", "F/feature-spec.md", "F/chat.json", "F/chat.json.backup",
    "F/attachments", "F/attachments/a.txt", "F/nodes", "F/nodes/task-1", "F/nodes/task-1/task.json",
    "F/nodes/task-1/plan.json", "F/nodes/task-1/session.json", "F/nodes/task-1/chat.json", "F/nodes/task-1/sessions",
    "F/sessions", "F/features", "F/features/x", "R/.dagent", "R/.dagent/config.toml", "R/.dagent/agents",
    "R/.dagent/agents/pm.json", "W/.dagent", "R/.dagent-worktrees", "R/.dagent-worktrees/other",
    "W/CLAUDE.md", "W/CLAUDE.local.md", "W/.claude", "W/AGENTS.md", "W/PROJECT.md", "W/.gitignore",
    "G/dagentd", "G/dagentd/lock", "G/dagentd/lock.wanted", "G/dagentd/kept", "G/dagentd/temp", "G/dagentd/spool",
    "G/dagentd/spool/post-commit", "G/dagentd/spool/probe.post-commit", "G/dagentd/spool/letter", "G/dagentd/id",
    "G/dagentd/hook", "G/dagentd/gone.json", "G/dagentd/memory.jsonl",
    f"G/dagentd/kept/{PM}.1.jsonl", f"G/dagentd/kept/{PM}.7.jsonl",
    "G/dagentd/temp/.chat.0123.7-1.dagentd-tmp", "G/hooks", "G/hooks/post-commit", "G/info", "G/info/exclude",
    "G/worktrees/feat-login/gitdir", "R/.agx", "R/.agx/sessions", "R/.agx/sessions/main.json",
    "R/.agx/sessions/.current", "R/.agx/sessions/.lock", "R/.agx/config.json", "R/.agx/backups", "R/.agx/trash",
]  # fmt: skip
# A user may keep these elsewhere and link to them: they are followed, and what is written there is what he is told of.
FOLLOWED = {"G/info/exclude", "G/info"}
# Journals are appended in place, and another name of the same file is how a journal is kept.
APPENDED = {f"F/sessions/history_{PM}.jsonl", f"F/sessions/history_{DEV}.jsonl"}


Put = Callable[[Hostile, Path], None]


def replace(path: Path) -> Path:
    """Nothing is at this path any more, and its folder is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def to_file(hostile: Hostile, path: Path) -> None:
    path.symlink_to(hostile.victim.folder / "secret")


def to_folder(hostile: Hostile, path: Path) -> None:
    path.symlink_to(hostile.victim.folder)


def dangling(hostile: Hostile, path: Path) -> None:
    path.symlink_to(hostile.victim.folder / "new")


def round_and_round(hostile: Hostile, path: Path) -> None:
    path.symlink_to(path)


def pipe(hostile: Hostile, path: Path) -> None:
    os.mkfifo(path)


def device(hostile: Hostile, path: Path) -> None:
    """One that gives zeros without end."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def hard_link(hostile: Hostile, path: Path) -> None:
    os.link(hostile.victim.folder / "secret", path)


KINDS: list[Put] = [to_file, to_folder, dangling, round_and_round, pipe, device, hard_link]


CASES = [(place, put) for place in PLACES for put in KINDS]
# What this has found: each was a way out.
FOUND: list[tuple[str, Put]] = [
    ("G/dagentd/spool", to_folder), ("G/dagentd", to_folder), ("G/dagentd/spool/post-commit", hard_link),
    ("G/dagentd/lock", hard_link), ("F/sessions", to_folder), ("F/nodes", round_and_round),
    ("R/.dagent-worktrees/other", round_and_round), ("G/dagentd/kept", device), ("R/.agx/trash", to_file),
    ("R/.agx/sessions/main.json", hard_link), ("G/dagentd/memory.jsonl", hard_link),
]  # fmt: skip


def name(each: str | Put) -> str:
    return each if isinstance(each, str) else each.__name__.replace("_", " ")


@pytest.mark.turns(2 * len(KINDS))
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("place", "put"), CASES, ids=name)
def test_nothing_outside_is_changed_or_read_and_nothing_waits(hostile: Hostile, place: str, put: Put) -> None:
    put(hostile, replace(hostile.path(place)))
    before = hostile.victim.state()
    hostile.work()
    after = hostile.victim.state()
    if place in FOLLOWED or (place in APPENDED and put is hard_link):
        return
    assert after == before
    if put is not hard_link:
        assert hostile.leaks() == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("place", "put"), FOUND, ids=name)
def test_what_was_a_way_out(hostile: Hostile, place: str, put: Put) -> None:
    test_nothing_outside_is_changed_or_read_and_nothing_waits(hostile, place, put)
