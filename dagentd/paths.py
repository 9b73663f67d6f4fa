"""Where everything of one user is: each path is computed here and nowhere else, and nothing is created."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd import socket_path
from dagentd.errors import InvalidInput


def socket() -> Path:
    """A path that is too long is replaced by a short one made from it, the same for daemon and client."""
    return Path(socket_path.find())


def state_dir() -> Path:
    return _absolute(socket_path.xdg("XDG_STATE_HOME", ".local/state")) / "dagentd"


def socket_dir() -> Path | None:
    """The socket's folder where it is ours and holds nothing else; None where the user chose one."""
    path = socket()
    chosen = os.environ.get("DAGENTD_SOCKET") and str(path) == socket_path.wanted()
    return None if chosen or path.parent == state_dir() else path.parent


def config_file() -> Path:
    return _absolute(socket_path.xdg("XDG_CONFIG_HOME", ".config")) / "dagentd" / "config.toml"


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
    return _absolute(os.path.join(socket_path.home(), ".agx"))


def agx_index_file() -> Path:
    return agx_dir() / "index.json"


def agx_config_file() -> Path:
    return agx_dir() / "config.json"


def agx_confirmed_file() -> Path:
    """Which commands of which projects the user has seen and allowed."""
    return state_dir() / "agx-confirmed.json"


def _absolute(path: str) -> Path:
    if not os.path.isabs(path):
        raise InvalidInput("this user has no home folder", hint="Set HOME to an absolute path and try again.")
    return Path(path)
