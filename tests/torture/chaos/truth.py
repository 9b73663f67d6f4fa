"""What was said and what became of it, as those who said it know: the daemon is held to this at the end."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Truth:
    """By content, which nobody uses twice. Safe for all threads."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # with the session it was said in
    unanswered: set[str] = field(default_factory=set)  # may be there or not, but not twice
    by_app: dict[str, str] = field(default_factory=dict)  # whole in a file; must be taken in
    excused: set[str] = field(default_factory=set)  # whole in a file that its own writer then spoilt or removed
    refused: Counter[str] = field(default_factory=Counter)  # why calls were answered with an error
    without_room: Counter[str] = field(default_factory=Counter)  # what git could not do on a full disk, in its words
    complaints: list[str] = field(default_factory=list)  # what must never be
    done: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledge(self, sid: str, *contents: str) -> None:
        with self._lock:
            self.unanswered.difference_update(contents)
            self.acknowledged |= dict.fromkeys(contents, sid)

    def sent(self, *contents: str) -> None:
        with self._lock:
            self.unanswered.update(contents)

    def wrote(self, sid: str, *contents: str) -> None:
        with self._lock:
            self.by_app |= dict.fromkeys(contents, sid)

    def excuse(self, *contents: str) -> None:
        with self._lock:
            for content in contents:
                if self.by_app.pop(content, None):
                    self.excused.add(content)

    def refuse(self, why: str) -> None:
        with self._lock:
            self.refused[why] += 1

    def could_not(self, why: str) -> None:
        with self._lock:
            self.without_room[why] += 1

    def count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.done[what] += times

    def complain(self, told: str) -> None:
        with self._lock:
            self.complaints.append(told)
