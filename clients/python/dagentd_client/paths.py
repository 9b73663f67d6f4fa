"""Where the daemon listens, by the same rule as the daemon's own."""

from __future__ import annotations

import hashlib
import os
import stat
import sys

_LONGEST = 103 if sys.platform == "darwin" else 107  # bytes that the path of a socket may have


def socket_path() -> str:
    """`DAGENTD_SOCKET`, else below `XDG_RUNTIME_DIR`, else in a folder of the user under the temp dir; one that is too
    long is replaced by a short one made from it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if given := os.environ.get("DAGENTD_SOCKET"):
        wanted = os.path.abspath(given)
    elif os.path.isabs(runtime):
        wanted = os.path.join(os.path.normpath(runtime), "dagentd", "dagentd.sock")
    else:
        return _own("dagentd.sock")
    return wanted if _fits(wanted) else _own(f"{hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]}.sock")


def _own(name: str) -> str:
    """In the state folder where another user took the place under the temp dir."""
    folder, spare = _short(name), os.path.join(_state(), name)
    if (os.path.lexists(spare) or _is_taken(folder)) and _fits(spare):
        return spare
    return os.path.join(folder, name)


def _short(name: str) -> str:
    own, given = f"dagentd-{os.getuid()}", os.environ.get("TMPDIR", "")
    folder = os.path.join(os.path.normpath(given), own) if os.path.isabs(given) else ""
    return folder if folder and _fits(os.path.join(folder, name)) else os.path.join("/tmp", own)


def _state() -> str:
    given = os.environ.get("XDG_STATE_HOME", "")
    base = os.path.normpath(given) if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "dagentd")


def _is_taken(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= _LONGEST
