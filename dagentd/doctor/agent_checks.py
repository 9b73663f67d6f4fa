"""Agents that are connected: whether what they run is there and of this version, and whether word of them comes."""

from __future__ import annotations

import contextlib

from dagentd import paths, settings
from dagentd.adapters import agent_program
from dagentd.agents import connecting, plugins
from dagentd.agents.connecting import Connection
from dagentd.agents.followed import Followed
from dagentd.agents.notes import Notes
from dagentd.errors import Conflict, NotAllowed, NotFound
from dagentd.model.problem import Findings
from dagentd.store.registry import Registry


def plugin() -> Findings:
    if not connecting.connections():
        return
    wrong = plugins.wrong()
    gone = [path for path in wrong if not path.exists()]
    if gone:
        yield "agents-plugin", NotFound("is gone, and agents run it", path=gone[0], hint="dagentd doctor --fix")
    elif wrong:
        told = "is not as this dagentd has it: it was put there by another version, or another installation"
        yield "agents-plugin", Conflict(told, path=wrong[0], hint="dagentd doctor --fix")


def programs() -> Findings:
    for host in {each.agent: each.host for each in connecting.connections()}.values():
        program = agent_program.find(host.program)
        if program is not None and connecting.too_old(host, program):
            oldest = ".".join(map(str, host.oldest))
            yield "agents-old", NotAllowed(f"is older than {oldest}, which dagentd's hooks need", path=program)


def hooks() -> Findings:
    """One that was connected after a conversation began has no part in it."""
    last = Notes(paths.connect_dir()).last()
    for each in connecting.connections():
        count = 0 if last.get(each.agent, "") >= each.at else _since(each)
        if count:
            told = f"{each.host.program} had {count} conversations since it was connected, and no hook of it came"
            yield "agents-silent", NotAllowed(told, path=each.settings[0])


def _since(connection: Connection) -> int:
    """Conversations that began after it, of those that are kept."""
    given, registry = settings.load(paths.config_file()), Registry(paths.registry_file())
    worktree = None if connection.worktree is None else str(connection.worktree)
    with contextlib.closing(Followed(paths.state_dir(), lambda: given.agents, registry.projects)) as followed:
        found = followed.sessions.listed(roots=None, agent=connection.agent, worktree=worktree, since=connection.at)
    return sum((each["startedAt"] or "") > connection.at for each in found)
