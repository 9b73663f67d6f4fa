"""The heartbeat of the daemon: what goes wrong in it. The daemon as a whole is in tests/e2e."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from dagentd.adapters.service_manager import supervisor
from dagentd.daemon import Daemon
from dagentd.errors import LimitReached


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
    own: dict[str, object] = {}
    monkeypatch.setattr(daemon, "_status", SimpleNamespace(own=own), raising=False)

    def act() -> None:
        if wrong:
            raise raised

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            daemon._attempt(act)
    assert [vars(problem)["message"] for problem in own.values()] == [told]
    assert len(caplog.records) == 1
    assert "text of a session" not in caplog.text
    wrong = False
    daemon._attempt(act)
    assert own == {}
