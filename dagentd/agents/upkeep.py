"""Following agents in the daemon: what is watched, who is told, and how it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters.files import disk
from dagentd.model.problem import Problem
from dagentd.model.project import Registered
from dagentd.settings import Settings

if TYPE_CHECKING:
    from dagentd.agents.followed import Followed
    from dagentd.agents.following import Gained
    from dagentd.agents.intake import Intake
    from dagentd.agents.opening import Openings
    from dagentd.agents.resumable import Resumable


class AgentsUpkeep:
    """Costs nothing before it is started: what it needs loads then. `publish` tells of an event, `watch` has the
    `folders` watched."""

    def __init__(
        self, state: Path, settings: Callable[[], Settings], projects: Callable[[], list[Registered]],
        publish: Callable[..., object], watch: Callable[[], None], on_bug: Callable[[BaseException], object],
    ) -> None:  # fmt: skip
        self._state, self._settings, self._projects = state, settings, projects
        self._publish, self._watch, self._on_bug = publish, watch, on_bug
        self._lock = threading.Lock()
        self._intake: Intake | None = None
        self.folders: frozenset[Path] = frozenset()

    @cached_property
    def followed(self) -> Followed:
        from dagentd.agents.followed import Followed

        with self._lock:
            with disk.explained(self._state):
                disk.make_folders(self._state / "agents")
            return Followed(self._state, lambda: self._settings().agents, self._projects,
                            lambda: self._settings().compaction.checkpoint_tokens, self._announce)  # fmt: skip

    @cached_property
    def openings(self) -> Openings:
        """Loads what contexts and compaction need with its first use."""
        from dagentd.agents.opening import Openings

        return Openings(self.followed)

    def resumable(self) -> Resumable:
        """The conversations to go on with, whatever is followed, if anything is."""
        from dagentd.agents.resumable import Resumable

        return Resumable(lambda: self._settings().agents.ignore_paths)

    @property
    def begun(self) -> bool:
        return self._intake is not None

    def start(self) -> None:
        from dagentd.agents import bulk
        from dagentd.agents.intake import Intake, command
        from dagentd.agents.notes import Notes

        followed = self.followed

        def much() -> list[str]:
            return command(bulk.arguments(self._state, self._settings().agents, self._projects()))

        self._intake = Intake(
            followed.following,
            followed.reading,
            Notes(self._state / "connect"),
            announce=self._announce,
            watched=self._found,
            tidy=self._tidy,
            on_bug=self._on_bug,
            process=much,
        )
        self._intake.start()

    def _tidy(self) -> None:
        self.followed.tidy()
        if self._intake is not None and any(each["conversations"] for each in self._intake.kept):
            assert self.openings  # loaded now: an agent that begins waits for it

    def close(self) -> None:
        if self._intake is not None:
            self._intake.close()
        if "followed" in self.__dict__:
            self.followed.close()

    def hear(self, paths: Iterable[Path]) -> None:
        if self._intake is not None:
            self._intake.hear(paths)

    def look_at_all(self) -> None:
        """Look for all that was not heard of; the settings or the projects may be others."""
        if self._intake is not None:
            self._intake.look_at_all()

    def problems(self) -> list[Problem]:
        return self._intake.problems() if self._intake is not None else []

    def status(self) -> dict[str, Any]:
        """How many are kept and how large they are, as of the last look, and how far a first intake is."""
        if self._intake is None:
            return {"agents": [], "progress": None, "elsewhere": 0, "refused": []}
        survey, progress = self._intake.survey, self._intake.progress
        refused = [{"path": str(each.path), "reason": each.reason} for each in survey.refused]
        return {
            "agents": self._intake.kept,
            "progress": progress.raw() if progress is not None else None,
            "elsewhere": survey.elsewhere,
            "refused": refused,
        }

    def _announce(self, gained: Gained, total: int) -> None:
        owner = self.followed.following.owner(gained.agent, gained.name)
        root = owner.root if owner is not None else None
        session_id = f"{gained.agent.prefix}-{gained.name}"
        self._publish("session:updated", project=root, session_id=session_id, action="message_added", total=total)
        if "openings" in self.__dict__:
            self.openings.grew(session_id, total)

    def _found(self, folders: list[Path]) -> None:
        if self.folders != frozenset(folders):
            self.folders = frozenset(folders)
            self._watch()
