"""`dagentd new`: a session to begin with, and before it its feature and its worktree where there is none."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import get_args

import click

from dagentd.adapters import git
from dagentd.adapters.git import command
from dagentd.cli import output
from dagentd.cli.project import json_option, project_option, worktrees_of
from dagentd.cli.verbs import Verbs, asking
from dagentd.errors import DagentdError, NotFound
from dagentd.model import ids
from dagentd.model.project import Project

# Not `yes`: that is what whoever removes something is asked, and then only a whole id will do.
yes_option = click.option("--yes", "may_add", is_flag=True, help="Do not ask.")


@click.command()
@click.argument("feature")
@click.option("--task", metavar="TASK", help="A session of this task of the feature.")
@click.option("--role", type=click.Choice(get_args(ids.AgentType)), default="pm", show_default=True, help="Whose.")
@yes_option
@project_option
@json_option
def new(feature: str, task: str | None, role: str, may_add: bool, where: Path, as_json: bool) -> None:
    """Make a session, and its feature if there is none.

    The feature is in the worktree .dagent-worktrees/FEATURE. Where that is not there either, it asks whether git shall
    make it, with a branch of the same name; a link there to a worktree that you keep elsewhere will do too. A session
    that is there already stays as it is.
    """
    project = git.project_at(where)
    with asking(where) as verbs:
        make_sure_of(feature, project, verbs, may_add)
        kind = {"type": "feature" if task is None else "task", "taskId": task}
        made = verbs.call("session.getOrCreate", **kind, agentType=role, featureId=feature)
    if as_json:
        output.print_json(made)
        return
    output.line(f"{made['id']} is there, in {made['worktree']}.")
    output.line(f"Next: `dagentd add {made['id']} 'What is to be done'`, `dagentd context {made['id']}`.")


def make_sure_of(feature: str, project: Project, verbs: Verbs, yes: bool) -> None:
    """Make the feature if there is none, and before it its worktree, if the user wants that."""
    ids.checked(feature, "feature id")
    if any(each["id"] == feature for each in verbs.call("feature.list")["features"]):
        return
    place = project.root / ".dagent-worktrees" / feature
    if not os.path.lexists(place) and feature not in worktrees_of(project.root, verbs.call):  # kept elsewhere
        _add_worktree(feature, project, place, yes)
    verbs.call("feature.create", featureId=feature)


def _add_worktree(feature: str, project: Project, place: Path, yes: bool) -> None:
    made = command.worktree_to_add(project.root, place, feature)
    there = () if os.path.samefile(".", project.root) else ("-C", str(project.root))
    words = shlex.join(("git", *there, *(each.removeprefix(f"{project.root}/") for each in made)))
    if not yes and not output.can_ask():
        raise NotFound(f"there is no worktree for {feature}", path=place, hint=f"Add --yes, or run `{words}`.")
    if not yes:
        output.make_sure(f"There is no worktree for {feature}. Run `{words}`?")
    try:
        command.change(project.root, *made)
    except DagentdError as error:
        with contextlib.suppress(DagentdError):  # of another worktree: git's own words matter here
            error.hint = _remedy(feature, project, place) or error.hint
        raise


def _remedy(feature: str, project: Project, place: Path) -> str:
    """Git says why it refused; how one goes on, where we know."""
    if git.head(project.root).commit is None:
        return "There is no commit yet: `git commit --allow-empty -m Begin` makes one."
    linked = git.linked_worktrees(project.common_dir).values()
    if there := [each for each in linked if git.head(each).branch == feature]:
        folder, here, elsewhere = (shlex.quote(str(path)) for path in (place.parent, place, there[0]))
        words = f"mkdir -p {folder} && ln -s {elsewhere} {here}"
        return f"To have the feature in that worktree: `{words}`, then the same command again."
    return ""
