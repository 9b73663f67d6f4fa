"""Finding things: the trees of a project, the features in a tree, the sessions of a feature, and dagentd's own
folder."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import git
from dagentd.adapters.files import beneath, fileio
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, from_oserror
from dagentd.model import ids, jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import DOCUMENTS, FeatureFolder, Project, SessionFolder, Shape, Style, Tree
from dagentd.store.layout.rolled_back import is_rolled_back

WORKTREES = beneath.WORKTREES
_PREFIXED = re.compile(r"(session|history)_(.+)\.jsonl?")
GROUPS = ("features", "features/backlog", "features/archived")  # where nested features are, in a tree
_FLAT_SIGNS = ("feature.json", "sessions", "nodes", "chat.json", "context-chat")


def trees(project: Project) -> list[Tree]:
    """`.dagent-worktrees/*/.dagent` and the project's own `.dagent`; a link that leads out of its worktree is none."""
    return [tree for tree in checkouts(project) if is_tree(tree)]


def checkouts(project: Project) -> list[Tree]:
    """Where a tree is or could be. A worktree that the user keeps elsewhere, with a link to it or to the folder of all,
    is where it really is: what is in its place by then is opened without following any link."""
    holders = dict.fromkeys(place for _, place in _worktrees(project) if place)
    return [Tree(holder / ".dagent", holder) for holder in (*holders, project.root)]


def foreign_links(project: Project) -> list[Path]:
    """Links in the place of a worktree that lead to none of this repository, as git keeps it in mind."""
    return [named for named, place in _worktrees(project) if place is None]


def _worktrees(project: Project) -> list[tuple[Path, Path | None]]:
    folder = project.root / WORKTREES
    named = [folder / name for name in folder_names(folder)]
    linked = named if os.path.islink(folder) else list(filter(os.path.islink, named))
    ours = (
        set(git.linked_worktrees(project.common_dir).values()) if linked else set()
    )  # free of links as git wrote them
    places = {each: real if (real := beneath.real(each)) in ours else None for each in linked}
    return [(each, places.get(each, each)) for each in named]


def is_tree(tree: Tree) -> bool:
    return os.path.isdir(tree.path) and not beneath.leads_out(tree.path)


def features(tree: Tree) -> list[FeatureFolder]:
    found: list[tuple[str, Path, Shape]] = []
    if any(os.path.lexists(tree.path / sign) for sign in _FLAT_SIGNS):
        found.append((_feature_id(tree.path, tree.worktree.name), tree.path, "flat"))
    for group in GROUPS:
        for name in folder_names(tree.path / group):
            path = tree.path / group / name
            if group == GROUPS[0] and name in ("backlog", "archived") and not os.path.lexists(path / "feature.json"):
                continue
            if not beneath.leads_out(path):
                found.append((name, path, "nested"))
    return [
        FeatureFolder(name, path, tree, shape, named=os.path.lexists(path / "feature.json"))
        for name, path, shape in found
    ]


def _feature_id(folder: Path, otherwise: str) -> str:
    """`feature.json`'s id, if it has one that could be part of a path; else the name of the worktree's folder."""
    try:
        given = read_object(folder / "feature.json").get("id")
    except (FileNotFoundError, DagentdError):
        return otherwise
    return given if isinstance(given, str) and ids.is_safe(given) else otherwise


def sessions(feature: FeatureFolder) -> list[SessionFolder]:
    """Sessions that have a session document or a journal, but for those that were taken back. One that is both in
    `sessions/` and under `nodes/` is the one in `sessions/`, and of both styles there the prefixed one, which the app
    writes; see `twins`."""
    return [with_names(folder) for folder in _bare(feature) if not is_rolled_back(folder)]


def session(feature: FeatureFolder, session_id: str) -> SessionFolder | None:
    """The one of `sessions` with this id, without looking at the others' documents."""
    found = next((folder for folder in reversed(everywhere(feature)) if folder.id == session_id), None)
    return with_names(found) if found is not None and not is_rolled_back(found) else None


def _bare(feature: FeatureFolder) -> list[SessionFolder]:
    """Each by its names alone, in the order of their ids."""
    found = {folder.id: folder for folder in everywhere(feature)}
    return [found[name] for name in sorted(found)]


def everywhere(feature: FeatureFolder) -> list[SessionFolder]:
    """By their names alone, also those that were taken back: of several with one id, the last is the session."""
    found: list[SessionFolder] = []
    for task in folder_names(feature.path / "nodes"):
        found += _in(feature.task_dir(task) / "sessions", feature, task)
    return [*found, *reversed(list(_in(feature.sessions_dir, feature, None)))]


def session_ids(feature: FeatureFolder) -> list[str]:
    """By the names of their files alone; a session that was taken back is among them."""
    return [folder.id for folder in _bare(feature)]


def twins(folder: SessionFolder) -> list[SessionFolder]:
    """The same session in another place of the same feature."""
    places = everywhere(folder.feature)
    return [with_names(twin) for twin in places if twin.id == folder.id and twin.path != folder.path]


def files_of(folder: SessionFolder) -> list[Path]:
    """The journal and the documents of a session that are there."""
    named = (folder.journal, *(folder.document(name) for name in DOCUMENTS))
    return [path for path in named if os.path.lexists(path)]


def second_chat(folder: SessionFolder) -> Path | None:
    """A chat under its conventional name beside the one that session.json names."""
    usual = folder.conventional("chat")
    return usual if usual != folder.document("chat") and os.path.exists(usual) else None


def _in(place: Path, feature: FeatureFolder, task: str | None) -> Iterator[SessionFolder]:
    try:
        with beneath.entries(place) as found:
            names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
    except OSError:  # not there, or `closed`
        return
    prefixed = (match for name, _ in names if (match := _PREFIXED.fullmatch(name)))
    for session_id in dict.fromkeys(match[2] for match in prefixed):
        if ids.is_safe(session_id):
            yield SessionFolder(session_id, place, "prefixed", feature, task)
    for name, is_folder in names:
        if is_folder and ids.is_safe(name):
            folder = SessionFolder(name, place / name, "folder", feature, task)
            if any(map(os.path.lexists, (folder.document("session"), folder.journal))):
                yield folder


def with_names(folder: SessionFolder) -> SessionFolder:
    """The same, with the file names that session.json gives: only bare names of files that exist count, and none
    that is another document's or the journal's."""
    try:
        given = read_object(folder.conventional("session")).get("files")
    except (FileNotFoundError, DagentdError):
        return folder
    names: dict[str, str] = {}
    taken = {folder.journal.name, *map(folder.usual_name, DOCUMENTS)}
    for document, key in zip(DOCUMENTS, ("session", "chat", "checkpoint", "context", "agentDescription"), strict=True):
        name = given.get(key) if isinstance(given, dict) and document != "session" else None
        own = name == folder.usual_name(document) or name not in taken
        if isinstance(name, str) and own and ids.is_safe(name) and os.path.isfile(folder.path / name):
            names[document] = name
            taken.add(name)
    return SessionFolder(folder.id, folder.path, folder.style, folder.feature, folder.task_id, names)


def new_session(feature: FeatureFolder, session_id: str) -> SessionFolder:
    """Where a new session goes: in the style that the feature has, else by its shape."""
    style: Style = "prefixed" if feature.shape == "flat" else "folder"
    held = next((folder for folder in _bare(feature) if not is_rolled_back(folder)), None)
    if held:
        style = held.style
    path = feature.sessions_dir / session_id if style == "folder" else feature.sessions_dir
    return SessionFolder(session_id, path, style, feature)


def read_object(path: Path) -> dict[str, Any]:
    """A document of somebody else's; FileNotFoundError if there is none, CorruptFile if it is no JSON object."""
    return decoded(path, fileio.read(path))


def decoded(path: Path, data: bytes) -> dict[str, Any]:
    try:
        return jsontext.decode_object(data)
    except Undecodable as error:
        raise CorruptFile(str(error), path=path, hint="Mend the file or move it away; it was left as it is.") from None


def checked_folder(path: Path) -> Path:
    """A folder of a feature that is about to be written in."""
    if beneath.leads_out(path):
        raise NotAllowed("leads out of its worktree", path=path, hint="Replace the link by a folder.")
    return path


def folder_names(path: Path) -> list[str]:
    """The folders in a folder, links to such too; none where there is none or we may not look: see `closed`. That the
    system cannot look just now is an error: a project without worktrees is another thing."""
    try:
        names = []
        with beneath.entries(path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # a link to itself
                    names += [entry.name] if entry.name != beneath.TREE and entry.is_dir() else []
        return sorted(names)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself, or out of its worktree
            return []
        raise from_oserror(error, path) from error


def has_memories(feature: FeatureFolder, project: Project) -> bool:
    """Whether the app's newest version is in use here, which cannot do without them."""
    if any(os.path.lexists(each / "context-chat") for each in (project.root / ".dagent", feature.tree.path)):
        return True
    names, features = list[str](), feature.tree.path / "features"
    for folder in (feature.sessions_dir, *(features / each / "sessions" for each in folder_names(features))):
        with contextlib.suppress(OSError), beneath.entries(folder) as found:
            names += [entry.name for entry in found]
    return any(name.startswith("memory_") for name in names)


# Old ids: a session that was migrated from a single file is found by the id that it had there too.


def session_meant_by(alias: str, folders: Iterable[SessionFolder]) -> str | None:
    """The session with this old id; asked only where no session has it as its own."""
    return next((folder.id for folder in folders if alias in _aliases(folder)), None)


def _aliases(folder: SessionFolder) -> list[object]:
    try:
        found = read_object(folder.document("session")).get("aliases")
    except (FileNotFoundError, DagentdError):
        return []
    return found if isinstance(found, list) else []
