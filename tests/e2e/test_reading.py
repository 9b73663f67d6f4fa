"""The commands that need no daemon, as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import SampleProject, git
from tests.e2e.dagentd import dagentd, dagentd_json, start
from tests.patience import patience

SESSION = "pm-feature-feat-login"
CHAT = [
    {"id": "m1", "role": "user", "content": "Plan the login", "timestamp": "2026-01-17T12:00:00.000Z"},
    {"id": "m2", "role": "assistant", "content": "Two tasks \x1b[31m.", "timestamp": "2026-01-17T12:01:00.000Z"},
    {"id": "m3", "role": "assistant", "content": "thinking", "timestamp": "2026-01-17T12:02:00.000Z",
     "metadata": {"internal": True}},
]  # fmt: skip


@pytest.fixture
def here(project: SampleProject) -> Path:
    """A repository with a session that the desktop app wrote."""
    sessions = project.dagent / "sessions"
    sessions.mkdir()
    document = {"id": SESSION, "type": "feature", "agentType": "pm", "featureId": project.feature, "status": "active",
                "createdAt": "2026-01-17T10:00:00.000Z", "updatedAt": "2026-01-17T12:30:00.000Z"}  # fmt: skip
    checkpoint = {"version": 2, "summary": {"completed": ["Read the code"], "decisions": ["Use JWT"]}}
    (sessions / f"session_{SESSION}.json").write_text(json.dumps(document))
    (sessions / f"chat_{SESSION}.json").write_text(json.dumps({"messages": CHAT}))
    (sessions / f"checkpoint_{SESSION}.json").write_text(json.dumps(checkpoint))
    return project.root


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_reading_commands_write_nothing(here: Path) -> None:
    before = snapshot(here)
    for command in ("sessions", f"show {SESSION}", f"messages {SESSION}", f"history {SESSION}", f"request {SESSION}"):
        dagentd(*command.split(), cwd=here)
    assert snapshot(here) == before


def test_sessions(here: Path) -> None:
    assert dagentd("sessions", cwd=here) == (
        "session                worktree    status  messages  budget  updated\n"
        "pm-feature-feat-login  feat-login  active         3    <1 %  2026-01-17\n"
    )
    listed = dagentd_json("sessions", cwd=here)["sessions"]
    assert [(each["id"], each["featureId"], each["status"]) for each in listed] == [(SESSION, "feat-login", "active")]


def test_sessions_in_a_folder_that_is_closed_are_not_said_to_be_missing(here: Path, tmp_path: Path) -> None:
    sessions = next(here.glob(".dagent-worktrees/*/.dagent/sessions"))
    sessions.rename(tmp_path / "elsewhere")
    sessions.symlink_to(tmp_path / "elsewhere")
    printed, errors = start("sessions", cwd=here).communicate(timeout=patience())
    assert printed == f"No sessions in {here} that may be read.\n"
    assert errors == f"dagentd: {sessions}: leads out of its worktree\nReplace the link by a folder.\n"
    missing = f"{sessions}: leads out of its worktree, and no session {SESSION} is elsewhere in {here}"
    assert missing in dagentd("show", SESSION, cwd=here, status=1)


def test_sessions_of_a_repository_without_any(repo: Path) -> None:
    told = dagentd("sessions", cwd=repo)
    assert told == f"No sessions in {repo}. `dagentd new FEATURE` makes one, with a worktree for it.\n"


def test_the_name_of_a_worktree_without_a_session_says_how_one_is_made(here: Path) -> None:
    git(here, "worktree", "add", "-q", "-b", "feat-logout", ".dagent-worktrees/feat-logout")
    told = dagentd("show", "feat-logout", cwd=here, status=1)
    assert "`dagentd new feat-logout` makes one" in told


@pytest.mark.parametrize("command", ["forget", "restore"])
def test_who_wants_none_is_not_told_how_to_make_one(repo: Path, command: str) -> None:
    assert "dagentd new" not in dagentd(command, "login", cwd=repo, status=1)


def test_outside_of_a_repository(tmp_path: Path) -> None:
    told = dagentd("sessions", cwd=tmp_path, status=1)
    assert told == f"dagentd: {tmp_path}: is not in a git repository\nRun `git init` there, or give another path.\n"


def test_show(here: Path) -> None:
    shown = dagentd("show", SESSION, cwd=here)
    assert "messages  3 in chat, 3 in total\n" in shown
    assert re.search(r"\nDecisions\n  [0-9a-f]{8}  Use JWT\n", shown)
    assert "  user: Plan the login\n" in shown


def test_messages_leave_out_internal_ones_and_no_escape_reaches_the_terminal(here: Path) -> None:
    assert dagentd("messages", SESSION, cwd=here) == (
        "user  2026-01-17T12:00:00.000Z\nPlan the login\n\nassistant  2026-01-17T12:01:00.000Z\nTwo tasks \\x1b[31m.\n"
    )
    assert dagentd_json("messages", SESSION, "--internal", cwd=here) == {"messages": CHAT, "total": 3}


def test_history_pages_backwards(here: Path) -> None:
    page = dagentd_json("history", SESSION, "-n", "2", cwd=here)
    assert [message["id"] for message in page["messages"]] == ["m2", "m3"]
    assert page["more"] is True
    earlier = dagentd_json("history", SESSION, "-n", "2", "--before", "m2", cwd=here)
    assert [message["id"] for message in earlier["messages"]] == ["m1"]
    assert earlier["more"] is False


def test_history_before_an_unknown_message(here: Path) -> None:
    told = dagentd("history", SESSION, "--before", "nope", cwd=here, status=1)
    assert told == f"dagentd: no message 'nope' in session {SESSION}\nTry: dagentd history {SESSION}\n"


def test_request_has_its_parts_in_order(here: Path) -> None:
    built = dagentd_json("request", SESSION, "Go on", cwd=here)
    prompt = built["systemPrompt"]
    places = [prompt.index(text) for text in ("project manager", "Use JWT", "Plan the login")]
    assert places == sorted(places)
    assert "thinking" not in prompt
    assert built["userPrompt"] == "Go on"
    assert [turn["role"] for turn in built["messages"]] == ["user", "assistant", "user"]
    assert built["breakdown"]["total"] == built["totalTokens"] > 0
    assert built["breakdown"]["needsCompaction"] is False


def test_a_project_replaces_the_description_of_a_role(here: Path) -> None:
    agents = here / ".dagent" / "agents"
    agents.mkdir(parents=True)
    (agents / "pm.json").write_text(json.dumps({"roleInstructions": "You are the boss."}))
    assert "You are the boss." in dagentd("request", SESSION, cwd=here)


def test_an_unknown_session_and_a_dangerous_one(here: Path) -> None:
    assert "no session qa-feature-x" in dagentd("show", "qa-feature-x", cwd=here, status=1)
    assert "cannot be a session id" in dagentd("show", "../../etc/passwd", cwd=here, status=1)
