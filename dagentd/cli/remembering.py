"""`dagentd remember` and `dagentd recall`: a user's decisions, and what agents noted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option
from dagentd.cli.verbs import Verbs, asking
from dagentd.errors import Conflict, NotAllowed

# Set by agents for the commands that they run: what one of these says is not what its user said.
_IN_AN_AGENT = ("CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED")


@click.command()
@click.argument("text", required=False)
@click.option("--project", "whole", is_flag=True, help="For the whole repository, and not for the feature here alone.")
@click.option("--feature", metavar="ID", help="The feature, where this worktree has several.")
@click.option("--confirm", metavar="ID", help="Make a decision of an agent's note.")
@click.option("--withdraw", metavar="ID", help="Tell nobody of it any more.")
@click.option("-C", "where", type=click.Path(exists=True, path_type=Path), default=".", show_default="here",
              help="A path in the worktree.")  # fmt: skip
@json_option
def remember(
    text: str | None, whole: bool, feature: str | None, confirm: str | None, withdraw: str | None, where: Path,
    as_json: bool,
) -> None:  # fmt: skip
    """Let every agent that works on this know what you decided.

    TEXT is for the feature of this worktree, or for the worktree where it has none; with --project it is for the whole
    repository. It stands in contexts and requests as a decision of yours until you withdraw it. What an agent says
    through this command is a note, and decides nothing until you confirm it.
    """
    if sum(each is not None for each in (text, confirm, withdraw)) != 1:
        raise click.UsageError("Give a TEXT, or --confirm ID, or --withdraw ID.")
    by = "agent" if any(map(os.environ.get, _IN_AN_AGENT)) else "user"
    if by == "agent" and confirm is not None:
        raise NotAllowed("only a user decides, and this runs in an agent", hint="Ask your user to type it.")
    with asking(where) as verbs:
        if withdraw is not None:
            found = verbs.call("memory.withdraw", id=withdraw, by=by)
        elif confirm is not None:
            found = verbs.call("memory.add", confirms=confirm, by=by)
        else:
            place = {} if whole and by == "user" else _place(verbs, where, feature)
            found = verbs.call("memory.add", text=text, by=by, **place)
    if as_json:
        output.print_json(found)
    else:
        output.line(
            f"Withdrawn: {found['text']}" if withdraw else f"{_verb(found)} as {found['id']}, for {_for(found)}."
        )


@click.command()
@click.option("--all", "everything", is_flag=True, help="Of the whole repository, whatever it is for.")
@project_option
@json_option
def recall(everything: bool, where: Path, as_json: bool) -> None:
    """List what is remembered here.

    What an agent in this worktree is told: your decisions for its feature and for the repository, and what agents noted
    in it.
    """
    with asking(where) as verbs:
        found = verbs.call("memory.list", worktree=None if everything else str(git.checkout_at(where)))
    if as_json:
        output.print_json(found)
        return
    columns = [Column("id", style="cyan"), Column("is"), Column("for"), Column("since"), Column("", wrap=True)]
    rows = ((each["id"], "decided" if each["by"] == "user" else "noted", _for(each), output.ago(each["at"]),
             each["text"]) for each in found["remembered"])  # fmt: skip
    output.table(columns, rows, empty="Nothing is remembered here. `dagentd remember TEXT` does.")


def _place(verbs: Verbs, where: Path, feature: str | None) -> dict[str, str]:
    """The feature of the worktree, and the worktree; where it has several features one must be named."""
    worktree = str(git.checkout_at(where))
    here = [each["id"] for each in verbs.call("feature.list")["features"] if each["worktree"] == worktree]
    if feature is None and len(here) > 1:
        raise Conflict(f"this worktree has several features: {', '.join(here)}", hint="Name one with --feature.")
    chosen = feature or next(iter(here), None)
    return {"worktree": worktree, **({"featureId": chosen} if chosen else {})}


def _verb(entry: dict[str, Any]) -> str:
    return "Remembered" if entry["by"] == "user" else "Noted"


def _for(entry: dict[str, Any]) -> str:
    if entry["by"] != "user" or "featureId" not in entry:
        return Path(entry["worktree"]).name if "worktree" in entry else "the repository"
    return str(entry["featureId"])
