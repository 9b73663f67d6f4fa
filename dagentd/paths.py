"""Where everything of one user is: each path is computed here and nowhere else, and nothing is created."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from dagentd.errors import InvalidInput

# sun_path holds 108 bytes on Linux and 104 on macOS, with the NUL that ends it.
LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107


def socket() -> Path:
    """A path that is too long is replaced by a short one made from it, the same for daemon and client."""
    wanted = _wanted_socket()
    if wanted is None:
        return _own_socket("dagentd.sock")
    if _fits(wanted):
        return wanted
    import hashlib  # 4 MB, and hardly anybody needs it

    return _own_socket(f"{hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]}.sock")


def state_dir() -> Path:
    return _xdg("XDG_STATE_HOME", ".local/state") / "dagentd"


def socket_dir() -> Path | None:
    """The socket's folder where it is ours and holds nothing else; None where the user chose one."""
    path = socket()
    chosen = os.environ.get("DAGENTD_SOCKET") and path == _wanted_socket()
    return None if chosen or path.parent == state_dir() else path.parent


def config_file() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config") / "dagentd" / "config.toml"


def project_config_file(root: Path) -> Path:
    return root / ".dagent" / "config.toml"


def index_file() -> Path:
    return state_dir() / "index.sqlite3"


def ledger_file() -> Path:
    return state_dir() / "ledger.jsonl"


def log_file() -> Path:
    return state_dir() / "dagentd.log"


def registry_file() -> Path:
    return state_dir() / "projects.json"


def agents_dir() -> Path:
    """Conversations of other agents, kept: the only copy of many of them."""
    return state_dir() / "agents"


def connect_dir() -> Path:
    """The folder of what connected agents run, and of the word that their hooks leave."""
    return state_dir() / "connect"


def cookie_file() -> Path:
    """The file that the daemon touches to learn whether it still hears of changes."""
    return state_dir() / "cookie"


def lock_file() -> Path:
    return state_dir() / "lock"


def agx_dir() -> Path:
    """AGX's own, of all projects of the user."""
    return _home() / ".agx"


def agx_index_file() -> Path:
    return agx_dir() / "index.json"


def agx_config_file() -> Path:
    return agx_dir() / "config.json"


def agx_confirmed_file() -> Path:
    """Which commands of which projects the user has seen and allowed."""
    return state_dir() / "agx-confirmed.json"


def _wanted_socket() -> Path | None:
    if given := os.environ.get("DAGENTD_SOCKET"):
        return Path(os.path.abspath(given))
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return Path(runtime, "dagentd", "dagentd.sock")
    return None


def _own_socket(name: str) -> Path:
    """Under the temp dir; in the state folder where another user was there first, and for as long as a socket is
    there: who took the place may leave it while the daemon runs."""
    short, spare = _short_dir(name), state_dir() / name
    if (os.path.lexists(spare) or _is_taken(short)) and _fits(spare):
        return spare
    return short / name


def _is_taken(folder: Path) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()


def _short_dir(name: str) -> Path:
    """The user's own folder under the temp dir. Another user can make it at any moment: whoever creates
    or opens a socket in it checks the owner. tempfile.gettempdir() would write a file to find out."""
    own = f"dagentd-{os.getuid()}"
    given = os.environ.get("TMPDIR", "")
    if os.path.isabs(given) and _fits(Path(given, own, name)):
        return Path(given, own)
    return Path("/tmp", own)


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_SOCKET


def _xdg(variable: str, default: str) -> Path:
    """The XDG rule: a path that is not absolute counts as not set."""
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else _home() / default


def _home() -> Path:
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise InvalidInput("this user has no home folder", hint="Set HOME to an absolute path and try again.")
    return Path(home)
