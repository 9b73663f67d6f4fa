"""Sessions whose worktree is gone: which kept journals are nobody's, and how one gets a place again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.errors import Conflict, DagentdError
from dagentd.model import ids
from dagentd.model.project import FeatureFolder, GoneFolder, Project, SessionFolder, Tree
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.layout import layout, links
from dagentd.store.layout.closed_folders import closed

_CHUNK = 1 << 20


def orphan_folders(project: Project, kept: KeptJournals, live: Iterable[SessionFolder]) -> list[GoneFolder]:
    """An entry is gone when no live journal of that id is the same file, or begins with what it holds: where links
    cannot be, the kept file is a second one, and a copied project has both as one file each. Other links to it, as in a
    trash, count only while there are folders that we cannot look into: it may be in one of those."""
    journals: dict[str, list[Path]] = {}
    for folder in live:
        journals.setdefault(folder.id, []).append(folder.journal)
    entries = ((name, path) for name, held in kept.all().items() for path in held)
    found = [_folder(name, path) for name, path in entries if not _is_live(path, journals.get(name, []))]
    linked = [each for each in found if _links(each.kept) != 1]
    hidden = linked if linked and any(closed(project)) else []
    return [each for each in found if each not in hidden]


def _folder(session_id: str, entry: Path) -> GoneFolder:
    nowhere = entry.parent
    feature = FeatureFolder("", nowhere, Tree(nowhere, nowhere), "nested")
    return GoneFolder(session_id, nowhere / session_id, "folder", feature, kept=entry)


def _is_live(entry: Path, journals: list[Path]) -> bool:
    """One that vanished at this moment is not gone either: there is nothing of it."""
    try:
        held = beneath.status(entry)
    except FileNotFoundError:
        return True
    return any(_is_file(journal, held) or _begins_with(journal, entry) for journal in journals)


def _is_file(journal: Path, held: os.stat_result) -> bool:
    try:
        return os.path.samestat(beneath.status(journal), held)
    except OSError:
        return False


def _links(entry: Path) -> int:
    try:
        return beneath.status(entry).st_nlink
    except FileNotFoundError:
        return 0


def _begins_with(journal: Path, entry: Path) -> bool:
    """A journal that is missing beside its documents counts too: it is linked again from what was kept. So does a
    file that cannot be read just now: what was kept for it is not given up for that."""
    try:
        with fileio.opened(journal) as live, fileio.opened(entry) as held:
            while chunk := held.read(_CHUNK):
                if live.read(len(chunk)) != chunk:
                    return False
    except (OSError, DagentdError):
        return not os.path.lexists(journal) or (journal.is_file() and not journal.is_symlink())
    return True


def known_fields(session: dict[str, Any]) -> dict[str, str]:
    """Of what a journal says about its session, what it can be linked by; it may be another program's words."""
    found = {key: value for key in ("featureId", "taskId") if ids.is_safe(value := session.get(key))}
    choices = {"agentType": get_args(ids.AgentType), "taskState": get_args(ids.TaskState)}
    return found | {key: session[key] for key, known in choices.items() if session.get(key) in known}


def put_back(gone: GoneFolder, feature: FeatureFolder) -> SessionFolder:
    """Give the journal a name in a feature again: the same file, or where links cannot be, one that holds the same
    and that it goes on to be the second of."""
    if any(each.id == gone.id for each in layout.sessions(feature)):
        told = f"session {gone.id} is there in feature {feature.id}, and goes on with another journal"
        raise Conflict(told, path=feature.path, hint="Restore it into another feature: --into FEATURE")
    folder = layout.new_session(feature, gone.id)
    with disk.explained(folder.path), links.session_folders(folder, feature.signs):
        try:
            disk.link(gone.kept, folder.journal)
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:  # another file system
            atomic.publish(folder.journal, [fileio.read(gone.kept, fileio.CHAT_LIMIT)], expect=None, sync=True)
        disk.sync_folder(folder.path)
    return folder
