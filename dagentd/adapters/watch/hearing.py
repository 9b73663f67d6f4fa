"""What is done with what is heard, in the thread that hears: it is taken down, and nothing else."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.watch.batches import Gathering
from dagentd.adapters.watch.cookie import Cookie

_log = logging.getLogger(__name__)

_KEPT = 20  # incidents


@dataclass(frozen=True)
class Incident:
    """What went wrong and was put right."""

    at: str
    message: str


class Hearing:
    """Keeps what belongs to followed folders; nobody is woken for the cookie or for what else is beside it."""

    def __init__(self, gathering: Gathering, cookie: Cookie) -> None:
        self._gathering, self._cookie = gathering, cookie
        self._folder, self._name = cookie.path.parent, cookie.path.name
        self.wanted: frozenset[Path] = frozenset()
        self.incidents: deque[Incident] = deque(maxlen=_KEPT)

    def name(self, folder: Path, name: str) -> None:
        if name == self._name and folder == self._folder:
            self._cookie.heard()
        elif folder in self.wanted:
            self._gathering.name(folder, name)

    def suspect(self, folder: Path) -> None:
        if folder in self.wanted:
            self._gathering.suspect(folder)

    def overflowed(self) -> None:
        """A touch of the cookie may be among what was dropped; but this was heard. Every folder tells it."""
        self._cookie.heard()
        if self._gathering.lose():
            self.note("too many events came at once and some were lost")

    def note(self, incident: str) -> None:
        _log.warning("%s: everything is looked at", incident)
        self.incidents.append(Incident(clock.stamp(), incident))
