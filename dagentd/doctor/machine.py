"""Checks of the machine: what dagentd needs there, and the folders and files that are its own."""

from __future__ import annotations

import os
import shlex
import shutil
import socket as sockets
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files.flock import is_held
from dagentd.adapters.git import command as git
from dagentd.adapters.models import claude_cli as claude
from dagentd.adapters.watch.coverage import Mounts, fair_share
from dagentd.errors import CorruptFile, DagentdError, LimitReached, NotAllowed
from dagentd.jobs import service_files
from dagentd.jobs import user_service as services
from dagentd.model.problem import Findings
from dagentd.settings.tables import Compaction
from dagentd.store.journal import index as indexes

# The machine: the programs dagentd uses, room on its disks, what the file systems can do, the clock.

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


# The daemon's own places: its socket, its state folder, its index, its service.

_NOT_YOURS = "is not yours to write"
_ELSEWHERE = "Give your user permission, or set {} to a folder of yours."
_STATE, _SOCKET = _ELSEWHERE.format("XDG_STATE_HOME"), _ELSEWHERE.format("XDG_RUNTIME_DIR")


def socket() -> Findings:
    path = paths.socket()
    found = _status(path)
    if found is None:
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield "socket-squatted", NotAllowed("is in the place of the socket", path=path)
        return
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) != 0:
            yield "stale-socket", NotAllowed("is a socket that nobody listens at", path=path)
    yield from open_to_others("socket-open", path, found.st_mode)


def socket_folder() -> Findings:
    """Where it is dagentd's own: /tmp with a name given in DAGENTD_SOCKET is refused when the daemon starts."""
    folder = paths.socket().parent
    if (found := _status(folder)) is None:
        yield from not_to_be_made("socket-refused", folder, _SOCKET)
    elif found.st_uid == os.getuid():
        yield from open_to_others("socket-open", folder, found.st_mode)
        if not os.access(folder, os.W_OK | os.X_OK):
            yield "socket-refused", NotAllowed(_NOT_YOURS, path=folder, hint=_SOCKET)


def open_to_others(kind: str, path: Path, mode: int) -> Findings:
    if not stat.S_ISLNK(mode) and mode & 0o077:
        told = f"is open to other users (mode {stat.S_IMODE(mode):o})"
        yield kind, NotAllowed(told, path=path, hint=f"chmod go= {shlex.quote(str(path))}")


def state() -> Findings:
    folder = paths.state_dir()
    try:
        found = os.stat(folder)  # a link is the user's own choice
    except FileNotFoundError:
        yield from not_to_be_made("state-refused", folder, _STATE)
        return
    except OSError as error:
        yield "state-refused", NotAllowed(f"cannot be used: {error.strerror}", path=folder)
        return
    if not stat.S_ISDIR(found.st_mode):
        yield "state-refused", NotAllowed("is no folder", path=folder)
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield "state-refused", NotAllowed(_NOT_YOURS, path=folder, hint=_STATE)
    else:
        yield from open_to_others("state-open", folder, found.st_mode)


def not_to_be_made(kind: str, folder: Path, hint: str) -> Findings:
    above = next(filter(os.path.exists, folder.parents))
    if not os.access(above, os.W_OK | os.X_OK):
        yield kind, NotAllowed(f"cannot be made: {above} {_NOT_YOURS}", path=folder, hint=hint)


def index() -> Findings:
    """A daemon that runs finds out by itself, and begins it anew."""
    if not is_held(paths.lock_file()) and (why := indexes.damage(paths.index_file())) is not None:
        yield "index", CorruptFile(f"is damaged: {why}", path=paths.index_file())


def service() -> Findings:
    manager = services.manager()
    for path in sorted(services.present(manager) & manager.links().keys()):
        yield from gone_program(path, service_files.program_in(path.read_bytes()))


def gone_program(unit: Path, program: str | None) -> Findings:
    if program is not None and not os.access(program, os.X_OK):
        yield "service-program", NotAllowed(f"starts {program}, which is not there", path=unit)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DagentdError(f"cannot be looked at: {error.strerror}", path=path) from None
