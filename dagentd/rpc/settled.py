"""The part of a service that answers about one session need, where no daemon runs and its documents say all."""

from __future__ import annotations

from typing import Any

from dagentd import paths
from dagentd.jobs.scales import Scales, metrics
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.ledger import ledger
from dagentd.store.settled import SettledStore, Unsettled


class SettledProject:
    """Unsettled for whatever takes more than documents."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self._settings, self._store = settings, SettledStore(project, paths.index_file())
        self.compacting = self

    def settings_of(self, project: Project) -> Settings:
        return self._settings

    def stores(self) -> list[SettledStore]:
        return [self._store]

    def metrics(self, store: Any, session: Any) -> dict[str, Any]:
        return metrics(session, self._settings, Scales(), ledger(paths.ledger_file()))

    def under_way(self) -> list[dict[str, str]]:
        return []

    @property
    def followed(self) -> Any:
        raise Unsettled
