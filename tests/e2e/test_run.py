"""`dagentd run`: once, and in the foreground."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.conftest import SampleProject
from tests.e2e.dagentd import dagentd, dagentd_json, start
from tests.patience import patience

SESSION = "pm-feature-feat-login"


@pytest.fixture
def chat(project: SampleProject) -> Path:
    sessions = project.dagent / "sessions"
    sessions.mkdir()
    (sessions / f"session_{SESSION}.json").write_text(json.dumps({"id": SESSION, "status": "active"}))
    path = sessions / f"chat_{SESSION}.json"
    path.write_text(json.dumps({"messages": [{"id": "m1", "role": "user", "content": "Hello"}]}))
    return path


def test_once_makes_a_journal_and_a_second_time_changes_nothing(project: SampleProject, chat: Path) -> None:
    first = dagentd_json("run", "--once", cwd=project.root)
    assert [(line["sessionId"], line["messages"], line["done"]) for line in first["sessions"]] == [
        (SESSION, 1, "journal made, context written")
    ]
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in chat.parent.iterdir()}
    second = dagentd_json("run", "--once", cwd=project.root)
    assert second["sessions"][0]["done"] is None
    assert {path: (path.stat().st_ino, path.read_bytes()) for path in chat.parent.iterdir()} == before


def test_once_takes_in_what_the_app_wrote(project: SampleProject, chat: Path) -> None:
    dagentd("run", "--once", cwd=project.root)
    raw = json.loads(chat.read_text())
    raw["messages"].append({"id": "m2", "role": "assistant", "content": "Hi"})
    chat.write_text(json.dumps(raw))
    assert "1 outside change taken in" in dagentd("run", "--once", cwd=project.root)
    assert [m["id"] for m in dagentd_json("history", SESSION, cwd=project.root)["messages"]] == ["m1", "m2"]


def test_once_reports_a_damaged_file_and_exits_1(project: SampleProject, chat: Path) -> None:
    chat.write_text('{"messages": [{"id"')
    told = dagentd("run", "--once", cwd=project.root, status=1)
    assert f"! {chat.relative_to(project.root)}: is not valid JSON" in told
    assert "dagentd run --once" in told
    assert chat.read_text() == '{"messages": [{"id"'


def test_it_stays_in_the_foreground_until_it_is_told_to_end(project: SampleProject, chat: Path) -> None:
    daemon = start("run", str(project.root), cwd=project.root)
    assert daemon.stdout is not None
    while "Ctrl-C" not in daemon.stdout.readline():
        assert daemon.poll() is None
    assert json.loads(dagentd("call", "daemon.status", cwd=project.root))["pid"] == daemon.pid
    assert dagentd_json("run", "--once", cwd=project.root)["sessions"][0]["sessionId"] == SESSION
    told = dagentd("run", str(project.root), cwd=project.root, status=1)
    assert f"process {daemon.pid}" in told
    assert dagentd_json("messages", SESSION, cwd=project.root)["total"] == 1
    daemon.send_signal(signal.SIGTERM)
    daemon.communicate(timeout=patience())
    assert daemon.returncode == 0


def test_the_daemon_heeds_what_a_project_sets_for_itself(project: SampleProject, chat: Path) -> None:
    (project.root / ".dagent").mkdir()
    (project.root / ".dagent" / "config.toml").write_text("[budget]\nlimit = 12345\n")
    daemon = start("run", str(project.root), cwd=project.root)
    try:
        assert daemon.stdout is not None
        while "Ctrl-C" not in daemon.stdout.readline():
            assert daemon.poll() is None
        asked = json.dumps({"sessionId": SESSION, "userMessage": "Go on"})
        built = json.loads(dagentd("call", "session.previewRequest", asked, cwd=project.root))
        assert built["breakdown"]["limit"] == 12345
    finally:
        daemon.terminate()
        daemon.communicate(timeout=patience())
