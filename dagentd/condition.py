"""How the daemon is: what it does, what it spends, and what is wrong."""

from __future__ import annotations

from typing import Any

from dagentd.adapters.process import usage
from dagentd.agx import AgxUpkeep
from dagentd.compacting import Compacting
from dagentd.doctor.kinds import is_grave, is_over
from dagentd.jobs.disk_use import DiskUse
from dagentd.jobs.summary import project as project_summary
from dagentd.model.problem import Problem, each_once
from dagentd.projects import Projects
from dagentd.settings import Settings
from dagentd.settings.current import Current
from dagentd.upkeep import Upkeep
from dagentd.watching import Watching
from dagentd.weighing import Weighing
from dagentd.worker import Worker


class Condition:
    """Made of what the daemon's parts say of themselves; `own` are its own problems, by what it could not do."""

    def __init__(
        self, worker: Worker, settings: Current, upkeep: Upkeep, watching: Watching, weighing: Weighing,
        compacting: Compacting, agx: AgxUpkeep, projects: Projects,
    ) -> None:  # fmt: skip
        self._worker, self._watching, self._compacting, self._projects = worker, watching, compacting, projects
        self._parts = (settings, watching, upkeep, weighing, compacting, agx, projects)
        self._disk = DiskUse()
        self.own: dict[str, Problem] = {}

    def problems(self) -> list[Problem]:
        found = [*self.own.values(), *(problem for part in self._parts for problem in part.problems())]
        return each_once(problem for problem in found if not is_over(problem))

    def trouble(self) -> list[str]:
        """What the user must do something about, in words."""
        failing = [str(each["message"]) for each in self._jobs()["failing"]]
        return failing + [problem.message for problem in self.problems() if is_grave(problem.id)]

    def told(self, settings: Settings) -> dict[str, Any]:
        """For `daemon.status`."""
        jobs, used = self._jobs(), usage()
        return {
            "projects": self._served(),
            "queues": {"waiting": jobs.pop("queues"), **jobs, "done": self._worker.done},
            "compacting": self._compacting.under_way(),
            "watches": {**self._watching.status(), "everySeconds": settings.watch.reconcile_s},
            "spend": self._spend(settings),
            "problems": [problem.raw() for problem in self.problems()],
            "memory": vars(used) if used else None,
        }

    def _served(self) -> list[dict[str, Any]]:
        stores = self._projects.stores()
        disk = self._disk.of(store.project for store in stores)
        return [
            {**project_summary(store, self._watching.worktrees(store)), "disk": disk[store.project.root]}
            for store in stores
        ]

    def _jobs(self) -> dict[str, list[dict[str, Any]]]:
        """Of both workers: compactions have one of their own, because they may wait for a model."""
        both = self._worker.status(), self._compacting.status()
        return {name: [each for jobs in both for each in jobs[name]] for name in both[0]}

    def _spend(self, settings: Settings) -> dict[str, Any]:
        """Of the last day, beside what it may come to."""
        spent, caps = self._compacting.ledger.spend(), settings.compaction
        return {**vars(spent), "maxCallsPerHour": caps.max_calls_per_hour, "maxTokensPerDay": caps.max_tokens_per_day}
