"""Through the daemon if one serves the project, else here under the same locks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd import alone
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.errors import InvalidInput, NotRunning
from dagentd.jobs.agx import Agx
from dagentd.rpc.client import Client

Local = Callable[[Agx, Path], Any]


def ask(where: Path, method: str, given: dict[str, Any], local: Local) -> Any:
    """`given` are the parameters of the method beside `project`; those that are None are left out."""
    root = git.project_at(where).root
    try:
        with Client() as running:
            served = [each["root"] for each in running.call("project.list")["projects"]]
            if str(root) in served:
                known = {key: value for key, value in given.items() if value is not None}
                return running.call(method, project=str(root), **known)
    except NotRunning:
        pass
    return local(alone.agx_jobs(root), root)


def ask_of_all(method: str, given: dict[str, Any], local: Callable[[Agx], Any]) -> Any:
    """What concerns no project alone."""
    try:
        with Client() as running:
            return running.call(method, **given)
    except NotRunning:
        return local(alone.agx_jobs())


def make_sure(question: str, agx: Agx, where: Path, yes: bool) -> None:
    """Ask before something is taken away, unless the user does not want to be asked (`ui.confirmDestructive`)."""
    if yes or not agx.config(git.project_at(where).root).confirm_destructive:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("nobody can be asked whether this is meant", hint="Add --yes.")
    output.make_sure(question)
