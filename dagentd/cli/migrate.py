"""`dagentd migrate`: files of older formats become sessions, or what came of them is taken back."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from dagentd import alone
from dagentd.adapters import git
from dagentd.cli import output, progress
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, reading, serving, settings_of
from dagentd.jobs import archive, migration
from dagentd.jobs.migration import DUE, WRONG, File
from dagentd.model.project import FeatureFolder, Project
from dagentd.rpc.client import Subscription
from dagentd.settings import Settings
from dagentd.store import layout
from dagentd.store.store import Store

_LONG = 3600.0  # seconds for the daemon to migrate a whole project
_SHOWN = 10  # entries of one file that are named; `--json` names all

_DONE = {"create": "session made", "add": "added to its session", "rewrite": "put in today's shape"}
_WOULD = {"create": "make a session", "add": "add to its session", "rewrite": "put in today's shape"}
_OTHER = {
    "none": "migrated already", "barred": "was taken back", "refused": "refused", "failed": "failed",
    "rolledBack": "taken back", "kept": "messages taken back, session kept",
}  # fmt: skip


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
    work = _Work(project, _under(project, where.resolve()))
    files = work.planned() if dry_run else work.rolled_back() if rollback else work.done()
    if as_json:
        output.print_json({"files": [file.raw() for file in files]})
    else:
        _tell(project, files, _WOULD if dry_run else _DONE, "Nothing was migrated." if rollback else "")
    return 1 if not dry_run and any(file.action in WRONG for file in files) else 0


def _under(project: Project, path: Path) -> Path | None:
    inside = [project.root / layout.WORKTREES, project.root / ".dagent"]
    return path if any(path.is_relative_to(folder) and path != folder for folder in inside) else None


class _Work:
    """Through the daemon if one serves the project, else here under the same lock."""

    def __init__(self, project: Project, under: Path | None) -> None:
        self._project, self._under = project, under
        self._settings = settings_of(project)

    def planned(self) -> list[File]:
        """Nothing is written, so no lock is needed."""
        with reading(self._project.root) as store:
            every = store.features()
            return [file for each in every for file in migration.plan(store, each, self._settings, self._under)]

    def done(self) -> list[File]:
        with progress.bar("Migrating", lambda: sum(file.action in DUE for file in self.planned())) as advance:
            found = self._by_daemon("migration.run", advance)
            if found is not None:
                return found
            with alone.writing(self._project, self._settings) as store:
                how = (self._settings, self._under, advance)
                return [file for each in store.features() for file in _migrated(store, each, *how)]

    def rolled_back(self) -> list[File]:
        found = self._by_daemon("migration.rollback", None)
        if found is not None:
            return found
        with alone.writing(self._project, self._settings) as store:
            return [file for each in store.features() for file in migration.rollback(store, each, self._under)]

    def _by_daemon(self, method: str, advance: progress.Advance | None) -> list[File] | None:
        """None if no daemon serves the project."""
        with serving(self._project, _LONG) as running:
            if running is None:
                return None
            if advance is not None:
                types = ["migration:done", "migration:error"]
                _follow(running.subscribe(types=types, project=str(self._project.root)), advance)
            return [File.parse(each) for each in running.call(method, **self._given())["files"]]

    def _given(self) -> dict[str, str]:
        return {"project": str(self._project.root), **({"path": str(self._under)} if self._under else {})}


def _migrated(
    store: Store, feature: FeatureFolder, settings: Settings, under: Path | None, advance: progress.Advance
) -> list[File]:
    """What came to its end long ago is archived at once, as the daemon does."""
    files = migration.run(store, feature, settings, under, advance)
    if any(file.action in DUE for file in files):
        archive.archive_ended(store, feature, settings)
    return files


def _follow(events: Subscription, advance: progress.Advance) -> None:
    """Until the connection is closed."""

    def run() -> None:
        for event in events:
            advance(event)

    threading.Thread(target=run, daemon=True).start()


# --- telling --------------------------------------------------------------------------------------------------


def _tell(project: Project, files: list[File], words: dict[str, str], nothing: str) -> None:
    titles = (Column("worktree"), Column("file"), Column("session", style="cyan"), Column("messages", right=True))
    rows = [(*_place(project, f), f.session_id, f.messages, _action(f, words)) for f in files]
    last = Column("to do" if words is _WOULD else "done")
    output.table([*titles, last], rows, empty=nothing or "No files of older formats.")
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
