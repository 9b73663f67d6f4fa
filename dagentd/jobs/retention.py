"""How long sessions whose worktree is gone are kept: for good, or so many days on which the daemon ran."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, marks
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import CorruptFile, DagentdError
from dagentd.jobs import summaries
from dagentd.model import jsontext, times
from dagentd.model.project import GoneFolder, Project
from dagentd.settings import Settings
from dagentd.store import writer_lock
from dagentd.store.journal.index import Index
from dagentd.store.layout.layout import read_object
from dagentd.store.store import Store

_log = logging.getLogger(__name__)
_DAY = timedelta(days=1)
_WRITTEN = "2026"  # a clock that shows an earlier year has not been set yet
_WAIT = 5.0  # seconds for a daemon that was told to let go of the project


Moment = tuple[str, float]  # a run of the machine, and seconds of it: nobody can set those


@dataclass(frozen=True)
class Days:
    """On how many days after the first each kept file was found gone; when the last one counted, by both clocks."""

    last: str = ""
    of: dict[str, int] = field(default_factory=dict)
    at: Moment = ("", 0.0)

    def raw(self) -> dict[str, Any]:
        return {"lastDay": self.last, "days": self.of, "boot": self.at[0], "uptime": self.at[1]}

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Days:
        last, held, uptime = raw.get("lastDay"), raw.get("days"), raw.get("uptime")
        counts = held.items() if isinstance(held, dict) else ()
        at = (str(raw.get("boot", "")), float(uptime) if isinstance(uptime, int | float) else 0.0)
        return cls(last if isinstance(last, str) else "", {name: n for name, n in counts if isinstance(n, int)}, at)


def counted(known: Days, gone: Iterable[str], now: datetime, at: Moment) -> Days:
    """The next state. A day counts once, though the clock goes back, as on a board without a battery at each start; and
    none is shorter than a day, by the machine's own clock too where it was not started anew in between: 23:59 and 00:01
    are no two days, also not for what is found while one lasts."""
    is_over = known.at[0] != at[0] or at[1] - known.at[1] >= _DAY.total_seconds()
    if is_over and times.iso(now - _DAY) >= known.last and times.iso(now) > _WRITTEN:
        return Days(times.iso(now), {name: known.of.get(name, -1) + 1 for name in sorted(gone)}, at)
    return replace(known, of={name: known.of[name] for name in sorted(gone) if name in known.of})


def expired(days: Days, keep_days: int) -> list[str]:
    return [name for name, count in days.of.items() if count >= keep_days]


def remove_expired(store: Store, keep_days: int) -> list[str]:
    """Count today, if that has not been done, and remove what was kept long enough; the ids of those sessions. They are
    kept for good where that is 0 days."""
    if keep_days == 0:
        return []
    known, gone = days_of(store.project), {each.journal.name: each for each in store.catalogue.gone()}
    days = counted(_since(known, gone.values()), gone, clock.now(), (clock.boot(), float(round(clock.uptime()))))
    if days != known and (gone or known.of):
        data, temps = jsontext.pretty(days.raw()), Temps(store.project.temp_dir)  # which is swept after a crash
        atomic.put(_file(store.project), data, temps=temps)
    over = [gone[name] for name in expired(days, keep_days) if not store.pauses.on(gone[name].id)]
    return [each.id for each in over if _remove(store, each, keep_days)]


def _since(known: Days, gone: Iterable[GoneFolder]) -> Days:
    """Without those that somebody wrote to since the last day that counted: they were restored, or are others of the
    same name, and went again."""
    last = (times.parse(known.last) or times.NEVER).timestamp()
    anew = [each.journal.name for each in gone if (mark := marks.of(each.journal)) and mark[3] / 1e9 > last]
    return replace(known, of={name: count for name, count in known.of.items() if name not in anew})


def _remove(store: Store, gone: GoneFolder, keep_days: int) -> bool:
    removed = store.remover.discard(gone)
    if removed:
        _log.info("%s: removed: its worktree has been gone for %d days", gone.journal, keep_days)
    return removed


def clear_away(project: Project, *, purge: bool) -> list[str]:
    """Clear our folder in git's, for `dagentd remove`, once no daemon serves the project. Kept journals of sessions
    that are gone stay, unless `purge`; the others are in their worktrees. The ids of those that stay."""
    with disk.explained(project.own_dir):
        stay = _clear_kept(project, purge)
        held = writer_lock.take(project, _WAIT)
        try:
            paused = [name for name in _names_in(project.own_dir) if name.startswith(project.paused_file.name)]
            names = ["id", "lock.wanted", *paused, *([] if stay else [_file(project).name])]
            names += [project.memory_file.name] if purge else []  # the user's own words
            _remove_files(project.own_dir, names)
            for folder in (project.temp_dir, project.kept_dir):
                _remove_empty(folder)
            # Last, and held: who waits for it finds that it is no longer the file of that name, and makes another.
            _remove_files(project.own_dir, [project.lock_file.name])
        finally:
            held.release()
        _remove_empty(project.own_dir)
    return stay


def _clear_kept(project: Project, purge: bool) -> list[str]:
    index = Index(None)
    store = Store(project, index, wait=_WAIT)
    try:
        stay = [] if purge else store.catalogue.gone()
        names = {each.journal.name for each in stay}
        _remove_files(project.kept_dir, [name for name in _names_in(project.kept_dir) if name not in names])
    finally:
        store.close()
        index.close()
    return sorted({each.id for each in stay})


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not _names_in(folder):
        disk.remove_folder(folder)


def _names_in(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


def _remove_files(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(folder / name)


def days_of(project: Project) -> Days:
    try:
        return Days.parse(read_object(_file(project)))
    except (FileNotFoundError, CorruptFile):  # counted anew: they are kept for longer
        return Days()


def _file(project: Project) -> Path:
    return project.own_dir / "gone.json"


# Sessions whose worktree is gone, for a list.

_KEPT = ("type", "agentType", "featureId", "taskId", "taskState", "createdAt", "updatedAt", "stats", "restored")


def gone_sessions(store: Store, settings: Settings) -> list[dict[str, Any]]:
    """Each kept journal that is nobody's; the same session may have left several."""
    days, keep = days_of(store.project), settings.archive.keep_days
    left = {name: max(0, keep - count) for name, count in days.of.items()} if keep else {}
    return [_summary(store, each, left.get(each.journal.name, keep or None)) for each in store.catalogue.gone()]


def _summary(store: Store, gone: GoneFolder, days_left: int | None) -> dict[str, Any]:
    place = {"id": gone.id, "project": str(store.project.root), "worktree": None, "status": "gone"}
    kept = {"kept": str(gone.journal), "daysLeft": days_left}
    try:
        with store.sessions.use(gone) as session:
            document = session.document()
    except DagentdError as error:
        return {**place, **kept, "error": str(error), "hint": error.hint}
    said = summaries.counts(document, gone)
    return {**place, **{key: document[key] for key in _KEPT if key in document}, **said, **kept}
