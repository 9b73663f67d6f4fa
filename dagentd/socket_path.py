"""Where the daemon's socket is, without loading anything: an agent that begins waits for whoever asks it here."""

from __future__ import annotations

import os
import stat
import sys

# sun_path holds 108 bytes on Linux and 104 on macOS, with the NUL that ends it.
LONGEST = 103 if sys.platform == "darwin" else 107


def find() -> str:
    path = wanted()
    if path is None:
        return _own("dagentd.sock")
    if _fits(path):
        return path
    import hashlib  # 4 MB, and hardly anybody needs it

    return _own(f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.sock")


def wanted() -> str | None:
    if given := os.environ.get("DAGENTD_SOCKET"):
        return os.path.abspath(given)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return os.path.join(os.path.normpath(runtime), "dagentd", "dagentd.sock") if os.path.isabs(runtime) else None


def xdg(variable: str, default: str) -> str:
    """The XDG rule: a path that is not absolute counts as not set."""
    given = os.environ.get(variable, "")
    return given if os.path.isabs(given) else os.path.join(home(), default)


def home() -> str:
    """Not absolute for a user who has none."""
    return os.path.expanduser("~")


def _own(name: str) -> str:
    """Under the temp dir; in the state folder where another user was there first, and for as long as a socket is
    there: who took the place may leave it while the daemon runs."""
    short, spare = _short_dir(name), os.path.join(xdg("XDG_STATE_HOME", ".local/state"), "dagentd", name)
    if (os.path.lexists(spare) or _is_taken(short)) and _fits(spare):
        return spare
    return os.path.join(short, name)


def _is_taken(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()


def _short_dir(name: str) -> str:
    """The user's own folder under the temp dir. Another user can make it at any moment: whoever creates
    or opens a socket in it checks the owner. tempfile.gettempdir() would write a file to find out."""
    own, given = f"dagentd-{os.getuid()}", os.environ.get("TMPDIR", "")
    if os.path.isabs(given) and _fits(os.path.join(given, own, name)):
        return os.path.join(given, own)
    return os.path.join("/tmp", own)


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= LONGEST
