"""Claude: the conversation that a session goes on with, given by the user or found in Claude Code's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd import oneshot, paths
from dagentd import settings as loading
from dagentd.adapters.git import project_at
from dagentd.agents import resumable
from dagentd.agents.resumable import Resumable
from dagentd.agents.source import Source
from dagentd.errors import InvalidInput
from tests.agents.claude_lines import said, user
from tests.agents.desk import grow
from tests.conftest import git
from tests.jobs.context.contexts import Steps
from tests.store.agx.agx import Store, snapshot

ARGUMENTS = "<command-message>review</command-message>\n<command-args>the last\n commit</command-args>"
ID = "0b6e1a3c-1111-2222-3333-444455556666"
OTHER, THIRD = (f"{digit * 8}-1111-2222-3333-444455556666" for digit in "ab")


def folder(name: str = "-anything") -> Path:
    """One of Claude Code's; nothing is told by its name."""
    path = Path(os.environ["HOME"], ".claude", "projects", name)
    path.mkdir(parents=True, exist_ok=True)
    return path


def said_in(cwd: Path, at: str = "2026-02-01T10:00:00.000Z", branch: str = "main") -> bytes:
    tokens = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50}
    uses = [
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": f"{cwd}/src/a.py", "x": 1}},
        {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/etc/passwd"}},
    ]
    message = {"id": f"msg_{at}", "model": "claude-opus-5-5", "usage": {**tokens, "output_tokens": 40}}
    command = f"<command-name>/review</command-name>\n{ARGUMENTS}"
    asked = user(command, cwd, timestamp="2026-01-01T09:00:00.000Z", gitBranch=branch)
    answered = said("assistant", [*uses, 5], cwd, message=message, timestamp=at, gitBranch=branch)
    return asked + answered + b'{"type": "summary", "summary": "x"}\n'


def write(lines: bytes, name: str = ID, where: str = "-anything") -> Path:
    path = folder(where) / f"{name}.jsonl"
    path.write_bytes(lines)
    return path


@pytest.fixture
def ours(store: Store) -> Store:
    store.agx.new(store.root)
    return store


def test_the_id_that_is_given_is_what_is_resumed(ours: Store) -> None:
    raw = ours.agx.claude(ours.root, "abc-1")["claude"]
    assert raw["sessionId"] == "abc-1" and raw["hasActiveContext"] is True
    assert raw["resumeInfo"]["canResume"] and raw["resumeInfo"]["resumeCommand"] == "claude --resume abc-1"
    assert ours.index["sessions"][0]["runtime"]["claudeSessionId"] == "abc-1"
    assert ours.index["sessions"][0]["runtime"]["claudeActive"] is True


def test_one_that_claude_code_does_not_know_cannot_be_resumed(ours: Store) -> None:
    write(said_in(ours.root))
    raw = ours.agx.claude(ours.root, "abc-1")["claude"]
    assert raw["resumeInfo"]["canResume"] is False and "no such session" in raw["resumeInfo"]["resumeErrors"][0]
    assert ours.agx.claude(ours.root, ID)["claude"]["resumeInfo"]["resumeErrors"] == []


def test_another_conversation_has_nothing_of_the_former(ours: Store) -> None:
    write(said_in(ours.root))
    ours.agx.claude(ours.root, ID)
    raw = ours.session("main")
    raw["claude"] |= {"conversationId": "conv_1", "theirs": 1}
    ours.write("main", raw)
    held = ours.agx.claude(ours.root, "abc-1")["claude"]
    assert (held["sessionId"], held["modelUsed"], held["conversationId"], held["theirs"]) == ("abc-1", None, None, 1)
    assert held["contextInfo"] == {"messageCount": 0, "estimatedTokens": 0, "lastCommand": None, "workingFiles": []}


def test_commands_that_nobody_counts_are_not_said_to_be_none(ours: Store) -> None:
    assert "commandsExecuted" not in ours.session("main")["statistics"]


@pytest.mark.parametrize("bad", ["", "a b", "../x", "x; rm -rf /", "$(x)", "-x"])
def test_an_id_never_becomes_a_path_or_a_command(ours: Store, bad: str) -> None:
    with pytest.raises(InvalidInput):
        ours.agx.claude(ours.root, bad)


def test_the_newest_conversation_of_the_branch_is_found(ours: Store) -> None:
    path = write(said_in(ours.root))
    write(said_in(ours.root, "2026-03-01T10:00:00.000Z", "other"), OTHER)
    before = snapshot(folder())
    ours.agx.check(ours.root)
    raw = ours.session("main")["claude"]
    assert (raw["sessionId"], raw["modelUsed"]) == (ID, "claude-opus-5-5")
    assert raw["lastInteraction"] == "2026-02-01T10:00:00.000Z"
    assert raw["contextInfo"] == {
        "messageCount": 2, "estimatedTokens": 1000, "lastCommand": "/review the last commit",
        "workingFiles": ["src/a.py"],
    }  # fmt: skip
    assert raw["resumeInfo"]["resumeCommand"] == f"claude --resume {ID}"
    write(said_in(ours.root, "2026-04-01T10:00:00.000Z"), THIRD)
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == THIRD
    assert {name: before[name] for name in before} == {k: v for k, v in snapshot(folder()).items() if k in before}
    assert path.exists(), "only read"


def test_a_given_one_stays_until_there_is_a_later_one(ours: Store) -> None:
    write(said_in(ours.root))
    write(said_in(ours.root, "2026-01-01T10:00:00.000Z"), OTHER)
    ours.agx.claude(ours.root, OTHER)
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == ID
    write(said_in(ours.root), THIRD)
    ours.agx.claude(ours.root, THIRD)
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == THIRD, "not later than what was given"


def test_a_session_under_a_name_adopts_none_by_itself(ours: Store) -> None:
    ours.agx.new(ours.root, "testing")
    write(said_in(ours.root))
    ours.agx.check(ours.root)
    assert ours.session("testing")["claude"]["sessionId"] is None
    assert ours.session("main")["claude"]["sessionId"] == ID


def test_one_in_a_worktree_is_its_branchs(ours: Store, tmp_path: Path) -> None:
    """Wherever the worktree is, and wherever Claude Code has the file: what it says of itself counts."""
    git(ours.root, "checkout", "-q", "-b", "login")
    ours.agx.settle(ours.root)
    git(ours.root, "checkout", "-q", "main")
    git(ours.root, "worktree", "add", "-q", str(tmp_path / "beside"), "login")
    write(said_in(tmp_path / "beside", branch="login"), ID, "-beside")
    write(said_in(tmp_path, branch="main"), OTHER, re.sub("[^A-Za-z0-9]", "-", str(ours.root)))
    ours.agx.check(ours.root)
    raw = ours.session("login")["claude"]
    assert (raw["sessionId"], raw["contextInfo"]["workingFiles"]) == (ID, ["src/a.py"])
    assert ours.session("main")["claude"]["sessionId"] is None, "another project's, in the folder of this one's name"
    assert ours.agx.claude(ours.root, ID, "main")["claude"]["resumeInfo"]["canResume"] is True
    assert ours.agx.claude(ours.root, OTHER, "main")["claude"]["resumeInfo"]["canResume"] is False


def test_one_that_moved_to_another_folder_is_the_same(ours: Store) -> None:
    moved = write(said_in(ours.root))
    ours.agx.check(ours.root)
    grow(moved.rename(folder("-moved") / moved.name), said_in(ours.root, "2026-05-01T10:00:00.000Z"))
    ours.agx.check(ours.root)
    raw = ours.session("main")["claude"]
    assert (raw["sessionId"], raw["lastInteraction"]) == (ID, "2026-05-01T10:00:00.000Z")


def test_nothing_needs_to_be_followed_for_it(ours: Store) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[agents]\nfollow = []\n")
    write(said_in(ours.root))
    assert oneshot.once(project_at(ours.root), loading.load(paths.config_file())).problems == []
    assert ours.session("main")["claude"]["sessionId"] == ID
    assert list(paths.agents_dir().rglob("*.jsonl*")) == []


def test_a_folder_that_is_left_alone_is_left_alone_here_too(ours: Store) -> None:
    write(said_in(ours.root))
    ignored = [str(ours.root)]
    conversations = Resumable(lambda: ignored)
    assert conversations.newest(ours.root) == [] and conversations.find(ours.root, ID) is None
    ignored.clear()
    assert [each.session_id for each in conversations.newest(ours.root)] == [ID]


def test_what_did_not_change_is_not_read_again(ours: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write(said_in(ours.root))
    ours.agx.check(ours.root)
    monkeypatch.setattr(Source, "__init__", lambda *_: 1 / 0)
    monkeypatch.setattr(resumable, "Ownership", lambda *_: 1 / 0)
    steps = Steps(monkeypatch)
    ours.agx.check(ours.root)
    assert steps.taken() == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, b"{}\n[]\n5\nnull\n", b"\xff\xfe\n", b"[" * 100_000, b'{"type": "user", "message": 5}\n',
     b'{"type": "assistant", "message": {"usage": {"input_tokens": "x"}, "content": [{"input": 5}], "model": 7}}\n',
     b'{"timestamp": 5, "gitBranch": {}}\n'],
)  # fmt: skip
def test_nothing_in_those_files_is_relied_on(ours: Store, content: bytes) -> None:
    write(content)
    write(said_in(ours.root) + content, OTHER)
    (folder() / f"{'c' * 8}{ID[8:]}.jsonl").mkdir()
    (folder() / f"{THIRD}.jsonl").symlink_to("/etc/passwd")
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == OTHER


def test_of_a_huge_file_only_the_beginning_and_the_end_are_read(ours: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = "2026-01-01T00:00:00.000Z"
    write(b"".join(user("x" * 1000, ours.root, timestamp=begun) for _ in range(5000)) + said_in(ours.root))
    read: list[int] = []
    real = Source.pieces

    def pieces(source: Source, start: int, most: int) -> Iterator[bytes]:
        for piece in real(source, start, most):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(Source, "pieces", pieces)
    ours.agx.check(ours.root)
    raw = ours.session("main")["claude"]
    assert sum(read) == 512 << 10
    assert raw["sessionId"] == ID and abs(raw["contextInfo"]["messageCount"] - 5002) < 100


def test_a_line_that_is_being_written_is_left_out(ours: Store) -> None:
    write(said_in(ours.root) + user("more", ours.root)[:-1])
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["contextInfo"]["messageCount"] == 2
