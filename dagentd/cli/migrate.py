"""`dagentd migrate`: files of older formats become sessions, or what came of them is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import bars, output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.cli.verbs import ask, asking
from dagentd.jobs.migration.sources import DUE, WRONG, File
from dagentd.model.project import Project
from dagentd.store.layout import layout

_LONG = 3600.0  # seconds for the daemon to migrate a whole project
_SHOWN = 10  # entries of one file that are named; `--json` names all

_DONE = {"create": "session made", "add": "added to its session", "rewrite": "put in today's shape"}
_WOULD = {"create": "make a session", "add": "add to its session", "rewrite": "put in today's shape"}
_OTHER = {
    "none": "migrated already", "barred": "was taken back", "refused": "refused", "failed": "failed",
    "rolledBack": "taken back", "kept": "messages taken back, session kept",
}  # fmt: skip
_NOTHING = "No files of older formats. `dagentd sessions` lists what is there."
_NOTHING_TO_UNDO = "Nothing was migrated. `dagentd migrate --dry-run` says what would be."


@click.command()
@click.argument("where", metavar="[PATH]", default=".", type=click.Path(exists=True, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--rollback", is_flag=True, help="Take migrations back, also those the daemon did by itself.")
@json_option
def migrate(where: Path, dry_run: bool, rollback: bool, as_json: bool) -> int:
    """Make sessions of files of older formats, or take that back.

    PATH is any path in a repository; one inside .dagent or .dagent-worktrees means only what is there. Originals are
    left as they are, beside a backup. What was taken back is not migrated again by itself.
    """
    if dry_run and rollback:
        raise click.UsageError("--dry-run is of a migration, not of a rollback.")
    project = git.project_at(where)
    under = _under(project, where.resolve())
    whose = {"path": None if under is None else str(under)}
    if dry_run or rollback:
        method = "migration.plan" if dry_run else "migration.rollback"
        files = _files(ask(where, method, _LONG, **whose))
    else:
        files = _migrated(where, whose)
    if as_json:
        output.print_json({"files": [file.raw() for file in files]})
    else:
        _tell(project, files, _WOULD if dry_run else _DONE, _NOTHING_TO_UNDO if rollback else _NOTHING)
    return 1 if not dry_run and any(file.action in WRONG for file in files) else 0


def _under(project: Project, path: Path) -> Path | None:
    inside = [project.root / layout.WORKTREES, project.root / ".dagent"]
    return path if any(path.is_relative_to(folder) and path != folder for folder in inside) else None


def _migrated(where: Path, whose: dict[str, str | None]) -> list[File]:
    """With progress for somebody who looks, file by file."""
    with asking(where, _LONG) as verbs:
        due = lambda: sum(file.action in DUE for file in _files(verbs.call("migration.plan", **whose)))  # noqa: E731
        with bars.progress_bar("Migrating", due) as advance:
            verbs.follow(["migration:done", "migration:error"], advance)
            return _files(verbs.call("migration.run", **whose))


def _files(answer: dict[str, Any]) -> list[File]:
    return [File.parse(each) for each in answer["files"]]


# --- telling --------------------------------------------------------------------------------------------------


def _tell(project: Project, files: list[File], words: dict[str, str], nothing: str) -> None:
    titles = (Column("worktree"), Column("file"), Column("session", style="cyan"), Column("messages", right=True))
    rows = [(*_place(project, f), f.session_id, f.messages, _action(f, words)) for f in files]
    last = Column("to do" if words is _WOULD else "done")
    output.table([*titles, last], rows, empty=nothing)
    for file in files:
        _tell_more(project, file)


def _place(project: Project, file: File) -> tuple[str, str]:
    """The worktree, and what is the file's path in its .dagent: all of it would fill the line."""
    tree, _, path = _name(project, file).removeprefix(f"{layout.WORKTREES}/").partition(".dagent/")
    return tree.rstrip("/") or project.root.name, path


def _name(project: Project, file: File) -> str:
    return file.path.removeprefix(f"{project.root}/")


def _action(file: File, words: dict[str, str]) -> str:
    said = words.get(file.action) or _OTHER[file.action]
    return f"{said}, {file.added} new" if file.added is not None and file.action == "add" else said


def _tell_more(project: Project, file: File) -> None:
    name = _name(project, file)
    for each in file.rejected[:_SHOWN]:
        output.line(f"! {name}: entry {each.index} {each.reason}; it is left in the original")
    if len(file.rejected) > _SHOWN:
        output.line(f"! {name}: {len(file.rejected) - _SHOWN} more entries; --json names all")
    if told := file.error or file.note:
        output.problem(told, file.hint, name)
