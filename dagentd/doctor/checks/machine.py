"""The machine: the programs dagentd uses, room on its disks, what the file systems can do, the clock."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.claude import command as claude
from dagentd.adapters.git import hooks as git
from dagentd.adapters.watch.coverage import fair_share
from dagentd.adapters.watch.mounts import Mounts
from dagentd.doctor.finding import Findings
from dagentd.errors import DagentdError, LimitReached, NotAllowed
from dagentd.settings.tables import Compaction

_OLDEST_GIT = (2, 25)
_ROOM = 100_000_000  # bytes: a long day of an agent is a tenth of it
_WATCHES = 4096  # 800 worktrees take as many
_AHEAD = 3600.0  # seconds by which clocks of a network may differ, and more
_POOR = ("vfat", "msdos", "exfat", "fuseblk", "ntfs3")  # no hard links, or no exchange of two names


def programs(compaction: Compaction, environment: Mapping[str, str], agx: Sequence[Path]) -> Findings:
    """`agx` are the projects that have AGX sessions."""
    if shutil.which("git") is None:
        yield "git-missing", NotAllowed("there is no git command", hint="Install git, or look at PATH.")
    else:
        yield from old_git(git.version())
    if agx and shutil.which("tmux") is None:
        yield "tmux-missing", NotAllowed("there is no tmux to open AGX sessions in", path=agx[0] / ".agx")
    if compaction.backend == "claude-cli" and claude.program() is None:
        yield "claude-missing", NotAllowed("the claude command is not where dagentd looks for it")
    yield from key(compaction, environment)


def old_git(version: tuple[int, int]) -> Findings:
    if version < _OLDEST_GIT:
        told = f"git is {version[0]}.{version[1]}; dagentd was tried with {_OLDEST_GIT[0]}.{_OLDEST_GIT[1]} and later"
        yield "git-old", NotAllowed(told)


def key(compaction: Compaction, environment: Mapping[str, str]) -> Findings:
    """A daemon that runs may have been given one; it says itself when the model refuses."""
    given = ("DAGENTD_API_KEY", "ANTHROPIC_API_KEY")
    wanted = compaction.backend == "anthropic" and not compaction.api_key_command
    if wanted and not any(environment.get(name) for name in given):
        yield "no-key", NotAllowed("compaction is to ask Anthropic's models, and there is no key for it here")


def room(places: Iterable[Path]) -> Findings:
    """Once for each file system."""
    seen: set[int] = set()
    for place in filter(os.path.isdir, places):
        found, device = os.statvfs(place), os.stat(place).st_dev
        if device not in seen:
            seen.add(device)
            files_left = found.f_favail if found.f_files else None  # btrfs counts none
            yield from little_room(place, found.f_bavail * found.f_frsize, files_left)


def little_room(place: Path, free: int, files_left: int | None) -> Findings:
    if free < _ROOM:
        yield "disk-full", LimitReached(f"its disk has {free / 1e6:.1f} MB left", path=place)
    elif files_left == 0:
        yield "disk-full", LimitReached("its disk can hold no more files", path=place)


def watches() -> Findings:
    yield from few_watches(fair_share())


def few_watches(share: int) -> Findings:
    if share < _WATCHES:
        told = f"dagentd may take {share} inotify watches, half of what your user has; the rest is polled"
        yield "inotify-limit", LimitReached(told)


def file_systems(places: Iterable[Path]) -> Findings:
    mounts = Mounts.now()
    for place in places:
        yield from weak_file_system(place, mounts)


def weak_file_system(place: Path, mounts: Mounts) -> Findings:
    kind = mounts.kind(place)
    if mounts.remote_kind(place):
        yield "watch-mount", DagentdError(f"is on {kind}, where changes are not announced", path=place)
    if kind in _POOR:
        yield "file-system", DagentdError(f"is on {kind}, without hard links or exchanges of files", path=place)


def dates(files: Iterable[Path]) -> Findings:
    found = [(os.lstat(path).st_mtime, path) for path in files if os.path.lexists(path)]
    yield from ahead(max(found, default=None), clock.now().timestamp())


def ahead(newest: tuple[float, Path] | None, now: float) -> Findings:
    if newest is not None and newest[0] > now + _AHEAD:
        hours = (newest[0] - now) / 3600
        yield "clock", DagentdError(f"was written {hours:.0f} h in the future, by this clock", path=newest[1])
