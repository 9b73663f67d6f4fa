"""Which folders of a project are watched, and what a change in each asks for: few, and of a worktree only its root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from dagentd.formats import legacy
from dagentd.model.project import DOCUMENTS, FeatureFolder, Project, SessionFolder, Tree
from dagentd.model.triggers import (
    NOTHING,
    Agx,
    Collect,
    Look,
    Migrate,
    Moved,
    Place,
    Reconcile,
    Renew,
    RenewTree,
    Survey,
    Trigger,
    Triggers,
)  # fmt: skip
from dagentd.store.layout import layout

RULES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "PROJECT.md")
_MORE = 4  # folders of other files that contexts are made from: with root, .claude, git folder and log 8 for a worktree
_GIT = ("HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "rebase-merge", "rebase-apply")
_OF_FEATURE = ("dag.json", "spec.md", "feature-spec.md")
_LIVE = ("session", "chat", "checkpoint", "memory")  # documents that other programs write

WatchedFolders = dict[Path, Place]


def of_project(project: Project) -> WatchedFolders:
    """The folders of its trees. The root of the repository is a checkout too and comes with its tree."""
    whole = _asks(Survey())
    return {
        project.root / layout.WORKTREES: Place(folders=whole, all=whole),
        project.common_dir / "worktrees": Place(folders=whole, all=whole),
        project.spool_dir: Place(any=_asks(Collect()), all=_asks(Collect())),
    }


def of_tree(tree: Tree, git_dir: Path | None, sources: Iterable[Path] = ()) -> WatchedFolders:
    """A checkout, whether there is a .dagent in it or not. `sources` are the files that its contexts are made from
    beside those that are known by their names."""
    found = _of_checkout(tree)
    if git_dir is not None:
        found |= _of_git(tree, git_dir)
    if layout.is_tree(tree):
        found[tree.path] = _holding(tree, "feature.json", *legacy.OF_FEATURE, *_OF_FEATURE)
        for group in ("features", "features/backlog", "features/archived"):
            found[tree.path / group] = _holding(tree)
        for feature in layout.features(tree):
            found |= _of_feature(feature)
    return _with_sources(found, tree, sources)


def of_agx(tree: Tree) -> WatchedFolders:
    """Of the project's own checkout. Locks and temp files in it ask for nothing."""
    agx, survey = _asks(Agx()), _asks(Survey(tree))
    folder = tree.worktree / ".agx"
    return {
        folder: Place({"config.json": agx, "sessions": agx | survey}, all=agx | survey),
        folder / "sessions": Place({".current": agx}, json=agx, all=agx),
    }


def is_known(path: Path, worktree: Path) -> bool:
    """Whether a file that contexts are made from is heard of by its name."""
    return path in (worktree / ".claude" / "CLAUDE.md", *(worktree / name for name in RULES))


def _of_checkout(tree: Tree) -> WatchedFolders:
    """A .git that goes takes the git folders of all worktrees with it; a .dagent that is closed to us is told of the
    whole project."""
    renew, survey, whole = _asks(RenewTree(tree)), _asks(Survey(tree)), _asks(Survey())
    names = {**dict.fromkeys(RULES, renew), ".claude": renew | survey, ".agx": survey | _asks(Agx())}
    names |= dict.fromkeys((".dagent", ".git", layout.WORKTREES), whole)
    return {
        tree.worktree: Place(names, all=renew | survey),
        tree.worktree / ".claude": Place({"CLAUDE.md": renew}, all=renew),
    }


def _with_sources(found: WatchedFolders, tree: Tree, sources: Iterable[Path]) -> WatchedFolders:
    """They may lie in folders that are watched anyway, and in such as are not there yet."""
    renew, survey = _asks(RenewTree(tree)), _asks(Survey(tree))
    most = len(found) + _MORE
    for source in sorted(sources):
        folder = _nearest(source.parent, tree.worktree)
        if folder in found or len(found) < most:
            held = found.setdefault(folder, Place(all=renew))
            name = source.relative_to(folder).parts[0]
            asks = held.names.get(name, NOTHING) | (renew if folder == source.parent else renew | survey)
            found[folder] = replace(held, names={**held.names, name: asks})
    return found


def _nearest(folder: Path, top: Path) -> Path:
    """The folder, or the one above it in which a way to it would appear."""
    while top in folder.parents and not folder.is_dir():
        folder = folder.parent
    return folder


def _of_git(tree: Tree, git_dir: Path) -> WatchedFolders:
    """A commit is seen by its line in the reflog: the branch it moves is anywhere in the common folder. A branch that
    is moved from elsewhere, by `git update-ref` or a push, leaves no line there; the next full look sees it."""
    moved, survey = _asks(Moved(tree)), _asks(Survey(tree))
    names = {**dict.fromkeys(_GIT, moved), "logs": moved | survey, "worktrees": _asks(Survey())}
    return {git_dir: Place(names, all=moved | survey), git_dir / "logs": Place({"HEAD": moved}, all=moved)}


def _of_feature(feature: FeatureFolder) -> WatchedFolders:
    renew, survey, migrate = _asks(Renew(feature)), _asks(Survey(feature.tree)), _asks(Migrate(feature))
    older = dict.fromkeys(legacy.OF_FEATURE, migrate)
    names = {**dict.fromkeys(_OF_FEATURE, renew), "feature.json": renew | survey, **older}
    found = {
        feature.path: Place(names, folders=survey, all=renew | survey | migrate),
        feature.path / "attachments": Place(any=renew, all=renew),
        feature.path / "nodes": Place(folders=survey, all=survey),
    }
    for path in (feature.path / each for each in legacy.OF_FLAT_FEATURE if feature.shape == "flat"):
        found[path.parent] = Place({path.name: migrate}, all=migrate)
    for task in layout.folder_names(feature.path / "nodes"):
        own = {"task.json": renew, "plan.json": renew, **dict.fromkeys(legacy.OF_TASK, migrate)}
        found[feature.task_dir(task)] = Place(own, folders=survey, all=renew | survey | migrate)
        found[feature.task_dir(task) / "sessions"] = _holding_sessions(feature, {})
    sessions = layout.sessions(feature)
    known = {name: asks for each in sessions if each.style == "prefixed" for name, asks in _documents(each).items()}
    found[feature.sessions_dir] = _holding_sessions(feature, known)
    for each in sessions:
        if each.style == "folder":
            found[each.path] = Place(_documents(each), all=_asks(Look(feature, each.id)))
    return found


def _holding(tree: Tree, *names: str) -> Place:
    survey = _asks(Survey(tree))
    return Place(dict.fromkeys(names, survey), folders=survey, all=survey)


def _holding_sessions(feature: FeatureFolder, names: Mapping[str, Triggers]) -> Place:
    survey = _asks(Survey(feature.tree))
    return Place(names, folders=survey, sessions_of=feature, all=survey | _asks(Reconcile(feature)))


def _documents(session: SessionFolder) -> dict[str, Triggers]:
    look = _asks(Look(session.feature, session.id))
    others = [session.document(name).name for name in DOCUMENTS]  # context and role: what others write asks for nothing
    return {**dict.fromkeys(others, _asks()), **{session.document(name).name: look for name in _LIVE}}


def _asks(*asks: Trigger) -> Triggers:
    return frozenset(asks)
