"""AGX for all projects of one user: what commands, tools on the socket and the daemon do with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from dagentd import paths
from dagentd.adapters import clock, tmux
from dagentd.adapters.files import marks
from dagentd.adapters.files.marks import Mark
from dagentd.adapters.git.repository import Head, head
from dagentd.agx import actions, branches, config_files, session_files, tmux_windows, values
from dagentd.agx import cleanup as tidying
from dagentd.agx import index_entries as indexing
from dagentd.agx.claude_resume import ClaudeConversations, Conversations
from dagentd.agx.cleanup_plan import Step
from dagentd.agx.configuration import Config, effective
from dagentd.agx.folder import AgxFolder
from dagentd.agx.global_index import GlobalIndex
from dagentd.agx.session_files import AgxSessions
from dagentd.agx.values import Raw, section_of
from dagentd.errors import DagentdError, NotAllowed
from dagentd.settings.tables import Agx as AgxSettings

Seen = tuple[Head, tuple[Mark | None, ...]]
_DAILY = timedelta(days=1)


class Agx:
    """`roots` are of the projects that are registered or served: theirs are the sessions in the index."""

    def __init__(
        self, settings: Callable[[], AgxSettings], roots: Callable[[], Iterable[Path]],
        conversations: Callable[[], Conversations],
    ) -> None:  # fmt: skip
        self._settings, self._roots = settings, roots
        self._index = GlobalIndex(paths.agx_index_file(), _document, self._folders)
        self._conversations = ClaudeConversations(conversations)
        self._behind: dict[Path, DagentdError] = {}  # whose part of the index could not be written, and why
        self._cleaned: dict[Path, datetime] = {}
        self._settled: dict[Path, Seen] = {}

    # --- what there is ------------------------------------------------------------------------------------

    def sessions(self, root: Path) -> AgxSessions:
        if not self._settings().enabled:
            raise NotAllowed("AGX is switched off", path=paths.config_file(), hint="Set agx.enabled = true.")
        return AgxSessions(AgxFolder(root), self.config(root))

    def config(self, root: Path | None) -> Config:
        given, home = self._settings(), config_files.load(config_files.user())
        own = None if root is None else config_files.load(config_files.of_project(AgxFolder(root)))
        return effective(
            home.believed, own.believed if own else {}, cleanup_days=given.cleanup_days,
            index_interval=given.index_interval_s, is_certain=not (home.errors or (own and own.errors)),
        )  # fmt: skip

    def listed(self, root: Path | None, state: str | None = None) -> list[Raw]:
        """Entries as in the index; of one project from its files, with which of them is current."""
        found = self._index.entries() if root is None else self._of_project(self._seen(root))
        return [each for each in found if state in (None, section_of(each, "status").get("state"))]

    def _of_project(self, sessions: AgxSessions) -> list[Raw]:
        folder, current = sessions.folder, sessions.current()
        return [
            {**indexing.index_entry(raw, folder.session_file(raw["sessionId"]), folder.root), "isCurrent": is_current}
            for raw in sessions.all()[0]
            for is_current in (raw["sessionId"] == current,)
        ]

    def get(self, root: Path, session_id: str | None = None) -> Raw:
        sessions = self._seen(root)
        return sessions.load(session_id or actions.current(sessions))

    def _seen(self, root: Path) -> AgxSessions:
        """With what tmux says now; where that cannot be written, as they are."""
        sessions = self.sessions(root)
        with contextlib.suppress(DagentdError):
            if sessions.folder.is_there() and tmux_windows.refresh(sessions, tmux.sessions(), clock.now()):
                self._follow(root)
        return sessions

    def has(self, root: Path, session_id: str) -> bool:
        return os.path.lexists(AgxFolder(root).session_file(session_id))

    # --- what is asked for --------------------------------------------------------------------------------

    def new(self, root: Path, name: str | None = None, description: str = "", tags: Sequence[str] = ()) -> Raw:
        return self._followed(root, actions.new(self.sessions(root), name, description, tags, clock.now()))

    def switch(self, root: Path, session_id: str) -> Raw:
        return self._followed(root, actions.switch(self.sessions(root), session_id, clock.now()))

    def archive(self, root: Path, session_id: str) -> Raw:
        return self._followed(root, actions.archive(self.sessions(root), session_id, clock.now()))

    def complete(self, root: Path, session_id: str) -> Raw:
        return self._followed(root, actions.complete(self.sessions(root), session_id, clock.now()))

    def restore(self, root: Path, session_id: str) -> Raw:
        return self._followed(root, actions.restore(self.sessions(root), session_id, clock.now()))

    def claude(self, root: Path, claude_id: str, session_id: str | None = None) -> Raw:
        now, sessions = clock.now(), self.sessions(root)
        found = self._conversations.given(root, claude_id, now)
        return self._followed(root, actions.claude(sessions, session_id or actions.current(sessions), found, now))

    def open(
        self,
        root: Path,
        session_id: str | None,
        confirm: tmux_windows.Confirm,
        offer: tmux_windows.Confirm = lambda _: False,
    ) -> tuple[str, bool]:
        """The name of the tmux session, and whether it was made now. `confirm` is asked for the commands of the
        project, without which it does not open; `offer` for the one that resumes its conversation."""
        sessions, now = self.sessions(root), clock.now()
        if session_id is not None and actions.is_due(sessions, session_id):
            actions.new(sessions, session_id, "", (), now)
        opened = tmux_windows.open_session(sessions, session_id or actions.current(sessions), confirm, offer, now)
        self._follow(root)
        return opened

    def closed(self, root: Path, name: str) -> None:
        """The user left the tmux session of this name."""
        tmux_windows.closed(self.sessions(root), name, clock.now())
        self._follow(root)

    def cleanup_plan(self, root: Path, names: Sequence[str] = ()) -> list[Step]:
        sessions = self.sessions(root)
        return tidying.named(sessions, names) if names else tidying.plan(sessions, clock.now())

    def cleanup(self, root: Path, names: Sequence[str] = ()) -> list[Step]:
        """Perform the plan; the steps that were done."""
        sessions, steps = self.sessions(root), self.cleanup_plan(root, names)
        if steps or (not names and sessions.folder.is_there()):
            steps = tidying.apply(sessions, steps, clock.now(), checked=not names)
            self._follow(root, cleaned=bool(steps))
        return steps

    def cleanup_steps(self, root: Path, names: Sequence[str], dry_run: bool) -> Raw:
        """For who asks: what is done, or with `dry_run` what would be."""
        return {"steps": [step.raw() for step in (self.cleanup_plan if dry_run else self.cleanup)(root, names)]}

    def index(self, rebuild: bool = False) -> Raw:
        """Check it now, also where it is not kept up by itself; what it says beside its sessions."""
        self._index.check(everything=rebuild)
        return self._index.summary()

    # --- what happens by itself ---------------------------------------------------------------------------

    def settle(self, root: Path) -> None:
        """HEAD of the project's own checkout may have moved, or files of its sessions changed. The index does not
        follow here: many projects are settled at once, and it is one file."""
        sessions, now = self.sessions(root), clock.now()
        if not sessions.folder.is_there() or self._settled.get(root) == (before := _seen(sessions.folder)):
            return
        config_files.migrate(config_files.of_project(sessions.folder), sessions.config.backup_count, now)
        sessions.migrate(now)
        branches.follow(sessions, now)
        actions.keep_one_default(sessions, now)
        # HEAD as it was before: one that moves while it is followed is then known to be another.
        self._settled[root] = before[0], _seen(sessions.folder)[1]

    def check(self, root: Path) -> None:
        """Do what is due from time to time: nobody tells of Claude, and time itself passes. No index is written."""
        sessions, now = self.sessions(root), clock.now()
        if not sessions.folder.is_there():
            return
        self._conversations.refresh(sessions, now)
        if root not in self._cleaned:
            self._cleaned[root] = tidying.last_check(sessions)
        if now - self._cleaned[root] >= _DAILY:
            self.cleanup(root)
            self._cleaned[root] = now

    def check_all(self) -> None:
        """Ask tmux for all projects at once, and check the index. A failure leaves the rest, and is raised last."""
        errors: list[DagentdError] = []
        for act in (self._keep_home, partial(self._check_tmux, errors), self.check_index):
            try:
                act()
            except DagentdError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _keep_home(self) -> None:
        config, now = self.config(None), clock.now()
        config_files.migrate(config_files.user(), config.backup_count, now)
        session_files.expire_logs(config.log_days, now)

    def _check_tmux(self, errors: list[DagentdError]) -> None:
        there = [folder.root for folder in self._folders()]
        if not there:
            return
        running, now = tmux.sessions(), clock.now()
        for root in tmux_windows.concerned(there, running, self._index.entries()):
            try:
                tmux_windows.refresh(self.sessions(root), running, now)
            except DagentdError as error:
                errors.append(error)

    def check_index(self) -> None:
        known = self._folders() or os.path.lexists(paths.agx_index_file())
        if known and self._keeps_index():
            self._index.check()
            self._behind.clear()

    def updated(self, roots: Iterable[Path], *, cleaned: bool = False) -> None:
        """The index follows, also where it could not before."""
        due = {*roots, *self._behind}
        try:
            if self._keeps_index():
                self._index.update(map(AgxFolder, due), cleaned=cleaned)
        except DagentdError as error:
            self._behind |= dict.fromkeys(due, error)
            raise
        for root in due:
            self._behind.pop(root, None)

    def is_behind(self) -> bool:
        return bool(self._behind)

    def interval(self) -> int:
        """Seconds from one check to the next: an index that asks for another time than the usual one has it."""
        own = values.duration_seconds(self._index.summary().get("syncInterval"))
        usual = values.duration_seconds(indexing.new_index()["syncInterval"])
        return own if own and own != usual else self.config(None).index_interval

    def problems(self) -> list[DagentdError]:
        """Errors of files, as of the index and the configuration, as far as they hold up nobody."""
        files = [config_files.user(), *map(config_files.of_project, self._folders())]
        return [
            *self._behind.values(),
            *self._index.errors(),
            *(error for file in files for error in config_files.load(file).errors),
        ]

    def forget(self, root: Path) -> None:
        self._cleaned.pop(root, None)
        self._settled.pop(root, None)
        self._behind.pop(root, None)
        self._index.forget(root)

    # --- inside -------------------------------------------------------------------------------------------

    def _followed(self, root: Path, raw: Raw) -> Raw:
        """The answer to what was asked for and is done; where the index could not follow, it says so."""
        wrong = self._follow(root)
        return raw if wrong is None else {**raw, "note": f"The global index is behind, and follows later: {wrong}"}

    def _follow(self, root: Path, *, cleaned: bool = False) -> DagentdError | None:
        try:
            self.updated([root], cleaned=cleaned)
        except DagentdError as error:
            return error
        return None

    def _keeps_index(self) -> bool:
        return self._settings().enabled and self.config(None).global_index and self._index.is_automatic()

    def _folders(self) -> list[AgxFolder]:
        """Of projects that have AGX; one whose folder is barred is told of by its own jobs."""
        found = []
        for root in self._roots():
            try:
                if (folder := AgxFolder(root)).is_there():
                    found.append(folder)
            except DagentdError:
                continue
        return found


def _seen(folder: AgxFolder) -> Seen:
    """By which a project is known to be as it was when it was settled; nothing of a session is read for it."""
    files = [folder.config_file, paths.agx_config_file(), *map(folder.session_file, folder.ids())]
    return head(folder.root), tuple(marks.of(path) for path in files)


def _document(folder: AgxFolder, session_id: str) -> Raw:
    return AgxSessions(folder, Config()).load(session_id)
