"""What commands ask of a session about its compaction: of the daemon that serves it, or of the session itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from dagentd import alone, paths
from dagentd.adapters import git
from dagentd.cli.project import serving, settings_of
from dagentd.jobs.compaction import Compactor, How, Proposal, described
from dagentd.rpc.client import Client
from dagentd.settings import Settings
from dagentd.store.ledger import ledger
from dagentd.store.session import Session

_LONG = 7500.0  # seconds: the daemon gives up before, after twice the longest compaction.timeout


class Compaction(Protocol):
    """The answers are those of the methods of the same names."""

    def preview(self) -> dict[str, Any]: ...

    def compact(self, proposal: str | None = None, again: bool = False) -> dict[str, Any]: ...

    def undo(self) -> dict[str, Any]: ...

    def pin(self, *, item: str | None, message: str | None, pinned: bool) -> None: ...


@contextlib.contextmanager
def compaction_of(session: str, worktree: str | None, where: Path) -> Iterator[Compaction]:
    project = git.project_at(where)
    with serving(project, _LONG) as running:
        if running is not None:
            whose = {"sessionId": session, "project": str(project.root)}
            yield _ByDaemon(running, whose | ({"worktree": worktree} if worktree else {}))
            return
    settings = settings_of(project)
    with alone.writing(project, settings) as store, store.using(session, worktree) as found:
        yield _ByOurselves(found, settings)


class _ByDaemon:
    def __init__(self, running: Client, whose: dict[str, str]) -> None:
        self._running, self._whose = running, whose

    def preview(self) -> dict[str, Any]:
        return dict(self._running.call("session.previewCompaction", **self._whose))

    def compact(self, proposal: str | None = None, again: bool = False) -> dict[str, Any]:
        given: dict[str, Any] = {"proposalId": proposal} if proposal else {"again": again}
        return dict(self._running.call("session.forceCompact", **self._whose, **given))

    def undo(self) -> dict[str, Any]:
        return dict(self._running.call("session.undoCompaction", **self._whose))

    def pin(self, *, item: str | None, message: str | None, pinned: bool) -> None:
        what = {"itemId": item} if item is not None else {"messageId": message}
        self._running.call("session.pin", **self._whose, **what, pinned=pinned)


class _ByOurselves:
    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self._compactor = Compactor(ledger(paths.ledger_file()))
        self._proposals: dict[str, Proposal] = {}

    def preview(self) -> dict[str, Any]:
        found = self._compactor.propose(self._session, self._settings, How(forced=True))
        if found is not None:
            self._proposals[found.id] = found
        return described(found)

    def compact(self, proposal: str | None = None, again: bool = False) -> dict[str, Any]:
        if proposal is not None:
            return self._compactor.apply(self._session, self._proposals[proposal])
        return self._compactor.compact(self._session, self._settings, How(forced=True, again=again))

    def undo(self) -> dict[str, Any]:
        return self._compactor.undo(self._session)

    def pin(self, *, item: str | None, message: str | None, pinned: bool) -> None:
        self._session.pin(item=item, message=message, pinned=pinned)
