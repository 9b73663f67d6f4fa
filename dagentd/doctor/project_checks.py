"""One project: its git side, dagentd's own folder there, and what is wrong with each session."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from dagentd import paths
from dagentd import settings as loading
from dagentd.adapters.files import beneath
from dagentd.adapters.files.atomic import Temps
from dagentd.adapters.files.flock import holder, is_held
from dagentd.adapters.git.command import ask
from dagentd.adapters.git.repository import check_no_pipes
from dagentd.doctor import machine
from dagentd.errors import Conflict, DagentdError, InvalidInput, NotAllowed
from dagentd.jobs import exclude as excluding
from dagentd.jobs import hooks as hook_job
from dagentd.jobs.context.feature_parts import misnamed
from dagentd.jobs.hooks.hook_changes import Line
from dagentd.model.problem import Findings
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.store.journal.index import Index
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.layout import layout
from dagentd.store.layout.closed_folders import closed
from dagentd.store.spool import Spool
from dagentd.store.store import Store

# One project: its git side, and what lies in dagentd's own folder there.

_MANY = 100  # files in the spool: hooks leave at most four for each worktree
_ASIDE = re.compile(r".+\.(corrupt|torn|lost)\.[1-9][0-9]*")


def settings(project: Project) -> Findings:
    """Beside the user's own, whose mistakes are told for themselves."""
    own, given = paths.config_file(), paths.project_config_file(project.root)
    try:
        loading.load(own)
    except InvalidInput:
        return
    try:
        loading.load(own, given)
    except InvalidInput as error:
        yield "project-settings", InvalidInput(error.message, path=error.path or given, hint=error.hint)


def hooks(project: Project) -> Findings:
    yield from silent_hooks(project, hook_job.look(project))


def silent_hooks(project: Project, lines: Iterable[Line]) -> Findings:
    lines = list(lines)
    missing = {line.event for line in lines if line.state in ("missing", "outdated")}
    if missing:
        hint = f"dagentd hooks install {project.root}"
        told = f"git does not tell about each commit: no {', '.join(sorted(missing))}"
        yield "hooks-missing", NotAllowed(told, path=project.root, hint=hint)
    left = {(line.path.parent, line.reason): line for line in lines if line.state == "left alone"}
    for line in left.values():
        yield "hooks-left-alone", NotAllowed(line.reason, path=line.path, hint=line.hint)


def exclude(project: Project) -> Findings:
    if missing := excluding.missing(project):
        told = f"git would commit {', '.join(missing)}"
        yield "exclude", NotAllowed(told, path=excluding.file_of(project), hint=f"dagentd init {project.root}")


def pipes(project: Project) -> Findings:
    """Where git itself would wait, and each check that asks it."""
    for tree in layout.checkouts(project):
        check_no_pipes(tree.worktree)
    yield from ()


def tracked(project: Project) -> Findings:
    for tree in layout.checkouts(project):
        if os.path.lexists(tree.worktree / ".git"):
            yield from in_git(tree.worktree, ask(tree.worktree, "ls-files", "--", ".dagent", ".agx").splitlines())


def in_git(worktree: Path, names: Collection[str]) -> Findings:
    if names:
        hint = f"git -C {worktree} rm -r --cached -- {next(iter(names)).partition('/')[0]}"
        yield "tracked", NotAllowed(f"{len(names)} session files are in git", path=worktree, hint=hint)


def spool(project: Project) -> Findings:
    if (count := Spool(project).count()) > _MANY:
        yield "spool", DagentdError(f"{count} files wait for a daemon", path=project.spool_dir)


def temps(project: Project) -> Findings:
    """Only where nobody writes: whoever does has some of his own."""
    left = Temps(project.temp_dir).all_left()
    if left and not is_held(project.lock_file):
        yield "temps", DagentdError(f"{len(left)} files of a process that died are left", path=project.temp_dir)


def writer(project: Project) -> Findings:
    """Asked only where no daemon of ours serves it."""
    if is_held(project.lock_file):
        told = f"{holder(project.lock_file)} is writing to this project"
        yield "read-only", Conflict(told, path=project.lock_file, hint="End it; then dagentd can write.")


def unkept(project: Project, folders: Iterable[SessionFolder]) -> Findings:
    kept = KeptJournals(project)
    for folder in folders:
        if folder.journal.is_file() and not _is_kept(folder, kept):
            yield "unkept", DagentdError("would go with its worktree: it is not kept in git's folder",
                                         path=folder.journal, hint=f"dagentd run --once {project.root}")  # fmt: skip


def _is_kept(folder: SessionFolder, kept: KeptJournals) -> bool:
    """By a link, or by a copy where there are none."""
    found = folder.journal.lstat()
    sizes = (path.lstat().st_size for path in kept.of(folder.id))
    return kept.with_inode(folder.id, found) is not None or found.st_size in sizes


def set_aside(folders: Iterable[SessionFolder], known: Collection[str]) -> Findings:
    """Once for each folder, without what is told already."""
    for place in sorted({path for folder in folders for path in (folder.path, folder.feature.path)}):
        if found := sorted({each for each in _aside_in(place) if each not in known}):
            more = f" and {len(found) - 1} more beside it" if len(found) > 1 else ""
            yield "set-aside", DagentdError(f"was set aside{more}", path=found[0])


def _aside_in(folder: Path) -> Iterator[str]:
    try:
        yield from (str(folder / name) for name in beneath.names(folder) if _ASIDE.fullmatch(name))
    except OSError:  # gone, or told as a folder that may not be read
        return


# The sessions of a project: what is wrong with each, as one sees who may only read.


def session_findings(given: Project, *, look: bool, known: Collection[str]) -> Findings:
    """`look`: into each of them, because no daemon does; one sees only now and then that a folder is closed to it.
    `known` are paths that something was said of already."""
    index = Index(None)
    store = Store(given, index, read_only=True)
    try:
        if look:
            store.reconciler.reconcile()
        problems = store.all_problems() if look else ()
        found = [(each.id, DagentdError(each.message, path=each.path or None, hint=each.hint)) for each in problems]
        found += [] if look else [("folder", error) for error in closed(given)]
        yield from found
        yield from feature_files(store.catalogue.features(), {error.path for _, error in found})
        folders = store.catalogue.folders()
        yield from unkept(given, folders)
        yield from set_aside(folders, {*known, *(error.path or "" for _, error in found)})
        yield from machine.dates(folder.journal for folder in folders)
    finally:
        store.close()
        index.close()


def feature_files(features: Iterable[FeatureFolder], known: Collection[str | None]) -> Findings:
    for feature in features:
        for name in ("feature.json", "dag.json"):
            path = feature.path / name
            try:
                layout.read_object(path)
            except FileNotFoundError:
                continue
            except DagentdError as error:
                if str(path) not in known:
                    yield "feature-file", error
        for path, told in misnamed(feature):
            yield "feature-name", DagentdError(told, path=path)
