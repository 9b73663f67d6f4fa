"""The one door for verbs: a command calls a row of the table of methods, over the socket if a daemon serves the
project, else in this process under the same locks."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dagentd import paths
from dagentd.adapters import git
from dagentd.errors import NotRunning, Unreachable
from dagentd.model.project import Project
from dagentd.rpc.client import Client, Subscription

if TYPE_CHECKING:
    from dagentd.oneshot import OneShot
    from dagentd.rpc.methods import Method
    from dagentd.rpc.settled import SettledProject

PATIENCE = 60.0  # seconds for an answer of the daemon


# What the documents of a session say that nobody is writing to: for these the project need not be opened.
_OFF_DOCUMENTS = ("session.get", "session.getCheckpoint", "session.getMessages", "session.getCompactionMetrics")


class Verbs(Protocol):
    def call(self, method: str, /, **given: Any) -> Any:
        """The result; parameters that are None are left out."""

    def follow(self, types: list[str], hear: Callable[[object], None]) -> None:
        """Have each event of these types told until the end."""


def ask(where: Path, method: str, timeout: float = PATIENCE, /, **given: Any) -> Any:
    """One call about the project that a path lies in."""
    with asking(where, timeout) as verbs:
        return verbs.call(method, **given)


def ask_of_all(method: str, /, **given: Any) -> Any:
    """One call that concerns no project alone."""
    try:
        with Client() as running:
            return running.call(method, **_named(given, None))
    except NotRunning:
        return _InProcess(None).call(method, **given)


@contextlib.contextmanager
def asking(where: Path, timeout: float = PATIENCE) -> Iterator[Verbs]:
    """Several calls about one project, to the same one who answers."""
    project = git.project_at(where)
    with serving(project, timeout) as running:
        if running is not None:
            yield _BySocket(running, project)
            return
    with _InProcess(project) as here:
        yield here


@contextlib.contextmanager
def serving(project: Project, timeout: float = PATIENCE) -> Iterator[Client | None]:
    """The daemon, if one runs and writes to this project; None if a command has to do it by itself."""
    try:
        os.lstat(paths.socket())  # nearly always it is not there where no daemon runs
        client = Client(timeout=timeout)
    except (FileNotFoundError, NotRunning):
        yield None
        return
    except OSError:
        client = Client(timeout=timeout)  # which says why it cannot be reached
    with client as running:
        served = [each["root"] for each in running.call("project.list")["projects"] if not each["readOnly"]]
        yield running if str(project.root) in served else None


def have_daemon_look() -> None:
    """Have it look at its projects now, and not at its next heartbeat."""
    with contextlib.suppress(Unreachable, ProcessLookupError), Client() as running:
        os.kill(running.call("daemon.status")["pid"], signal.SIGHUP)


class _BySocket:
    def __init__(self, running: Client, project: Project) -> None:
        self._running, self._project = running, str(project.root)

    def call(self, method: str, /, **given: Any) -> Any:
        return self._running.call(method, **_named(given, self._project))

    def follow(self, types: list[str], hear: Callable[[object], None]) -> None:
        events = self._running.subscribe(types=types, project=self._project)
        threading.Thread(target=_tell, args=(events, hear), daemon=True).start()


def _tell(events: Subscription, hear: Callable[[object], None]) -> None:
    """Until the connection is closed."""
    for event in events:
        hear(event)


class _InProcess(contextlib.ExitStack):
    """The first call opens the project as it needs it: who only reads takes no lock. One that writes after it opens it
    again."""

    def __init__(self, project: Project | None) -> None:
        from dagentd import settings

        super().__init__()
        own = [] if project is None else [paths.project_config_file(project.root)]
        self._project, self._settings = project, settings.load(paths.config_file(), *own)
        self._service: OneShot | None = None
        self._settled: SettledProject | None = None
        self._writes = False
        self._followers: list[tuple[list[str], Callable[[object], None]]] = []

    def call(self, method: str, /, **given: Any) -> Any:
        from dagentd.rpc.methods import METHODS
        from dagentd.rpc.service import Caller

        named = _named(given, None if self._project is None else str(self._project.root))
        row = METHODS[method]
        if self._service is None and method in _OFF_DOCUMENTS:
            from dagentd.rpc.settled import SettledProject, Unsettled

            assert self._project is not None
            self._settled = self._settled or SettledProject(self._project, self._settings, paths.index_file())
            with contextlib.suppress(Unsettled):
                return row.call(self._settled, named)
        answer = row.call(Caller(self._serve(row), _unheard), named)
        if isinstance(answer, dict | list | None):
            return answer
        from dagentd.model.jsontext import decode_own

        return decode_own(answer.data)

    def follow(self, types: list[str], hear: Callable[[object], None]) -> None:
        self._followers.append((types, hear))

    def _serve(self, row: Method) -> OneShot:
        from dagentd import oneshot

        if self._service is None or (row.writes and not self._writes):
            self.close()
            self._service = self.enter_context(oneshot.service(self._project, self._settings, writes=row.writes))
            self._writes = row.writes
            for types, hear in self._followers:
                self._service.events.subscribe(_deliverer(hear), types=types)
        return self._service


def _deliverer(hear: Callable[[object], None]) -> Callable[[object, str], bool]:
    def deliver(event: object, subscription: str) -> bool:
        hear(event)
        return True

    return deliver


def _unheard(event: object, subscription: str) -> bool:
    """Nobody subscribes to the events of a command."""
    return True


def _named(given: dict[str, Any], project: str | None) -> dict[str, Any]:
    everything = {"project": project, **given}
    return {name: value for name, value in everything.items() if value is not None}
