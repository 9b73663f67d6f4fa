"""Connecting agents: our plug-in is installed by the agent's own commands, else by its settings, and goes again."""

from __future__ import annotations

import base64
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters import agent_program, clock
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.agents import plugins, settings_files
from dagentd.agents.plugins import HOSTS, NAME, Host
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, NotFound
from dagentd.model import jsontext

_PLUGIN = f"{NAME}@{NAME}"


@dataclass(frozen=True)
class Connection:
    """`worktree` is None for all of a user's. `before` is what its settings had, None if there were none; `left` are
    the places that its uninstaller forgets and that were not there before."""

    agent: str
    worktree: Path | None
    at: str
    before: bytes | None
    left: list[Path] = field(default_factory=list)

    @property
    def host(self) -> Host:
        return HOSTS[self.agent]

    @property
    def settings(self) -> Path:
        return self.host.settings(self.worktree)

    @property
    def where(self) -> str:
        return where(self.worktree)

    def raw(self) -> dict[str, Any]:
        before = None if self.before is None else base64.b64encode(self.before).decode()
        where = None if self.worktree is None else str(self.worktree)
        return {"agent": self.agent, "worktree": where, "at": self.at, "before": before, "left": [*map(str, self.left)]}


@dataclass(frozen=True)
class Disconnected:
    """`restored`: its settings are byte for byte as before. `left` is what the agent's own uninstaller leaves."""

    settings: Path
    restored: bool
    left: list[Path]
    refused: str = ""


def where(worktree: Path | None) -> str:
    return "in every folder" if worktree is None else f"in {worktree}"


# --- what is connected ----------------------------------------------------------------------------------------------


def connections() -> list[Connection]:
    try:
        found = jsontext.decode_object(fileio.read(_book()))["connections"]
        return [_connection(each) for each in found if each["agent"] in HOSTS]
    except FileNotFoundError:
        return []
    except (jsontext.Undecodable, KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"makes no sense: {error}", path=_book(), hint="Move it away, then connect again.") from None


def _connection(raw: dict[str, Any]) -> Connection:
    before = None if raw["before"] is None else base64.b64decode(raw["before"])
    where = None if raw["worktree"] is None else Path(raw["worktree"])
    return Connection(raw["agent"], where, raw["at"], before, [*map(Path, raw["left"])])


def _note(found: Sequence[Connection]) -> None:
    if found:
        atomic.put(_book(), jsontext.pretty({"connections": [each.raw() for each in found]}))
    elif not disk.is_missing(_book()):
        disk.remove(_book())


def _book() -> Path:
    return paths.connect_dir() / "connections.json"


def _other(found: Connection, agent: str, worktree: Path | None) -> bool:
    return (found.agent, found.worktree) != (agent, worktree)


# --- connecting -----------------------------------------------------------------------------------------------------


def connect(agent: str, worktree: Path | None) -> Connection:
    """Done again, it brings the plug-in up to date. What was there before is noted before anything is changed."""
    host, known = HOSTS[agent], connections()
    program = _usable(host, worktree)
    new = Connection(agent, worktree, clock.stamp(), settings_files.read(host.settings(worktree)))
    new = replace(new, left=[path for path in host.left() if disk.is_missing(path)])
    again = next((each for each in known if not _other(each, agent, worktree)), None)
    made = new if again is None else replace(again, at=new.at)
    plugins.copy()
    _note([*(each for each in known if _other(each, agent, worktree)), made])
    if program is None:
        settings_files.edit(made.settings, _add_entries)
        return made
    try:
        for command in host.install(plugins.market(agent), worktree is not None):
            _run(program, command, worktree)
    except DagentdError:
        if again is None:
            disconnect(made)
        raise
    return made


def _usable(host: Host, worktree: Path | None) -> str | None:
    """The agent's program; None where its settings will do without."""
    program = agent_program.find(host.program)
    if worktree is not None and host.agent != "claude-code":
        raise NotAllowed(f"{host.program} has plug-ins for a user, not for a worktree", hint="Leave --project out.")
    if program is None:
        if host.agent == "claude-code" and worktree is None:
            return None
        raise NotFound(f"there is no {host.program} command", hint=f"Install {host.program}, or look at PATH.")
    if too_old(host, program):
        oldest = ".".join(map(str, host.oldest))
        raise NotAllowed(f"{program} is older than {oldest}, which it must be", hint=f"{host.program} update")
    return program


def too_old(host: Host, program: str) -> bool:
    version = agent_program.version(program)
    return version is not None and version < host.oldest


def _run(program: str, command: tuple[str, ...], worktree: Path | None) -> None:
    done = agent_program.run([program, *command], worktree or Path.home())
    if done.returncode:
        told = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
        line = shlex.join((os.path.basename(program), *command))
        raise DagentdError(f"`{line}` failed: {told}", hint="Run it yourself to see more.")


# --- disconnecting --------------------------------------------------------------------------------------------------


def disconnect(found: Connection) -> Disconnected:
    """By the agent's own commands, if it is there; what they leave of us in its settings goes too."""
    host = found.host
    others = [each for each in connections() if _other(each, found.agent, found.worktree)]
    last, refused = not any(each.agent == found.agent for each in others), ""
    program = agent_program.find(host.program)
    if program is not None and (found.worktree is None or found.worktree.is_dir()):
        for command in host.remove(found.worktree is not None, last):
            try:
                _run(program, command, found.worktree)
            except DagentdError as error:
                refused = refused or error.message
    restored = settings_files.undo(found.settings, found.before, _take_entries)
    _note(others)
    if not others:
        plugins.remove()
    return Disconnected(found.settings, restored, [path for path in found.left if not disk.is_missing(path)], refused)


# --- our entries in Claude Code's settings --------------------------------------------------------------------------


def _add_entries(fields: dict[str, Any]) -> None:
    source = {"source": "directory", "path": str(plugins.market("claude-code"))}
    fields.setdefault("extraKnownMarketplaces", {})[NAME] = {"source": source}
    fields.setdefault("enabledPlugins", {})[_PLUGIN] = True


def _take_entries(fields: dict[str, Any]) -> None:
    """Codex's have names of their own, which only its own commands can take out of TOML."""
    for table, name in (("extraKnownMarketplaces", NAME), ("enabledPlugins", _PLUGIN)):
        if isinstance(held := fields.get(table), dict):
            held.pop(name, None)
