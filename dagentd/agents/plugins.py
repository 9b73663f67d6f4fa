"""The plug-ins for Claude Code and Codex: copied into the state folder, and the agents' own commands that install them.

Agents run no file of a virtualenv, so an update or removal of dagentd leaves them as they are. One file there,
`program`, says where dagentd is; it is read when something is to be asked, and where dagentd is gone, nothing is."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dagentd
from dagentd import __version__, paths
from dagentd.adapters import shipped
from dagentd.adapters.agent_program import Version
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.jobs.service_files import program as program_of
from dagentd.model import jsontext

NAME = "dagentd"  # of the plug-in and of the marketplace that has no other
ID = f"{NAME}@{NAME}"


@dataclass(frozen=True)
class Host:
    """An agent as a place for our plug-in. `oldest` is the first version that knows all hooks we have; `settings` the
    file in which its commands note the plug-in; `left` what they leave behind of it. The commands are for all of the
    user's folders, `market` those for the marketplace alone."""

    agent: str
    program: str
    oldest: Version
    settings: Callable[[], Path]
    market: tuple[tuple[str, ...], tuple[str, ...]]  # to add it, which is given the folder, and to remove it
    plugin: tuple[tuple[str, ...], tuple[str, ...]]
    left: Callable[[], list[Path]]
    once: str = ""  # what the user must do himself


def _claude() -> Path:
    given = os.environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".claude"


def _codex() -> Path:
    return Path(os.path.abspath(os.environ.get("CODEX_HOME") or Path.home() / ".codex"))  # Codex takes it from here too


def _claude_left() -> list[Path]:
    plugins = _claude() / "plugins"
    return [plugins / "cache" / NAME, plugins / "data" / f"{NAME}-{NAME}", plugins / "known_marketplaces.json"]


def _codex_left() -> list[Path]:
    plugins = _codex() / "plugins"
    return [plugins / "cache" / NAME, plugins / "data" / f"{NAME}-{NAME}"]


HOSTS = {
    host.agent: host
    for host in (
        Host(
            "claude-code", "claude", (2, 1, 76), lambda: _claude() / "settings.json",
            (("plugin", "marketplace", "add"), ("plugin", "marketplace", "remove", NAME)),
            (("plugin", "install", ID), ("plugin", "uninstall", ID)),
            _claude_left,
        ),
        Host(
            "codex", "codex", (0, 117, 0), lambda: _codex() / "config.toml",
            (("plugin", "marketplace", "add"), ("plugin", "marketplace", "remove", NAME)),
            (("plugin", "add", ID), ("plugin", "remove", ID)),
            _codex_left,
            "Codex runs no hook before you have trusted it: start `codex`, type /hooks and trust those of dagentd. "
            "Until then it has dagentd's tools, and is told nothing by itself.",
        ),
    )
}  # fmt: skip


# --- the copy -------------------------------------------------------------------------------------------------------


def market(agent: str) -> Path:
    """The folder that is given to the agent's commands as a marketplace of plugins."""
    return paths.connect_dir() / agent


def files() -> dict[Path, bytes]:
    """All that is in the folder for agents, as this dagentd would write it."""
    folder = paths.connect_dir()
    values = {"VERSION": __version__, "HOOK": shlex.quote(str(folder / "hook.sh")), "MCP": str(folder / "mcp.sh")}
    found = {folder / name: _rendered(text, values) for name, text in shipped.texts("plugins").items()}
    passed_on = [f"{name}={value}" for name, value in program_of().environment.items()]
    lines = (sys.executable, str(Path(dagentd.__file__).parent), *passed_on)
    return found | {folder / "program": os.fsencode("".join(f"{line}\n" for line in lines))}


def _rendered(text: str, values: dict[str, str]) -> bytes:
    for name, value in values.items():
        text = text.replace(f"@{name}@", jsontext.escaped(value))
    return os.fsencode(text)


def copy() -> None:
    spool = paths.connect_dir() / "spool"
    with disk.explained(spool):
        disk.make_folders(spool)
    for path, data in files().items():
        with disk.explained(path):
            disk.make_folders(path.parent)
            if not path.exists() or not fileio.holds(path, data):
                atomic.put(path, data)


def wrong() -> list[Path]:
    """The files that are not there, or not as this dagentd would have them."""
    return [path for path, data in files().items() if not path.is_file() or not fileio.holds(path, data)]


def remove() -> None:
    """The copy, with what hooks left; what somebody else put there stays."""
    folder = paths.connect_dir()
    spool = folder / "spool"
    own = [*files(), folder / "arrived.json", *(spool.glob("*") if spool.is_dir() else ())]
    for path in own:
        if path.is_file() or path.is_symlink():
            disk.remove(path)
    places = {spool, *(each for path in own for each in path.parents if each.is_relative_to(folder))}
    for place in sorted(places, reverse=True):
        if place.is_dir() and not any(place.iterdir()):
            disk.remove_folder(place)
