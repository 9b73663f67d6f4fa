"""The daemon: build the parts, start them in order, wait, stop in reverse."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd import __version__, paths
from dagentd.adapters import clock, log
from dagentd.adapters.files.flock import single_instance
from dagentd.adapters.process import share_heap
from dagentd.adapters.service_manager import Supervisor
from dagentd.adapters.signals import Signals
from dagentd.adapters.watch import Watch
from dagentd.agents.upkeep import AgentsUpkeep
from dagentd.agx.agx_upkeep import AgxUpkeep
from dagentd.errors import DagentdError, expected
from dagentd.events import Events
from dagentd.model.problem import Problem
from dagentd.model.project import Project, Registered, SessionFolder
from dagentd.model.report import Report
from dagentd.model.triggers import in_a_hurry
from dagentd.oneshot import index_file
from dagentd.rpc.client import Client
from dagentd.rpc.protocol import logged
from dagentd.rpc.server import Server
from dagentd.serving.background_compaction import BackgroundCompaction
from dagentd.serving.maintenance import Maintenance
from dagentd.serving.pause_timer import PauseTimer
from dagentd.serving.projects import Projects
from dagentd.serving.status import Status
from dagentd.serving.watching import Watching
from dagentd.settings import Settings
from dagentd.settings.current import CurrentSettings
from dagentd.store.journal.index import Index
from dagentd.store.ledger import ledger
from dagentd.store.registry import Registry
from dagentd.store.store import Store
from dagentd.worker import Worker

if TYPE_CHECKING:
    from dagentd.agents.followed import Followed
    from dagentd.agents.opening import Openings
    from dagentd.agx.agx import Agx
    from dagentd.jobs.migration import File

PROTOCOL = 1
_HEARTBEAT = 5.0  # seconds between two looks at what nobody tells us about: the socket's file, the registry
# Seconds for which a thread may hold the interpreter while others want it. By Python's own 5 ms, whoever adds a message
# waited that long after each system call while documents were written.
_TURN = 0.0005
_DRAIN = 2.0  # seconds for clients, and then for jobs, when we are told to stop: 5 are allowed
_CLOSE = 0.9  # seconds for documents that are behind

_log = logging.getLogger(__name__)


class Daemon:
    """Serves the projects given, or without any the registered ones, until it is told to stop."""

    def __init__(self, given: Sequence[Project], supervisor: Supervisor) -> None:
        self._given, self._supervisor = given, supervisor
        self._settings = CurrentSettings(paths.config_file(), paths.project_config_file, clock.stamp)
        self.events = Events(clock.stamp, _bug)
        self._registry = Registry(paths.registry_file())
        self._started = clock.monotonic()
        self._looked = self._started
        self._exit = 0
        self._degraded = False
        self._told: set[tuple[str, str]] = set()  # the problems that are in the log, by their places and words

    def run(self, ready: Callable[[], None]) -> int:
        share_heap()
        sys.setswitchinterval(_TURN)
        self._lock = single_instance()
        try:
            return self._run(ready)
        except DagentdError as error:
            _log.error("%s", error)
            raise
        except Exception as error:
            _bug(error)
            raise
        finally:
            self._lock.release()

    def _run(self, ready: Callable[[], None]) -> int:
        with contextlib.ExitStack() as stack:
            self._signals = Signals(self._reload)
            stack.callback(self._signals.close)
            index = Index(index_file())
            self._worker = Worker(4, clock.stamp, _bug, for_askers=1)
            self._maintenance = Maintenance(self._worker, self._settings.of)
            self._agx = AgxUpkeep(
                self._worker,
                lambda: self._settings.user.agx,
                lambda: self._agents.resumable(),
                lambda: self._watching.follow_more(),
            )
            self._agents = AgentsUpkeep(
                paths.state_dir(),
                lambda: self._settings.user,
                self._registered,
                self.events.publish,
                lambda: self._watching.follow_more(),
                _bug,
            )
            self._watching = Watching(
                self._maintenance,
                self._agx,
                self._agents,
                self.events.publish,
                (paths.registry_file(), paths.config_file()),
                self._signals.wake,
                _bug,
            )
            self.compacting = BackgroundCompaction(
                self._maintenance, self._settings.of, ledger(paths.ledger_file()), _bug
            )
            self._budget = self.compacting.budget
            self.pausing = PauseTimer(self._watching, self._budget)
            self.projects = Projects(
                self._settings.of, index, self._maintenance, self._watching, self._budget, self.events.publish
            )
            parts = (self._settings, self._watching, self._maintenance, self._budget, self.compacting, self._agx,
                     self._agents, self.projects)  # fmt: skip
            self._status = Status(self._worker, self.compacting, parts)
            stack.callback(self._finish, index)
            self._server = Server(paths.socket(), self)
            self._follow()
            self._server.start(self._supervisor.listener)
            stack.callback(self._server.stop, _DRAIN)
            self._supervisor.ready()
            ready()
            self._attempt(self._begin)
            _log.info("dagentd %s is ready, projects served: %d", __version__, len(self.projects.stores()))
            self._wait()
            self._supervisor.stopping()
        return self._exit

    def _begin(self) -> None:
        """Not before we are ready: what this loads takes 100 ms. Clients may have taken all descriptors by then, and
        it fails; so each beat begins what has not begun."""
        if not self._watching.begun:
            self._watching.start(self._watch())
        if not self._agents.begun:
            self._agents.start()

    def _watch(self) -> Watch:
        given = self._settings.user.watch
        settle, ceiling = given.settle_ms / 1000, given.ceiling_ms / 1000
        return Watch(paths.cookie_file(), settle=settle, ceiling=ceiling, mode=given.mode, hurry=in_a_hurry)

    def _finish(self, index: Index) -> None:
        """End. What runs too long is left: journals hold all that was acknowledged; the next start does the rest."""
        self._watching.close()
        self._agents.close()
        if not (self.compacting.close(_DRAIN) and self._worker.drain(_DRAIN)):
            _log.warning("a job takes too long to wait for; the next start goes on with it")
        elif not self.projects.close(_CLOSE):
            _log.warning("documents cannot be written now; the next start writes them")
        else:
            index.close()

    # --- what the methods see ------------------------------------------------------------------------------

    def stores(self) -> list[Store]:
        return self.projects.stores()

    def settings_of(self, project: Project) -> Settings:
        """With what the project sets for itself."""
        return self._settings.of(project.root)

    def scan(self, store: Store) -> Report:
        return self._maintenance.scan(store)

    def give_context(self, store: Store, folder: SessionFolder) -> None:
        self._maintenance.give_context(store, folder)

    def freshen_context(self, store: Store, folder: SessionFolder) -> None:
        self._maintenance.freshen(store, folder)

    def rebuild_context(self, store: Store, folder: SessionFolder) -> dict[str, Any] | None:
        return self._maintenance.rebuild(store, folder)

    def migrate(self, store: Store, under: Path | None) -> list[File]:
        return self._maintenance.migrate_now(store, under)

    def roll_back(self, store: Store, under: Path | None) -> list[File]:
        return self._maintenance.roll_back(store, under)

    @property
    def agx(self) -> Agx:
        return self._agx.jobs

    @property
    def followed(self) -> Followed:
        return self._agents.followed

    @property
    def openings(self) -> Openings:
        return self._agents.openings

    def shut_down(self) -> None:
        self._signals.stop()

    def status(self) -> dict[str, Any]:
        trouble, user = self._status.trouble(), self._settings.user
        return {
            "pid": os.getpid(),
            "health": "stopping" if self._signals.stopping.is_set() else "degraded" if trouble else "ok",
            "version": __version__,
            "protocol": PROTOCOL,
            "uptime": round(clock.monotonic() - self._started, 1),
            **self._status.told(user),
            "projects": self._status.projects({store: self._watching.worktrees(store) for store in self.stores()}),
            "watches": {**self._watching.status(), "everySeconds": user.watch.reconcile_s},
            "agents": self._agents.status(),
            "connections": self._server.count(),
            "settings": {"readAt": self._settings.read_at, "restart": self._settings.wait_for_restart()},
        }

    # --- living -------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._tell()
        beat = min(_HEARTBEAT, self._supervisor.heartbeat or _HEARTBEAT)
        while not self._signals.wait(beat):
            for act in (self._begin, self._keep_lock, self._keep_socket, self._follow, self._adjust, self._awake,
                        self._listen, self._tell, self._prove):  # fmt: skip
                self._attempt(act)
            self._agx.beat()
        self._attempt(self._tell)

    def _attempt(self, act: Callable[[], None]) -> None:
        """Do something. If it fails, that leaves the other things, and is a problem until it is right. A bug too: a
        daemon that nobody restarts would be gone without a word."""
        try:
            act()
            self._status.own.pop(act.__name__, None)
        except Exception as raised:
            bug = DagentdError(f"an internal error, {type(raised).__name__}", hint="dagentd logs")
            error, known = expected(raised), self._status.own.get(act.__name__)
            if known is None or known.message != (error or bug).message:
                if error is None:
                    _bug(raised)
                self._status.own[act.__name__] = Problem.of("daemon", error or bug, clock.stamp())

    def _keep_lock(self) -> None:
        if not self._lock.in_place():
            _log.error("the lock file was removed, so another daemon may run: this one ends")
            self._exit = 1
            self._signals.stop()

    def _keep_socket(self) -> None:
        if self._supervisor.listener is None and not self._server.is_reachable():
            self._server.rebind(paths.socket())
            _log.warning("the socket was removed; it was bound again")

    def _awake(self) -> None:
        self.pausing.check(self.stores())

    def _listen(self) -> None:
        self._watching.check()
        if clock.monotonic() - self._looked >= self._settings.user.watch.reconcile_s:
            self._looked = clock.monotonic()
            self._watching.look_at_all()

    def _tell(self) -> None:
        """Log each problem once, whichever part it is of; and whoever listens hears when something went wrong, and when
        all is well again."""
        problems = self._status.problems()
        now = {(each.path, each.message) for each in problems}
        for path, message in sorted(now - self._told):
            _log.warning("%s: %s" if path else "%s%s", path, message)
        self._told = now
        trouble = self._status.trouble()
        if bool(trouble) != self._degraded:
            self._degraded = bool(trouble)
            self.events.publish("daemon:degraded" if trouble else "daemon:recovered", messages=trouble)

    def _prove(self) -> None:
        if self._supervisor.heartbeat is not None:
            with Client(timeout=_HEARTBEAT) as self_check:
                self_check.call("daemon.ping")
            self._supervisor.alive()

    def _follow(self) -> None:
        """Conversations of other agents may be of a project that is new."""
        before = {store.project for store in self.stores()}
        self.projects.follow([each.project for each in self._registered()])
        if before != {store.project for store in self.stores()}:
            self._agents.look_at_all()

    def _registered(self) -> list[Registered]:
        given = [Registered(str(project.root), project, "") for project in self._given]
        return given or self._registry.projects()

    def _adjust(self) -> None:
        """Follow settings that changed: whoever asks has the new ones already."""
        changed = self._settings.look(store.project.root for store in self.stores())
        if not changed:
            return
        user = self._settings.user
        log.set_level(user.log.level)
        self._watching.pace(user.watch.settle_ms / 1000, user.watch.ceiling_ms / 1000)
        _log.info("settings read again")
        self._agents.look_at_all()
        for store in self.stores():
            if not changed.isdisjoint((None, store.project.root)):
                self._watching.look_at(store)
                self._budget.weigh_anew(store)

    def _reload(self) -> None:
        for act in (self._follow, self._adjust):
            self._attempt(act)
        self._agents.look_at_all()


def _bug(error: BaseException) -> None:
    logged(error)
