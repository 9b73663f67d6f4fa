"""Claude Code and Codex themselves, connected by `dagentd connect`: what they tell and are told, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.agents.notes import Notes
from tests.agents.programs import ClaudeCode, Codex, Programs
from tests.agents.stand_in_api import Call, StandInApi
from tests.agents.terminal import opened
from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon
from tests.patience import patience, until

TOOL = "mcp__plugin_dagentd_dagentd__search"


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with StandInApi() as api:
        yield api


@pytest.fixture
def on_path(installed: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(installed.claude.parent), str(installed.codex.parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))


@pytest.fixture
def claude(installed: Programs, api: StandInApi, home: Path, on_path: None) -> ClaudeCode:
    return ClaudeCode(installed.claude, api, home)


def files(*folders: Path) -> dict[str, bytes]:
    """All that an agent may have written settings to."""
    found = (path for folder in folders for path in folder.rglob("settings*.json"))
    return {str(path): path.read_bytes() for path in found}


def told(api: StandInApi, begin: Callable[[], str], words: str = "No walruses.") -> str:
    """The conversation whose first request had these words. A busy machine may not be in time for each."""
    begun: list[str] = []

    def is_told() -> bool:
        api.seen.clear()
        begun.append(begin())
        return words in json.dumps(api.seen[0].body, ensure_ascii=False)

    until(is_told, "a conversation that is told something")
    return begun[-1]


def waiting() -> set[str]:
    return {note.name for note in (paths.connect_dir() / "spool").iterdir()}


def test_a_connected_claude_tells_is_told_and_asks(
    claude: ClaudeCode, api: StandInApi, daemon: Daemon, project: SampleProject, home: Path
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model":   "claude-sonnet-4-5"}')
    pid = daemon.run(project.root).pid
    daemon.call("memory.add", project=str(project.root), by="user", text="No walruses.", worktree=str(project.worktree))
    assert "is connected in" not in daemon.dagentd("connect", "claude-code")
    plugin = paths.connect_dir() / "claude-code"
    for place in (plugin, plugin / "dagentd"):
        subprocess.run([claude.program, "plugin", "validate", "--strict", place], env=claude.environ, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
    api.script("what colour", Call(TOOL, {"query": "aquarium"}), "Green.")

    first = told(api, lambda: claude.say("Remember that the aquarium pump is green.", project.worktree))
    with daemon.client() as client:
        until(lambda: client.call("session.search", query="aquarium")["hits"], "the conversation to be found")
    until(lambda: not waiting(), "the notes to be taken")
    assert "claude-code" in Notes(paths.connect_dir()).last()
    assert "its last hook came" in daemon.dagentd("agents")
    for transcript in (home / ".claude" / "projects").rglob(f"{first}.jsonl"):
        transcript.unlink()
    seen = len(api.seen)
    second = claude.say("Say what colour the pump has.", project.worktree)
    assert {TOOL, "mcp__plugin_dagentd_dagentd__brief"} <= {tool["name"] for tool in api.seen[seen].body["tools"]}
    assert any(f"claude-{first}" in json.dumps(each.body["messages"]) for each in api.seen[seen:])

    os.kill(pid, signal.SIGSTOP)
    claude.say("/compact", project.worktree, resume=second)
    assert waiting() == {f"claude-code.{second}"}
    os.kill(pid, signal.SIGCONT)
    until(lambda: not waiting(), "the notes to be taken")
    os.kill(pid, signal.SIGKILL)
    third = claude.say("Hello", project.worktree)
    assert waiting() == {f"claude-code.{third}"}

    printed = daemon.dagentd("disconnect", "claude-code")
    assert settings.read_text() == '{"model":   "claude-sonnet-4-5"}'
    assert f"{settings} is as it was before." in printed and "own uninstaller" in printed
    seen = len(api.seen)
    claude.say("Hello", project.worktree)
    assert "dagentd" not in json.dumps(api.seen[seen].body["tools"])
    assert not paths.connect_dir().exists()


def test_claude_is_told_what_its_summary_dropped_and_who_is_beside_it(
    claude: ClaudeCode, api: StandInApi, daemon: Daemon, project: SampleProject
) -> None:
    daemon.run(project.root)
    daemon.dagentd("connect", "claude-code")
    sibling = project.root / ".dagent-worktrees" / "beside"
    git(project.root, "worktree", "add", "-q", "-b", "beside", str(sibling))
    for worktree in (project.worktree, sibling):
        (worktree / "README.md").write_text(f"# {worktree.name}\n")
        git(worktree, "commit", "-qam", "Say where we are")
    named = claude.say("Never touch the folder legacy/. Begin with the tests.", project.worktree)
    session = f"claude-{named}"
    until(lambda: session in json.dumps(daemon.call("session.list", agent="claude-code")), "the conversation")
    said = until(lambda: daemon.call("session.getMessages", sessionId=session)["messages"], "the first message")
    daemon.call("session.pin", sessionId=session, messageId=said[0]["id"], pinned=True)

    def compacted() -> str:
        claude.say("/compact", project.worktree, resume=named)  # its summary says `ok` and no more
        api.seen.clear()
        return claude.say("Go on.", project.worktree, resume=named)

    told(api, compacted, "Ordered by the user in this conversation:\\n- “Never touch the folder legacy/.")
    assert "continued from a previous conversation" in json.dumps(api.seen[0].body)
    told(api, lambda: claude.say("Hello", sibling), f"feature/{project.feature}")
    assert "README.md" in json.dumps(api.seen[0].body)


def test_in_a_terminal_what_a_compaction_dropped_and_what_was_cleared_comes_back(
    claude: ClaudeCode, api: StandInApi, daemon: Daemon, project: SampleProject
) -> None:
    """Typed as a user types; a busy machine may not be in time for each, so each begins with all of it."""
    daemon.run(project.root)
    daemon.dagentd("connect", "claude-code")
    api.script("Add a login", "Begun. Still open: the cookie must be rotated.")
    with opened(claude, project.worktree) as terminal:

        def asked_after(command: str, done: str) -> str:
            terminal.enter(said)
            terminal.answers("Begun.")
            pin(said, daemon)
            terminal.enter(command)
            terminal.answers(done)
            api.seen.clear()
            terminal.enter("What now?")
            terminal.answers("● ok")
            asked = json.dumps(api.seen[0].body, ensure_ascii=False)
            terminal.enter("/clear")
            terminal.answers("❯ /clear")
            return asked

        said = "Our hash is Argon2. Add a login page."
        ordered = "Ordered by the user in this conversation:\\n- “"
        asked = told(api, lambda: asked_after("/compact", "Compacted"), f"{ordered}{said}")
        assert "continued from a previous conversation" in asked and '"Begun.' not in asked
        asked = told(api, lambda: asked_after("/clear", "❯ /clear"), "the cookie must be rotated.”")
        assert f"About: “{said}”" in asked and '"Begun.' not in asked


def pin(said: str, daemon: Daemon) -> None:
    """In the conversations where it was said, as soon as that is kept."""

    def found() -> list[tuple[str, str]]:
        active = [each["id"] for each in daemon.call("session.list", agent="claude-code")["sessions"]]
        every = [(each, daemon.call("session.getMessages", sessionId=each)["messages"]) for each in active]
        return [(each, message["id"]) for each, messages in every for message in messages if message["content"] == said]

    for session, message in until(found, "the conversation to be kept"):
        daemon.call("session.pin", sessionId=session, messageId=message, pinned=True)


def test_only_one_worktree_and_user_edits(
    claude: ClaudeCode, api: StandInApi, daemon: Daemon, project: SampleProject, home: Path
) -> None:
    claude.say("Hello", project.root)  # it has written whatever it writes by itself
    before = files(home, project.root)
    daemon.dagentd("connect", "claude-code", "--project", cwd=project.worktree)
    settings = project.worktree / ".claude" / "settings.local.json"
    assert json.loads(settings.read_text()) == {"enabledPlugins": {"dagentd@dagentd": True}}
    claude.say("Hello", project.worktree)
    claude.say("Hello", project.root)
    assert len(waiting()) == 1
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "language": "Welsh"}))
    daemon.dagentd("connect", "claude-code")
    printed = daemon.dagentd("disconnect", "claude-code", "--project", cwd=project.worktree)
    assert json.loads(settings.read_text()) == {"language": "Welsh"} and "the changes stay" in printed
    claude.say("Hello", project.root)  # the other connection is in force
    assert len(waiting()) == 2
    daemon.dagentd("disconnect", "claude-code")
    settings.unlink()
    assert files(home, project.root) == before


def test_with_the_virtualenv_deleted_agents_start_as_if_there_were_no_dagentd(
    claude: ClaudeCode, installed: Programs, api: StandInApi, home: Path, repo: Path, tmp_path: Path
) -> None:
    claude.say("Hello", repo)
    api.seen.clear()
    claude.say("Hello", repo)
    tools = api.seen[0].body["tools"]
    environment = tmp_path / "venv"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    asked = (python, "-c", "import site; print(site.getsitepackages()[0])")
    packages = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    here = [path for path in sys.path if path.endswith("site-packages")]
    source = str(Path(__file__).parents[2])
    Path(packages, "all.pth").write_text("".join(f"{path}\n" for path in (source, *here)))
    for agent in ("claude-code", "codex"):
        line = (python, "-m", "dagentd", "connect", agent)
        subprocess.run(line, check=True, capture_output=True, timeout=patience(), cwd=repo)
    api.seen.clear()
    claude.say("Hello", repo)
    assert "dagentd" in json.dumps(api.seen[0].body["tools"])

    shutil.rmtree(environment)
    api.seen.clear()
    claude.say("Hello", repo)
    assert api.seen[0].body["tools"] == tools and "dagentd" not in json.dumps(api.seen[0].body["messages"])
    codex = Codex(installed.codex, api, home)
    connected = (home / ".codex" / "config.toml").read_text()
    codex.say("Hello", repo, "--dangerously-bypass-hook-trust", more=connected)
    assert "dagentd" not in json.dumps(api.seen[-1].body)


def test_codex_has_the_tools_at_once_and_runs_hooks_that_are_trusted(
    installed: Programs, api: StandInApi, daemon: Daemon, project: SampleProject, home: Path, on_path: None
) -> None:
    codex, settings = Codex(installed.codex, api, home), home / ".codex" / "config.toml"
    daemon.run(project.root)
    daemon.call("memory.add", project=str(project.root), by="user", text="No walruses.", worktree=str(project.worktree))
    assert "type /hooks and trust" in daemon.dagentd("connect", "codex")
    connected = settings.read_text()
    codex.say("Hello", project.worktree, more=connected)
    assert "dagentd" in json.dumps(api.seen[0].body) and "codex" not in Notes(paths.connect_dir()).last()
    told(api, lambda: codex.say("Hello", project.worktree, "--dangerously-bypass-hook-trust", more=connected))
    assert "codex" in Notes(paths.connect_dir()).last()
    settings.write_text(connected)
    assert f"{settings} is as it was before." in daemon.dagentd("disconnect", "codex")
    assert not settings.exists()
