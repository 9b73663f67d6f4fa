"""Migration: every file of an older format becomes a session, and nothing is lost doing it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.files import atomic
from dagentd.errors import Conflict, CorruptFile, DagentdError
from dagentd.formats.legacy import shape_at
from dagentd.jobs.migration import sources
from dagentd.jobs.migration.apply import apply, take_back
from dagentd.jobs.migration.apply import unseen as unseen
from dagentd.jobs.migration.sources import DUE, WRONG, Action, File, Found, Known, NewerFormat, Seen, Unit, marks_of
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.store import Store
from dagentd.waiting import apart

# Deciding what is to be done with each legacy file, from what was read alone.


def decide(found: Found, known: Known, *, asked: bool) -> Action:
    """One that was taken back is migrated again only when somebody asks for it, or when it has changed since."""
    if _as_before(found, {path: each["sha256"] for path, each in known.migrated.items()}):
        return "none"
    if not asked and _as_before(found, known.barred):
        return "barred"
    if found.converted.format == "L5":
        return "rewrite"
    return "add" if found.converted.session_id in known.sessions else "create"


def _as_before(found: Found, hashes: dict[str, str]) -> bool:
    pairs = zip(found.unit, found.contents, strict=True)
    return all(hashes.get(file.source.path) == content.sha256 for file, content in pairs)


def plan_lines(found: Found, action: Action, added: int | None = None) -> list[File]:
    """Report on each file, with the messages at the chat where there are several."""
    new = found.converted
    result = []
    for file in found.unit:
        has_messages = file.document in (None, "chat")
        count, rejected = (len(new.messages), new.rejected) if has_messages else (0, [])
        extra = added if has_messages else None
        result.append(File(str(file.path), new.format, new.session_id, count, action, rejected, extra))
    return result


def failures(unit: Unit, error: DagentdError) -> list[File]:
    """The one file that is to blame, or all if nobody knows."""
    action: Action = "refused" if isinstance(error, NewerFormat) else "failed"
    blamed = [file for file in unit if str(file.path) == error.path] or list(unit)
    return [
        File(str(file.path), None, file.session_id, 0, action, error=error.message, hint=error.hint) for file in blamed
    ]


def mark_done(unit: Unit, known: Known) -> list[File]:
    """Report on files that were migrated just as they are."""
    return [_done(str(file.path), known.migrated[file.source.path]) for file in unit]


def _done(path: str, entry: dict[str, object]) -> File:
    count, shape = entry.get("messages"), shape_at(str(entry["path"]))
    return File(path, shape, str(entry["sessionId"]), count if isinstance(count, int) else 0, "none")


_TRIES = 20  # for a file that another program goes on writing

Tell = Callable[[File], None]


def nobody(_: File) -> None:
    """For one who waits for the whole."""


def plan(store: Store, feature: FeatureFolder, settings: Settings, under: Path | None = None) -> list[File]:
    """Report what `run` would do when asked."""
    known, settle = sources.known_of(store.sessions, feature), settings.watch.settle_ms / 1000
    return [file for unit in _chosen(feature, under) for file in _planned(unit, known, settle)]


def _planned(unit: Unit, known: Known, settle: float) -> list[File]:
    try:
        found = sources.read_sources(unit, settle)
    except FileNotFoundError:
        return []
    except DagentdError as error:
        return failures(unit, error)
    if found is None:
        return []
    action = decide(found, known, asked=True)
    known.sessions[found.converted.session_id] = found.converted.session_id  # by then it is there
    return plan_lines(found, action)


def automatic(store: Store, feature: FeatureFolder, settings: Settings, seen: Seen) -> list[File]:
    """Migrate as the daemon does by itself: only files that are not as they were when last looked at are read."""
    if store.read_only:
        return []
    if not settings.migration.enabled or store.pauses.of_project():
        store.rollback.resume(feature)
        return []
    return _Run(store, feature, settings, seen, asked=False).all_of(None)


def run(
    store: Store, feature: FeatureFolder, settings: Settings, under: Path | None = None, tell: Tell = nobody
) -> list[File]:
    """Migrate as somebody asked for: everything, or what is under a path; also what was taken back before."""
    return running(store, feature, settings, under, tell)()


def running(
    store: Store, feature: FeatureFolder, settings: Settings, under: Path | None, tell: Tell = nobody
) -> Callable[[], list[File]]:
    """The same, to be called again where some of it had to wait."""
    store.importer.check_writable()
    return partial(_Run(store, feature, settings, Seen(), asked=True, tell=tell).all_of, under)


def rollback(store: Store, feature: FeatureFolder, under: Path | None = None) -> list[File]:
    """Take back all migrations, or those of files under a path."""
    return take_back(store.sessions, store.rollback, feature, under)


def problems(files: list[File]) -> list[Problem]:
    """The problems that the user should look at, one for each file that failed."""
    wrong = [(file, DagentdError(file.error or "", path=file.path, hint=file.hint)) for file in files if file.error]
    return [Problem.of(f"migration-{file.action}", error, clock.stamp()) for file, error in wrong]


def _chosen(feature: FeatureFolder, under: Path | None) -> list[Unit]:
    """A session's documents belong together: if one is meant, all are."""
    every = sources.units(feature)
    return every if under is None else [unit for unit in every if any(each.path.is_relative_to(under) for each in unit)]


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for cycles: a long chat is a hundred thousand objects without any, and looking through them
    again and again took a tenth of the time, in which all threads stood still. It is off for them too: what they leave
    in cycles waits for as long as one file takes. Of two who migrate at once, the first to end switches it on."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Run:
    """One turn in one feature. Each file is read, migrated and let go before the next."""

    def __init__(
        self, store: Store, feature: FeatureFolder, settings: Settings, seen: Seen, *, asked: bool, tell: Tell = nobody
    ) -> None:
        self._store, self._feature, self._seen, self._asked, self._tell = store, feature, seen, asked, tell
        self._keep, self._settle = settings.migration.backups, settings.watch.settle_ms / 1000
        self._said: dict[Path, list[File]] = {}

    def all_of(self, under: Path | None) -> list[File]:
        """Done again where some of it had to wait, this says all that was done."""
        if self._seen.is_new(self._feature):
            self._store.rollback.resume(self._feature)
        for unit in _chosen(self._feature, under):
            if unit[0].path not in self._said:
                with apart():
                    self._said[unit[0].path] = self._one(unit)
        return [file for said in self._said.values() for file in said]

    def _one(self, unit: Unit) -> list[File]:
        if (before := self._seen.unchanged(unit)) is not None:
            return before
        now = marks_of(unit)
        try:
            said, lasting = self._attempt(unit)
        except FileNotFoundError:
            return []
        if lasting and not any(file.action == "paused" for file in said):
            self._seen.note(unit, now, said)
        if self._seen.is_news(unit, said):
            self._announce(said)
        return said

    def _attempt(self, unit: Unit) -> tuple[list[File], bool]:
        """Migrate, and say whether the result holds until the files change: a problem of the disk may pass."""
        known = self._known
        for _ in range(_TRIES):
            try:
                self._store.noted.came_of(unit[0].path, None)
                if sources.is_done(unit, known):
                    return mark_done(unit, known), True
                with uncollected():
                    found = sources.read_sources(unit, self._settle)
                    return self._migrated(found, known) if found else [], True
            except atomic.Changed:
                continue
            except DagentdError as error:
                atomic.check_there([file.path for file in unit])  # or its feature was moved meanwhile
                self._store.noted.came_of(unit[0].path, error)
                about_content = isinstance(error, CorruptFile) and error.path in {str(file.path) for file in unit}
                return failures(unit, error), about_content
        hint = "Try again when it has ended."
        busy = Conflict("another program keeps writing this file", path=unit[0].path, hint=hint)
        return failures(unit, busy), False

    def _migrated(self, found: Found, known: Known) -> list[File]:
        action = decide(found, known, asked=self._asked)
        if action in DUE and not self._asked and self._store.pauses.on(found.converted.session_id):
            return plan_lines(found, "paused")
        if action not in DUE:
            return plan_lines(found, action)
        added = apply(self._store.importer, self._store.temps, found, self._keep, self._settle)
        known.sessions[found.converted.session_id] = found.converted.session_id
        return plan_lines(found, action, added)

    @cached_property
    def _known(self) -> Known:
        return sources.known_of(self._store.sessions, self._feature)

    def _announce(self, said: list[File]) -> None:
        for file in said:
            self._tell(file)
            if file.action in (*DUE, *WRONG):
                raw = file.raw()
                fields = {key: raw[key] for key in ("path", "format", "messages", "added", "error") if key in raw}
                rejected = {"rejected": len(file.rejected), "action": file.action}
                kind = "migration:error" if file.action in WRONG else "migration:done"
                self._store.importer.announce(kind, self._feature, file.session_id, **fields, **rejected)


__all__ = ["DUE", "WRONG", "File", "Seen", "automatic", "plan", "problems", "rollback", "run", "running", "unseen"]
