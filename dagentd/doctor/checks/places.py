"""The daemon's own places: its socket, its state folder, its index, its service."""

from __future__ import annotations

import os
import socket as sockets
import stat
from pathlib import Path

from dagentd import paths
from dagentd.adapters.lock import is_held
from dagentd.doctor.finding import Findings
from dagentd.errors import CorruptFile, DagentdError, NotAllowed
from dagentd.jobs import service as services
from dagentd.jobs import units
from dagentd.store import index as indexes

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
        yield kind, NotAllowed(f"is open to other users (mode {stat.S_IMODE(mode):o})", path=path)


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
        yield from gone_program(path, units.program_in(path.read_bytes()))


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
