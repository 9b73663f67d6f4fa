"""`dagentd pause` and `dagentd resume`: a project or a session is left alone for a while."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.naming import session_meant_by
from dagentd.cli.project import json_option, project_option, reading
from dagentd.cli.verbs import ask
from dagentd.errors import Conflict, NotFound
from dagentd.model import ids
from dagentd.model.project import Project

_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_PART = re.compile(r"\s*(\d{1,9})\s*([a-z]+)", re.ASCII)


class Duration(click.ParamType[int]):
    """Seconds, written as `90s`, `30min`, `1h30m`, `2d`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        parts = [match.groups() for match in _PART.finditer(value)]
        seconds = sum(int(count) * _UNITS.get(unit, 0) for count, unit in parts)
        if _PART.sub("", value).strip() or any(unit not in _UNITS for _, unit in parts) or not seconds:
            self.fail(f"{value!r} is no time; write for example 30min, 1h, 1h30m or 2d.", param, ctx)
        return seconds


_what = click.argument("what", metavar="[PATH|SESSION]", required=False)


@click.command()
@_what
@click.option("--for", "seconds", type=Duration(), help="End it by itself after this time: 30min, 1h, 2d.")
@project_option
@json_option
def pause(what: str | None, seconds: int | None, where: Path, as_json: bool) -> None:
    """Let dagentd do nothing by itself for a project or a session.

    No migration, no new context, no compaction, no archive, also not before a request is built. It still takes in what
    agents and the app write, so that nothing is lost, and does what you ask for by a command or on the socket. A pause
    outlives a restart; `dagentd resume` ends it.

    Without PATH or SESSION it is of the repository here. A name that could be both is a session's; ./NAME is the path.
    """
    project, session = _meant(what, where)
    done = _done("pause", project, session, {} if seconds is None else {"seconds": seconds})
    if as_json:
        output.print_json(done)
        return
    lasts = "" if seconds is None else f" for {output.duration(seconds, 2)}"
    output.line(f"{session or project.root} is paused{lasts}; `{_command('resume', session or what)}` ends it.")


@click.command()
@_what
@project_option
@json_option
def resume(what: str | None, where: Path, as_json: bool) -> None:
    """End a pause; what is due is done now.

    Sessions that were paused by themselves stay so when their project goes on.
    """
    project, session = _meant(what, where)
    done = _done("resume", project, session, {})
    if as_json:
        output.print_json(done)
        return
    output.line(f"{session or project.root} {'is no longer' if done['ended'] else 'was not'} paused.")
    if done["paused"]:
        output.line("Its project still is: `dagentd resume` ends that.")


def _done(verb: str, project: Project, session: str | None, given: dict[str, Any]) -> dict[str, Any]:
    kind = "project" if session is None else "session"
    return dict(ask(project.root, f"{kind}.{verb}", sessionId=session, **given))


def _meant(what: str | None, where: Path) -> tuple[Project, str | None]:
    """The project, and the session if one is named."""
    if what is None:
        return git.project_at(where), None
    if ids.is_safe(what) and _is_session(what, where):
        return git.project_at(where), what
    if not os.path.exists(what):
        unknown = NotFound(f"{what} is neither a session here nor a path", hint="dagentd sessions; dagentd projects")
        return git.project_at(where), session_meant_by(what, where, unknown)
    return git.project_at(Path(what)), None


def _is_session(name: str, where: Path) -> bool:
    try:
        with reading(where) as store:
            if name not in store.pauses.now().sessions:  # one that was paused may be removed since
                store.catalogue.find(name)
    except NotFound:
        return False
    except Conflict:  # several worktrees have it, and all of them are meant
        pass
    return True


def _command(verb: str, what: str | None) -> str:
    return f"dagentd {verb}" if what is None else f"dagentd {verb} {what}"
