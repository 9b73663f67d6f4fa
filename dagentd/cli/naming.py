"""Naming a session: by its id, or by any part of one that no other has; of an unknown one the nearest is told, of one
that is gone how it comes back."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.project import Command, begun_in, how_to_begin, worktrees_of
from dagentd.cli.verbs import asking
from dagentd.errors import Conflict, DagentdError, NotFound

_ALIKE = 0.75  # of two names that differ by a letter or two
_LISTED = 5


def session_argument(command: Command) -> Command:
    return click.argument("session")(by_any_part(command))


def lost_session_argument(command: Command) -> Command:
    """For what brings one back: those that are gone are meant first."""
    return click.argument("session")(by_any_part(command, gone_first=True, begins=False))


def past_session_argument(command: Command) -> Command:
    """For what removes one: who wants none is not told how to make one."""
    return click.argument("session")(by_any_part(command, begins=False))


def by_any_part(command: Command, *, gone_first: bool = False, begins: bool = True) -> Command:
    """The command with the whole id of its `session`. Only where there is none of that name are the others looked
    through, so that who types whole ids does not wait for a list; nothing has been done by then."""

    @functools.wraps(command)
    def named(session: str, where: Path, **given: Any) -> Any:
        try:
            return command(session=session, where=where, **given)
        except DagentdError as error:
            if error.code != NotFound.code or session is None:
                raise
            sure = bool(given.get("yes"))
            whole = session_meant_by(session, where, error, sure=sure, gone_first=gone_first, begins=begins)
        return command(session=whole, where=where, **given)

    return named


def session_meant_by(
    typed: str, where: Path, unknown: DagentdError, *, sure: bool = False, gone_first: bool = False, begins: bool = True
) -> str:
    """The one that has the typed in its id, first of those that are there. Else the error, with a better hint; so too
    where nobody will be asked before something is removed."""
    with asking(where) as verbs:
        there = {each["id"]: each for each in verbs.call("session.list")["sessions"]}
        gone = {each["id"]: each for each in verbs.call("session.list", status="gone")["sessions"]}
        begin = how_to_begin(where, verbs.call) if begins and not there and not gone else ""
        bare = begins and typed in worktrees_of(where, verbs.call)
    if typed in there or typed in gone:
        raise unknown
    first, then = (gone, there) if gone_first else (there, gone)
    found = _with_part(typed, first) or _with_part(typed, then)
    if len(found) == 1 and not sure:
        return found[0]
    if len(found) > 1:
        more = f", and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        told = f"{typed} is in the names of several sessions: {', '.join(found[:_LISTED])}{more}"
        raise Conflict(told, hint="Give a part that only one of them has.")
    near = found or ([] if bare else _nearest(typed, {**gone, **there}))
    begin = begun_in(typed, where) if bare else begin
    hint = f"Did you mean {' or '.join(near)}? `dagentd sessions` lists all." if near else begin or unknown.hint
    raise NotFound(unknown.message, path=unknown.path, hint=hint) from None


def tell_gone(answer: dict[str, Any], session: str = "") -> None:
    """Of a session that was answered, or of the one that an answer is about."""
    if answer.get("gone"):
        name = session or answer["id"]
        output.line(f"(gone with its worktree; `dagentd restore {name}` brings it back)\n")


def _with_part(typed: str, known: Iterable[str]) -> list[str]:
    return sorted(name for name in known if typed.lower() in name.lower())


def _nearest(typed: str, known: dict[str, dict[str, Any]]) -> list[str]:
    """Beside the ids, the names of features and tasks are compared: those are what is typed."""
    shares = {name: max(_likeness(typed, each) for each in (name, *_about(raw))) for name, raw in known.items()}
    near = [name for name, share in shares.items() if share >= _ALIKE]
    return sorted(near, key=lambda name: (-shares[name], name))[:3]


def _about(raw: dict[str, Any]) -> list[str]:
    return [raw[key] for key in ("featureId", "taskId") if isinstance(raw.get(key), str)]


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()
