"""`dagentd add`, `clear` and `archive`: with a daemon that runs, and without one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon
from tests.e2e.dagentd import dagentd, dagentd_json
from tests.patience import patience

PM = "pm-feature-feat-login"


@pytest.fixture(params=["with a daemon", "without one"])
def root(request: pytest.FixtureRequest, daemon: Daemon, project: SampleProject) -> Path:
    """Of a project with one session, in which nothing was said yet."""
    running = daemon.run(project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm",
                featureId=project.feature)  # fmt: skip
    if request.param == "without one":
        running.terminate()
        assert running.wait(patience()) == 0
    return project.root


def said(root: Path) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in dagentd_json("messages", PM, cwd=root)["messages"]]


def test_what_is_added_is_in_chat(root: Path) -> None:
    added = dagentd("add", PM, "Plan the zebra login", cwd=root)
    [message] = dagentd_json("messages", PM, cwd=root)["messages"]
    assert added == f"Added to {PM} as {message['id']}.\n"
    assert dagentd_json("add", PM, "Done.", "--role", "assistant", cwd=root)["content"] == "Done."
    dagentd("add", PM, cwd=root, told="from a pipe\nin two lines, é\n")
    dagentd("add", PM, "-", "--role", "system", cwd=root, told="by its name")
    assert said(root) == [
        ("user", "Plan the zebra login"), ("assistant", "Done."), ("user", "from a pipe\nin two lines, é"),
        ("system", "by its name"),
    ]  # fmt: skip


def test_what_cannot_be_added_is_said(root: Path) -> None:
    assert "there is nothing to add\n" in dagentd("add", PM, cwd=root, status=1)
    assert "there is nothing to add\n" in dagentd("add", PM, "  ", cwd=root, status=1)
    assert "robot" in dagentd("add", PM, "x", "--role", "robot", cwd=root, status=2)
    assert dagentd("add", "no-such", "x", cwd=root, status=1).endswith("Try: dagentd sessions\n")
    latin = [sys.executable.encode(), b"-m", b"dagentd", b"add", PM.encode()]
    for command, given in (([*latin, b"caf\xe9"], b""), (latin, b"caf\xe9")):
        done = subprocess.run(command, cwd=root, input=given, capture_output=True, timeout=patience())
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, b"dagentd: the text is not UTF-8")
    assert said(root) == []


def test_it_is_cleared_after_a_question_and_history_has_it(root: Path) -> None:
    for text in ("one", "two"):
        dagentd("add", PM, text, cwd=root)
    assert "nobody can be asked\nAdd --yes." in dagentd("clear", PM, cwd=root, status=1)
    assert len(said(root)) == 2
    told = dagentd("clear", PM, "--yes", cwd=root)
    assert told == f"2 messages left the chat of {PM}; `dagentd history {PM}` has all of it.\n"
    assert said(root) == []
    assert [one["content"] for one in dagentd_json("history", PM, cwd=root)["messages"]] == ["one", "two"]
    assert dagentd("clear", PM, cwd=root) == f"The chat of {PM} is empty already.\n"
    assert dagentd_json("clear", PM, cwd=root) == {"messagesCleared": 0}


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1)])
def test_on_a_terminal_it_asks(answer: str, left: int, root: Path) -> None:
    dagentd("add", PM, "one", cwd=root)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dagentd", "clear", PM]
    asked = subprocess.Popen(command, cwd=root, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    printed = asked.communicate(timeout=patience())[0].decode()
    os.close(ours)
    assert printed.startswith(f"Let 1 message leave the chat of {PM}? History keeps all. [y/N]")
    assert asked.returncode == (1 if left else 0)
    assert len(said(root)) == left


def test_it_is_archived_and_comes_back_with_the_next_message(root: Path) -> None:
    assert (
        dagentd("archive", PM, cwd=root) == f"{PM} is archived. `dagentd archive {PM} --off` makes it active again.\n"
    )
    assert dagentd_json("show", PM, cwd=root)["session"]["status"] == "archived"
    assert dagentd_json("archive", PM, cwd=root)["status"] == "archived"
    dagentd("add", PM, "Wait", cwd=root)
    assert dagentd_json("show", PM, cwd=root)["session"]["status"] == "active"


def test_one_whose_worktree_is_gone_is_to_be_restored_first(root: Path, project: SampleProject) -> None:
    dagentd("add", PM, "one", cwd=root)
    git(root, "worktree", "remove", "--force", str(project.worktree))
    for command in (["add", PM, "x"], ["clear", PM, "--yes"], ["archive", PM]):
        assert f"dagentd restore {PM}" in dagentd(*command, cwd=root, status=1)
