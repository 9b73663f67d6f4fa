"""`dagentd export`: a session as a document, printed or in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd import paths
from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon
from tests.e2e.dagentd import dagentd, dagentd_json

PM = "pm-feature-feat-login"
TRICKS = "```\n# Not a heading\n</details><!--"


@pytest.fixture
def root(daemon: Daemon, project: SampleProject) -> Path:
    """Of a project with a session that was compacted, cleared and talked in again."""
    where = {"project": str(project.root), "featureId": project.feature}
    daemon.run(project.root)
    daemon.call("session.getOrCreate", type="feature", agentType="pm", **where)
    for role, content in (("user", "We decided to use PostgreSQL 16."), ("assistant", "Done: the schema is written.")):
        daemon.call("session.addMessage", sessionId=PM, role=role, content=content)
    assert daemon.call("session.forceCompact", sessionId=PM)["messagesCompacted"] == 2
    daemon.call("session.addMessage", sessionId=PM, role="user", content="Forget that")
    daemon.call("session.clearMessages", sessionId=PM)
    daemon.call("session.addMessage", sessionId=PM, role="user", content=TRICKS)
    return project.root


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(each["what"], each["why"], len(each["messageIds"])) for each in found["moves"]]


def test_everything_is_in_it_in_order(root: Path) -> None:
    shown = dagentd("export", PM, cwd=root)
    assert shown.startswith(f"# {PM}\n\n- Status: `active`\n")
    wanted = ["## Checkpoint", "PostgreSQL 16", "## Conversation", "### User", "> We decided", "### Assistant",
              "> Done", "*Compacted", "> Forget that", "*Cleared", "### User", "```\n# Not a heading"]  # fmt: skip
    at = 0
    for each in wanted:
        at = shown.index(each, at) + 1
    found = dagentd_json("export", PM, cwd=root)
    assert list(found) == ["version", "exportedAt", "session", "checkpoint", "messages", "inChat", "moves"]
    assert (found["version"], found["session"]["id"]) == (1, PM)
    assert [one["content"] for one in found["messages"]][-2:] == ["Forget that", TRICKS]
    assert found["inChat"] == [found["messages"][-1]["id"]]
    assert told(found) == [("left", "compacted", 2), ("left", "cleared", 1)]
    assert found["moves"][0]["checkpointVersion"] == found["checkpoint"]["version"]


def test_a_file_is_not_overwritten_unless_that_is_meant(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    assert dagentd("export", PM, "-o", str(target), cwd=root).startswith(f"Wrote {target} (")
    assert target.read_text().startswith(f"# {PM}\n") and target.stat().st_mode & 0o777 == 0o600
    target.write_text("mine")
    refused = dagentd("export", PM, "-o", str(target), cwd=root, status=1)
    assert refused == f"dagentd: {target}: is there already\nAdd --force to replace it.\n"
    assert target.read_text() == "mine"
    dagentd("export", PM, "--json", "-o", str(target), "--force", cwd=root)
    assert json.loads(target.read_bytes())["session"]["id"] == PM
    assert dagentd("export", PM, "-o", "-", cwd=root).startswith(f"# {PM}\n")
    assert "is not there" in dagentd("export", PM, "-o", str(tmp_path / "no" / "x.md"), cwd=root, status=1)
    for folder in ("/", ".", str(tmp_path)):
        assert "is a folder" in dagentd("export", PM, "-o", folder, "--force", cwd=root, status=1)
    assert "is not a regular file" in dagentd("export", PM, "-o", "/dev/null", "--force", cwd=root, status=1)
    assert "no session none" in dagentd("export", "none", cwd=root, status=1)
    assert [each.name for each in tmp_path.iterdir() if "tmp" in each.name] == []


def test_nothing_of_our_own_is_replaced(root: Path, project: SampleProject, tmp_path: Path) -> None:
    """A kept journal may be all that is left of a session whose worktree is gone."""
    (kept,) = (root / ".git" / "dagentd" / "kept").glob(f"{PM}*.jsonl")
    (tmp_path / "link").symlink_to(kept.parent)
    journal = next(project.worktree.rglob("*.jsonl"))
    for path in (kept, tmp_path / "link" / kept.name, journal, paths.registry_file()):
        told = dagentd("export", PM, "-o", str(path), "--force", cwd=root, status=1)
        assert "is in a folder of dagentd's own" in told
    git(root, "worktree", "remove", "--force", str(project.worktree))
    assert len(dagentd_json("export", PM, cwd=root)["messages"]) == 4


def test_one_whose_worktree_is_gone(root: Path, project: SampleProject) -> None:
    git(root, "worktree", "remove", "--force", str(project.worktree))
    assert "- Its worktree is gone.\n" in dagentd("export", PM, cwd=root)
    assert len(dagentd_json("export", PM, cwd=root)["messages"]) == 4
