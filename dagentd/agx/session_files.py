"""The sessions of one project: found, read, and changed by one writer at a time; each action is logged."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, fileio, lockfile
from dagentd.adapters.files.backups import save_beside
from dagentd.agx import dated_copies, document_files, lifecycle, schema, session_document, session_names
from dagentd.agx.cleanup_plan import Trashed
from dagentd.agx.configuration import Config
from dagentd.agx.folder import AgxFolder, keep_private, make_private, sweep
from dagentd.agx.values import Raw, stamp
from dagentd.errors import Conflict, CorruptFile, DagentdError, InvalidInput, NotFound
from dagentd.model import ids

# What was done to sessions, a line each, in `~/.agx/logs`: a file for each day, kept for some days.

_NAME = re.compile(r"agx-(\d{4}-\d\d-\d\d)\.log", re.ASCII)


def log_action(root: Path, session_id: str, what: str, now: datetime) -> None:
    """Write to the log what was done with a session. If that fails, it was done all the same."""
    folder = paths.agx_dir() / "logs"
    path = folder / f"agx-{now.astimezone(UTC).date().isoformat()}.log"
    with contextlib.suppress(DagentdError), disk.explained(path):
        make_private(folder.parent, folder)
        fd = disk.open_append(path) if path.exists() else disk.create(path)
        try:
            disk.write(fd, f"{stamp(now)} {root} {session_id}: {what}\n".encode("utf-8", "backslashreplace"), path)
        finally:
            os.close(fd)


def expire_logs(days: int, now: datetime) -> None:
    """Remove those of days that are longer ago; they may be another program's, of the same user and kind."""
    folder, oldest = paths.agx_dir() / "logs", now.astimezone(UTC).date() - timedelta(days=days)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if (match := _NAME.fullmatch(name)) and _is_before(match[1], oldest):
                with disk.explained(folder / name):
                    disk.remove(folder / name)


def _is_before(text: str, oldest: date) -> bool:
    try:
        return date.fromisoformat(text) < oldest
    except ValueError:
        return False


_SUFFIX = ".json"

Change = Callable[[Raw], Raw]


class AgxSessions:
    def __init__(self, folder: AgxFolder, config: Config) -> None:
        self.folder, self.config = folder, config

    @contextlib.contextmanager
    def writing(self) -> Iterator[AgxWriter]:
        """With the project's AGX lock held; the folders are made if they are not there."""
        self.folder.make()
        with lockfile.held(self.folder.lock_file):
            yield AgxWriter(self)

    def migrate(self, now: datetime) -> None:
        """Those of an older format become current, each beside a backup; one that cannot be read is left."""
        older = [each for each in self.folder.ids() if self._is_older(each)]
        if older:
            with self.writing() as writing:
                for session_id in older:
                    writing.update(session_id, lambda raw: raw, now)

    def _is_older(self, session_id: str) -> bool:
        path = self.folder.session_file(session_id)
        try:
            return schema.is_older(document_files.read(path), path) and bool(self.load(session_id))
        except (DagentdError, FileNotFoundError):
            return False

    # --- reading ------------------------------------------------------------------------------------------

    def load(self, session_id: str) -> Raw:
        path = self.folder.session_file(session_id)
        self.folder.is_there()
        try:
            return self.checked(document_files.read(path), path)
        except FileNotFoundError:
            raise NotFound(f"no AGX session {session_id!a}", path=path, hint="dagentd agx list") from None

    def checked(self, raw: Raw, path: Path) -> Raw:
        """A document that was read from `path`, in today's format."""
        raw = document_files.checked(raw, path, schema.Session, lambda old: self._lacking(old, path))
        if raw["sessionId"] != path.name.removesuffix(_SUFFIX):
            told = f"says that it is session {raw['sessionId']!a}"
            raise CorruptFile(told, path=path, hint="Give the file the name of its session, or mend sessionId.")
        return raw

    def all(self) -> tuple[list[Raw], list[DagentdError]]:
        """Those that can be read, and why others cannot."""
        found, errors = [], []
        for session_id in self.folder.ids():
            try:
                found.append(self.load(session_id))
            except NotFound:  # removed at this moment
                continue
            except DagentdError as error:
                errors.append(error)
        return found, errors

    def current(self) -> str | None:
        """The name in `.current`, whether there is such a session or not."""
        try:
            name = fileio.read(self.folder.current_file, 4096).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return None
        return name if ids.is_safe(name) else None

    def last_branch(self) -> str | None:
        try:
            return fileio.read(self.folder.branch_file, 4096).decode("utf-8", "surrogateescape").strip("\n") or None
        except FileNotFoundError:
            return None

    def of_branch(self, branch: str) -> str:
        """The id that the branch's session has, or would have."""

        def is_of_another(session_id: str) -> bool:
            try:
                return session_document.branch_of(self.load(session_id)) != branch
            except NotFound:
                return False
            except (CorruptFile, Conflict):  # damaged or newer: whoever's it is, it is not written over
                return False

        return session_names.of_branch(branch, is_of_another)

    def trash(self) -> list[Trashed]:
        return dated_copies.trashed(self.folder.trash)

    def backups(self, session_id: str) -> list[Path]:
        return dated_copies.of(self.folder.backups, session_id)

    def _lacking(self, old: Raw, path: Path) -> Raw:
        variant = path.name.removesuffix(_SUFFIX)
        return session_document.new(
            variant, self.folder.root, self.config, variant, session_document.Git(), clock.now()
        )


class AgxWriter:
    """Makes and changes sessions while the lock is held."""

    def __init__(self, sessions: AgxSessions) -> None:
        self._sessions, self._folder = sessions, sessions.folder
        sweep(self._folder.sessions, self._folder.path, self._folder.backups)

    def create(self, raw: Raw) -> Raw:
        path = self._folder.session_file(str(raw["sessionId"]))
        raw = self._counted({}, raw)
        document_files.create(path, raw)
        self._log({}, raw, clock.now())
        return raw

    def update(self, session_id: str, change: Change, now: datetime, *, backup: bool = False) -> Raw:
        """Apply a change; what it is called with is in today's format. What it leaves as it is, is not written."""
        path = self._folder.session_file(session_id)
        self._sessions.load(session_id)

        def apply(raw: Raw) -> Raw:
            older = schema.is_older(raw, path)
            before = self._sessions.checked(raw, path)
            after = session_document.modified(before, self._counted(before, change(before)), now)
            if older or (backup and after != before):
                dated_copies.back_up(path, self._folder.backups, self._sessions.config.backup_count, now)
            return after

        before, after = document_files.edit(path, apply)
        self._log(before, after, now)
        return after

    def _log(self, before: Raw, after: Raw, now: datetime) -> None:
        state = lifecycle.state_of(after)
        if state != lifecycle.state_of(before) or not before:
            reason = lifecycle.reason(after)
            log_action(self._folder.root, str(after["sessionId"]), f"{state} ({reason})" if reason else state, now)

    def _counted(self, before: Raw, after: Raw) -> Raw:
        return lifecycle.count_activity(before, after) if self._sessions.config.statistics else after

    def discard(self, session_id: str, now: datetime) -> None:
        """Into the trash: from there it can be brought back."""
        path = self._folder.session_file(session_id)
        if not os.path.lexists(path):
            raise NotFound(f"no AGX session {session_id!a}", path=path, hint="dagentd agx list")
        dated_copies.move(path, self._folder.trash, now)
        log_action(self._folder.root, session_id, "moved to the trash", now)

    def bring_back(self, session_id: str) -> bool:
        """The newest of this name in the trash; False if there is none."""
        held = next((each for each in self._sessions.trash() if each.session_id == session_id), None)
        path = self._folder.session_file(session_id)
        if held is None:
            return False
        if os.path.lexists(path):
            raise Conflict("is there already", path=path, hint="Archive and clean up that one first.")
        with disk.explained(path):
            disk.rename_new(self._folder.trash / held.name, path)
            disk.sync_folder(path.parent)
        return True

    def mend(self, session_id: str) -> bool:
        """Put the newest backup in the place of a file that makes no sense, or is gone; what it says is kept beside it.
        False if there is no backup that makes sense."""
        path = self._folder.session_file(session_id)
        for backup in reversed(self._sessions.backups(session_id)):
            try:
                raw = self._sessions.checked(document_files.read(backup), path)
            except DagentdError:
                continue
            with disk.explained(path), contextlib.suppress(FileNotFoundError):
                save_beside(path, "corrupt", fileio.read(path))
            document_files.put(path, raw)
            return True
        return False

    def delete(self, name: str) -> None:
        """Out of the trash, for good."""
        if os.path.basename(name) != name:
            raise InvalidInput(f"{name!a} is no name in the trash", hint="dagentd agx cleanup --dry-run")
        with disk.explained(self._folder.trash / name), contextlib.suppress(FileNotFoundError):
            disk.remove(self._folder.trash / name)

    def set_current(self, session_id: str | None) -> None:
        self._put(self._folder.current_file, session_id)

    def set_branch(self, branch: str | None) -> None:
        self._put(self._folder.branch_file, branch)

    def _put(self, path: Path, text: str | None) -> None:
        """Without a line end: other programs take the content as the name."""
        data = (text or "").encode("utf-8", "surrogateescape")
        with disk.explained(path):
            try:
                if fileio.read(path, 4096) == data:
                    return
            except FileNotFoundError:
                if not data:
                    return
            keep_private(path, 0o600)
            if data:
                atomic.put(path, data)
            else:
                disk.remove(path)
