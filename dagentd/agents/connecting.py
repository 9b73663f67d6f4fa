"""Connecting agents: our plug-in is installed by the agent's own commands, else by its settings, and goes again."""

from __future__ import annotations

import base64
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters import agent_program, clock
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.agents import plugins, settings_files
from dagentd.agents.plugins import HOSTS, ID, NAME, Host
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, NotFound
from dagentd.model import jsontext


@dataclass(frozen=True)
class Connection:
    """`worktree` is None for all of a user's folders. Claude Code knows a marketplace for a user alone: a worktree's
    own settings only say that the plug-in of it is on."""

    agent: str
    worktree: Path | None
    at: str

    @property
    def host(self) -> Host:
        return HOSTS[self.agent]

    @property
    def settings(self) -> list[Path]:
        """The files that it is noted in."""
        own = [] if self.worktree is None else [self.worktree / ".claude" / "settings.local.json"]
        return [*own, self.host.settings()]

    @property
    def where(self) -> str:
        return where(self.worktree)

    def is_for(self, agent: str, worktree: Path | None) -> bool:
        return (self.agent, self.worktree) == (agent, worktree)


def where(worktree: Path | None) -> str:
    return "in every folder" if worktree is None else f"in {worktree}"


@dataclass(frozen=True)
class Disconnected:
    """`settings` says of each file whether it is byte for byte as before. `left` is what the agent's own uninstaller
    leaves, `refused` why it did not run."""

    settings: dict[Path, bool]
    left: list[Path]
    refused: str = ""


# --- what is connected ----------------------------------------------------------------------------------------------


@dataclass
class _Book:
    """Noted before anything is changed: `before` has each file of settings as it was, None if there was none, and
    `new` the places that an uninstaller forgets and that were not there."""

    connections: list[Connection] = field(default_factory=list)
    before: dict[Path, bytes | None] = field(default_factory=dict)
    new: list[Path] = field(default_factory=list)

    @classmethod
    def read(cls) -> _Book:
        try:
            raw = jsontext.decode_object(fileio.read(_path(), fileio.CHAT_LIMIT))
            known = [Connection(each["agent"], each["worktree"] and Path(each["worktree"]), each["at"])
                     for each in raw["connections"]]  # fmt: skip
            before = {
                Path(path): None if data is None else base64.b64decode(data) for path, data in raw["before"].items()
            }
            return cls([each for each in known if each.agent in HOSTS], before, [*map(Path, raw["new"])])
        except FileNotFoundError:
            return cls()
        except (jsontext.Undecodable, KeyError, TypeError, ValueError, AttributeError) as error:
            told = f"makes no sense: {error}"
            raise CorruptFile(told, path=_path(), hint="Move it away, then connect again.") from None

    def write(self) -> None:
        if not self.connections:
            disk.remove(_path())
            return
        known = [{"agent": each.agent, "worktree": each.worktree and str(each.worktree), "at": each.at}
                 for each in self.connections]  # fmt: skip
        before = {
            str(path): None if data is None else base64.b64encode(data).decode() for path, data in self.before.items()
        }
        raw = {"connections": known, "before": before, "new": [*map(str, self.new)]}
        atomic.put(_path(), jsontext.pretty(raw))


def _path() -> Path:
    return paths.connect_dir() / "connections.json"


def connections() -> list[Connection]:
    return _Book.read().connections


# --- connecting -----------------------------------------------------------------------------------------------------


def connect(agent: str, worktree: Path | None) -> Connection:
    """Done again, it brings the plug-in up to date."""
    made, book = Connection(agent, worktree, clock.stamp()), _Book.read()
    program = _usable(made)
    again = any(each.is_for(agent, worktree) for each in book.connections)
    book.connections = [*(each for each in book.connections if not each.is_for(agent, worktree)), made]
    for path in made.settings:
        book.before.setdefault(path, settings_files.read(path))
    book.new += [path for path in made.host.left() if path not in book.new and disk.is_missing(path)]
    plugins.copy()
    book.write()
    try:
        _install(made, program)
    except DagentdError:
        if not again:
            disconnect(made)
        raise
    return made


def _usable(made: Connection) -> str | None:
    """The agent's program; None where its settings will do without."""
    host, program = made.host, agent_program.find(made.host.program)
    if made.worktree is not None and made.agent != "claude-code":
        raise NotAllowed(f"{host.program} has plug-ins for a user, not for a worktree", hint="Leave --project out.")
    if program is None:
        if made.agent == "claude-code" and made.worktree is None:
            return None
        raise NotFound(f"there is no {host.program} command", hint=f"Install {host.program}, or look at PATH.")
    if too_old(host, program):
        oldest = ".".join(map(str, host.oldest))
        raise NotAllowed(f"is older than {oldest}, which it must be", path=program, hint=f"{host.program} update")
    return program


def too_old(host: Host, program: str) -> bool:
    version = agent_program.version(program)
    return version is not None and version < host.oldest


def _install(made: Connection, program: str | None) -> None:
    own, *_ = made.settings
    if program is None:
        settings_files.edit(own, _declare)
        settings_files.edit(own, _enable)
        return
    _run(program, (*made.host.market[0], str(plugins.market(made.agent))))
    if made.worktree is None:
        _run(program, made.host.plugin[0])
    else:
        settings_files.edit(own, _enable)


def _run(program: str, command: tuple[str, ...]) -> None:
    done = agent_program.run([program, *command], Path.home())
    if done.returncode:
        told = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
        line = shlex.join((os.path.basename(program), *command))
        raise DagentdError(f"`{line}` failed: {told}", hint="Run it yourself to see more.")


# --- disconnecting --------------------------------------------------------------------------------------------------


def disconnect(found: Connection) -> Disconnected:
    """By the agent's own commands, if it is there; what they leave of us in its settings goes too."""
    book = _Book.read()
    book.connections = [each for each in book.connections if not each.is_for(found.agent, found.worktree)]
    last = all(each.agent != found.agent for each in book.connections)
    refused = _uninstall(found, last)
    *own, host = found.settings  # the agent's may have been in another folder then: CLAUDE_CONFIG_DIR, CODEX_HOME
    mine = [path for path in book.before if path in own or (last and path.name == host.name)]
    done = {path: settings_files.undo(path, book.before.pop(path), _take_out) for path in mine}
    left = [path for path in found.host.left() if path in book.new and not disk.is_missing(path)]
    book.write()
    if not book.connections:
        plugins.remove()
    return Disconnected(done, left, refused)


def _uninstall(found: Connection, last: bool) -> str:
    """Why it was refused, if it was: a plug-in that the user has taken out himself is not there."""
    program = agent_program.find(found.host.program)
    wanted = [found.host.plugin[1]] * (found.worktree is None) + [found.host.market[1]] * last
    refused = ""
    for command in wanted if program is not None else ():
        try:
            _run(program or "", command)
        except DagentdError as error:
            refused = refused or error.message
    return refused


# --- our entries in Claude Code's settings --------------------------------------------------------------------------


def _declare(fields: dict[str, Any]) -> None:
    source = {"source": "directory", "path": str(plugins.market("claude-code"))}
    _entries(fields, "extraKnownMarketplaces")[NAME] = {"source": source}


def _enable(fields: dict[str, Any]) -> None:
    _entries(fields, "enabledPlugins")[ID] = True


def _entries(fields: dict[str, Any], table: str) -> dict[str, Any]:
    held = fields.setdefault(table, {})
    if not isinstance(held, dict):
        raise jsontext.Undecodable(f"{table} must be an object, not {jsontext.kind(held)}")
    return held


def _take_out(fields: dict[str, Any]) -> None:
    """In TOML, Codex's, only its own commands can do that."""
    for table, name in (("extraKnownMarketplaces", NAME), ("enabledPlugins", ID)):
        if isinstance(held := fields.get(table), dict):
            held.pop(name, None)
