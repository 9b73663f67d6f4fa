"""What was measured while it went on: memory, answers, and when what happened."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Samples:
    """Times are seconds since the beginning."""

    began: float = field(default_factory=time.monotonic)
    memory: list[tuple[float, int, float]] = field(default_factory=list)  # with the process it is of; megabytes
    latency: list[tuple[float, float]] = field(default_factory=list)  # milliseconds until an append was answered
    marks: list[tuple[str, float]] = field(default_factory=list)
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    ended: float | None = None

    def now(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    def end(self) -> None:
        self.ended = time.monotonic()

    def answered(self, seconds: float) -> None:
        with self._lock:
            self.latency.append((self.now(), seconds * 1000))

    def mark(self, what: str) -> None:
        with self._lock:
            self.marks.append((what, self.now()))

    def span(self, what: str, start: float) -> None:
        with self._lock:
            self.spans.append((what, start, self.now()))
