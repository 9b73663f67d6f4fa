"""Which project a command is about, and its sessions opened for reading."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagentd import paths
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.errors import DagentdError
from dagentd.model.problem import Problem
from dagentd.model.project import Project

if TYPE_CHECKING:
    from dagentd.agents.followed import Followed
    from dagentd.settings import Settings
    from dagentd.store.store import Store

Command = Callable[..., Any]


project_option = click.option(
    "-C", "--project", "where", type=click.Path(exists=True, path_type=Path), default=".", show_default="here",
    help="A path in the repository.",
)  # fmt: skip
worktree_option = click.option("--worktree", help="The worktree, where several have a session of this id.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def settings_of(project: Project) -> Settings:
    from dagentd import settings  # a command that asks the daemon needs none

    return settings.load(paths.config_file(), paths.project_config_file(project.root))


def reading(where: Path) -> AbstractContextManager[Store]:
    """The project's sessions as they are on disk; nothing is written and no lock is taken."""
    from dagentd import oneshot

    return oneshot.reading(git.project_at(where))


def worktrees_of(where: Path, asked: Callable[..., Any]) -> list[str]:
    """The names of those of the repository here."""
    root = str(git.project_at(where).root)
    mine = [each for each in asked("project.list", project=None)["projects"] if each["root"] == root]
    return [name for each in mine for name in each["worktrees"]]


def there(where: Path, before: str = "") -> str:
    """Makes a command that is typed here one about the repository there."""
    with contextlib.suppress(DagentdError, OSError):  # we are in no repository
        if git.project_at(Path()).root == git.project_at(where).root:
            return ""
    return f" {before}{shlex.quote(str(where))}"


def begun_in(worktree: str, where: Path) -> str:
    return f"`dagentd new {worktree}{there(where, '-C ')}` makes one in the worktree {worktree}."


def how_to_begin(where: Path, asked: Callable[..., Any]) -> str:
    """Where there is no session yet: the command that makes one, for a worktree that is there if there is one."""
    if worktrees := worktrees_of(where, asked):
        return begun_in(worktrees[0], where)
    return f"`dagentd new FEATURE{there(where, '-C ')}` makes one, with a worktree for it."


@contextmanager
def kept_conversations() -> Iterator[Followed]:
    """Those of other agents: for what is not asked for on the socket."""
    from dagentd import oneshot, settings

    with oneshot.service(None, settings.load(paths.config_file()), writes=False) as service:
        yield service.followed


def tell_problems(problems: list[Problem], project: Project) -> None:
    """Each in one sentence with its file, named from the root of the project, and what to do."""
    for problem in problems:
        output.problem(problem.message, problem.hint, problem.path.removeprefix(f"{project.root}/"))
