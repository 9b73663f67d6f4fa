"""The one door for verbs: a command calls a row of the table of methods, over the socket if a daemon serves the
project, else in this process under the same locks."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dagentd.adapters import git
from dagentd.errors import NotRunning
from dagentd.model.project import Project
from dagentd.rpc.client import Client, Subscription

if TYPE_CHECKING:
    from dagentd.oneshot import OneShot
    from dagentd.rpc.methods import Method

PATIENCE = 60.0  # seconds for an answer of the daemon


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
        client = Client(timeout=timeout)
    except NotRunning:
        yield None
        return
    with client as running:
        served = [each["root"] for each in running.call("project.list")["projects"] if not each["readOnly"]]
        yield running if str(project.root) in served else None


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
        super().__init__()
        self._project = project
        self._service: OneShot | None = None
        self._writes = False
        self._followers: list[tuple[list[str], Callable[[object], None]]] = []

    def call(self, method: str, /, **given: Any) -> Any:
        from dagentd.model.jsontext import Encoded, decode_own
        from dagentd.rpc.methods import METHODS
        from dagentd.rpc.service import Caller

        row = METHODS[method]
        caller = Caller(self._serve(row), lambda *_: True, dict)
        root = None if self._project is None else str(self._project.root)
        answer = row.answer(caller, row.parse(_named(given, root)))
        return decode_own(answer.data) if isinstance(answer, Encoded) else answer

    def follow(self, types: list[str], hear: Callable[[object], None]) -> None:
        self._followers.append((types, hear))

    def _serve(self, row: Method) -> OneShot:
        from dagentd import oneshot, paths, settings

        if self._service is None or (row.writes and not self._writes):
            self.close()
            own = None if self._project is None else paths.project_config_file(self._project.root)
            given = settings.load(paths.config_file(), *([own] if own else []))
            self._service = self.enter_context(oneshot.service(self._project, given, writes=row.writes))
            self._writes = row.writes
            for types, hear in self._followers:
                self._service.events.subscribe(_deliverer(hear), types=types)
        return self._service


def _deliverer(hear: Callable[[object], None]) -> Callable[[object, str], bool]:
    def deliver(event: object, subscription: str) -> bool:
        hear(event)
        return True

    return deliver


def _named(given: dict[str, Any], project: str | None) -> dict[str, Any]:
    everything = {"project": project, **given}
    return {name: value for name, value in everything.items() if value is not None}
