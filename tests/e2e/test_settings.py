"""Settings that change while the daemon runs."""

from __future__ import annotations

from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon


def test_settings_are_read_again_when_their_files_change(daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm",
                featureId=project.feature)  # fmt: skip

    def limit() -> int:
        (session,) = daemon.call("session.list")["sessions"]
        return int(session["budget"]["limit"])

    assert limit() == 100_000 and daemon.status["health"] == "ok"
    daemon.configure("[budget]\nlimit = 5000\n[log]\nfiles = 7\n")
    assert limit() == 5000
    assert daemon.status["settings"]["readAt"] and daemon.status["settings"]["restart"] == ["log.files"]
    assert "read again just now; `dagentd restart` for log.files" in daemon.dagentd("status")
    daemon.configure("[budget]\nlimit = 'much'\n")
    assert limit() == 5000 and daemon.status["health"] == "degraded"
    (problem,) = daemon.status["problems"]
    assert problem["id"] == "settings" and "budget.limit" in problem["message"]
    assert "budget.limit" in daemon.dagentd("status", status=1)
    daemon.configure("[budget]\nlimit = 6000\n")
    assert limit() == 6000 and daemon.status["health"] == "ok"
