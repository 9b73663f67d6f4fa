"""Files and folders that dagentd uses in a repository change places with links, pipes and files of the user, again and
again, two of them at a time, while it does all that it does there: nothing outside is read or changed, nothing waits,
and nothing ends in a bug."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.errors import expected
from dagentd.jobs import exclude
from tests.conftest import FEATURE
from tests.torture.hostile import CANARY, PM, Hostile, acts
from tests.torture.hostile import hostile as hostile
from tests.torture.seeds import THOROUGH
from tests.torture.test_attacks_places import Put, dangling, name, pipe, round_and_round, to_file, to_folder

SECONDS = float(os.environ.get("RACE_SECONDS", 10 if THOROUGH else 1))


def listening(hostile: Hostile, path: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound, contextlib.chdir(path.parent):
        bound.bind(path.name)


def a_folder(hostile: Hostile, path: Path) -> None:
    shutil.copytree(hostile.victim.folder / "spool", path, symlinks=True)
    (path / "letter").write_text("not of the victim")


def to_worktree(hostile: Hostile, path: Path) -> None:
    """Of another repository, in which all is there that a context is made of."""
    there = hostile.victim.folder / "worktree"
    if not there.exists():
        shutil.copytree(hostile.sample.worktree, there, ignore=shutil.ignore_patterns("sessions"), symlinks=True)
        for text in ("CLAUDE.md", "PROJECT.md", ".claude/CLAUDE.md", f".dagent/features/{FEATURE}/spec.md", "more.md"):
            (there / text).parent.mkdir(parents=True, exist_ok=True)
            (there / text).write_text(CANARY)
        (there / "info").mkdir()  # which is followed, since a user may keep it elsewhere: all of ours is in it already
        (there / "info" / "exclude").write_text("\n".join(exclude.PATTERNS))
    path.symlink_to(there)


def importing(hostile: Hostile, path: Path) -> None:
    """Four imports deep, where the last one is exchanged."""
    top = hostile.sample.worktree
    (top / "docs" / "deep").mkdir(parents=True, exist_ok=True)
    (top / "CLAUDE.md").write_text("@docs/a.md\n")
    for here, there in (("a", "b.md"), ("b", "deep/c.md"), ("deep/c", "../../more.md")):
        (top / "docs" / f"{here}.md").write_text(f"@{there}\n")
    (top / "more.md").write_text("More.\n")
    to_file(hostile, path)


@contextlib.contextmanager
def racing(hostile: Hostile, places: dict[str, Put]) -> Iterator[None]:
    """Each of the places, and what is put beside it, are exchanged at once; where one is not there it is next time. In
    the end each is in its place."""
    ended, pairs = threading.Event(), list[tuple[Path, Path]]()
    for number, (place, put) in enumerate(places.items()):
        path = hostile.path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = hostile.sample.root.parent / f"evil-{os.getpid()}-{number}"
        with contextlib.suppress(OSError):
            beside.unlink()
        shutil.rmtree(beside, ignore_errors=True)
        put(hostile, beside)
        pairs.append((beside, path))

    def race() -> None:
        for beside, path in itertools.cycle(pairs):
            if ended.wait(0.0003):
                return
            with contextlib.suppress(OSError):
                disk._rename2(beside, path, disk._EXCHANGE)

    racer = threading.Thread(target=race)
    racer.start()
    try:
        yield
    finally:
        ended.set()
        racer.join()
        for beside, path in sorted(pairs, key=lambda pair: len(pair[1].parts)):  # what others lie in comes first
            if path.is_symlink():
                disk._rename2(beside, path, disk._EXCHANGE)


def untold(hostile: Hostile) -> dict[str, object]:
    """The victim's files without what git's hooks, which are shell scripts, leave behind a link that came between their
    look and their writing: a note of theirs, and another time of the folder."""
    folders = str(hostile.victim.folder), str(hostile.victim.folder / "spool")
    state = hostile.victim.state()
    return {path: what for path, what in state.items() if "/probe." not in path and path not in folders}


@pytest.mark.turns(4)
@pytest.mark.timeout(120)
@pytest.mark.parametrize("places", [
    {"F/sessions": to_folder, "W/.dagent": round_and_round},
    {f"F/sessions/history_{PM}.jsonl": pipe, f"F/sessions/chat_{PM}.json": to_file},
    {f"F/sessions/history_{PM}.jsonl": to_file, f"F/sessions/session_{PM}.json": listening},
    {"G/dagentd": to_folder, "G/dagentd/kept": to_folder},
    {"G/dagentd/spool": to_folder, "G/dagentd/spool/letter": to_file},
    {"G/dagentd/temp": to_folder, "G/dagentd/lock": pipe},
    {"G/hooks": to_folder},
    {"G/hooks/post-commit": to_file, "G/hooks/post-merge": pipe},
    {"G/dagentd/memory.jsonl": to_file, "G/dagentd/gone.json": pipe},
    {"F/nodes/task-1": to_folder, "F/attachments": to_folder},
    {"F/feature.json": to_file, "F/dag.json": pipe},
    {"R/.agx": to_folder, "R/.agx/sessions": a_folder},
    {"R/.agx/sessions/main.json": to_file, "R/.agx/sessions/.lock": pipe},
    {"R/.dagent-worktrees": to_folder, "W/.claude": to_folder},
    {"W/CLAUDE.md": to_file, "W/.git": to_file},
    {"W/": to_worktree},
    {"W/more.md": importing, "W/docs/deep": to_worktree},
    {"W/more.md": importing, "W/docs": to_worktree},
    {"G/": to_worktree, "W/.git": to_file},
    {"R/.dagent": to_folder, "R/.dagent/config.toml": dangling},
], ids=lambda places: ", ".join(f"{place} {name(put)}" for place, put in places.items()))  # fmt: skip
def test_two_places_change_while_it_works(hostile: Hostile, places: dict[str, Put]) -> None:
    with racing(hostile, places):
        before, end = untold(hostile), time.monotonic() + SECONDS
        while True:
            for act in acts(hostile.project)[:-4]:  # not what takes all away
                try:
                    act()
                except Exception as error:
                    if expected(error) is None:
                        raise
            if time.monotonic() > end:
                break
    assert untold(hostile) == before
    assert hostile.leaks() == []
