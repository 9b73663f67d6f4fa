"""The heartbeat of the daemon: what goes wrong in it. The daemon as a whole is in tests/e2e."""

from __future__ import annotations

import errno
import logging
from types import SimpleNamespace

import pytest

from dagentd.adapters.service_manager import supervisor
from dagentd.daemon import Daemon
from dagentd.errors import LimitReached
from dagentd.model.problem import Problem


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (RuntimeError("the text of a session"), "an internal error, RuntimeError"),
        (LimitReached("the disk is full"), "the disk is full"),
    ],
)
def test_what_goes_wrong_is_logged_once_and_shows_until_it_is_right(
    raised: Exception, told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    daemon, wrong = Daemon([], supervisor()), True
    own: dict[str, Problem] = {}
    status = SimpleNamespace(own=own, problems=lambda: list(own.values()), trouble=list)
    monkeypatch.setattr(daemon, "_status", status, raising=False)

    def act() -> None:
        if wrong:
            raise raised

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            daemon._attempt(act)
            daemon._tell()
    assert [vars(problem)["message"] for problem in own.values()] == [told]
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [told]
    assert len(caplog.records) == 1 + isinstance(raised, RuntimeError)  # a bug with its places, too
    assert "text of a session" not in caplog.text
    wrong = False
    daemon._attempt(act)
    assert own == {}
    daemon._tell()
    own["again"] = Problem("daemon", told, "", "", "")
    daemon._tell()
    assert [record.getMessage() for record in caplog.records][-1] == told, "what came back is told again"


def test_what_could_not_begin_is_begun_by_a_later_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients may have taken all descriptors when the modules behind it are loaded: the daemon ended of that."""
    daemon, watching, agents = Daemon([], supervisor()), Part(failures=1), Part(failures=2)
    own: dict[str, object] = {}
    for name, part in (("_watching", watching), ("_agents", agents), ("_status", SimpleNamespace(own=own))):
        monkeypatch.setattr(daemon, name, part, raising=False)
    monkeypatch.setattr(daemon, "_watch", lambda: None)
    for _ in range(3):
        daemon._attempt(daemon._begin)
        assert bool(own) == (not agents.begun)
    daemon._attempt(daemon._begin)
    assert (watching.tries, agents.tries) == (2, 3)


class Part:
    def __init__(self, failures: int) -> None:
        self.tries, self._failures = 0, failures

    @property
    def begun(self) -> bool:
        return self.tries > self._failures

    def start(self, *_: object) -> None:
        self.tries += 1
        if not self.begun:
            raise OSError(errno.EMFILE, "Too many open files")
