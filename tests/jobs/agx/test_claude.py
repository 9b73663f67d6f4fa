"""Claude: the conversation that a session goes on with, given by the user or found in Claude Code's own files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.files import fileio
from dagentd.agx import claude_resume
from dagentd.errors import InvalidInput
from tests.jobs.context.contexts import Steps
from tests.store.agx.agx import Store, snapshot

ARGUMENTS = "<command-message>review</command-message>\n<command-args>the last\n commit</command-args>"
ID = "0b6e1a3c-1111-2222-3333-444455556666"


def folder(store: Store) -> Path:
    name = "".join(each if each.isalnum() else "-" for each in str(store.root))
    path = Path(os.environ["HOME"], ".claude", "projects", name)
    path.mkdir(parents=True, exist_ok=True)
    return path


def line(kind: str, at: str, content: Any, branch: str = "main", **message: Any) -> str:
    return json.dumps({"type": kind, "timestamp": at, "gitBranch": branch, "sessionId": ID, "cwd": "/x",
                       "message": {"role": kind, "content": content, **message}})  # fmt: skip


def said(store: Store, at: str = "2026-02-01T10:00:00.000Z", branch: str = "main") -> list[str]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50, "output_tokens": 40}
    use = {"type": "tool_use", "name": "Edit", "input": {"file_path": f"{store.root}/src/a.py", "x": 1}}
    outside = {"type": "tool_use", "name": "Read", "input": {"file_path": "/etc/passwd"}}
    return [
        line("user", "2026-02-01T09:00:00.000Z", f"<command-name>/review</command-name>\n{ARGUMENTS}", branch),
        line("assistant", at, [use, outside, 5], branch, model="claude-opus-5-5", usage=usage),
        '{"type": "summary", "summary": "x"}',
    ]


def write(store: Store, lines: list[str], name: str = ID) -> Path:
    path = folder(store) / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n")
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
    write(ours, said(ours))
    raw = ours.agx.claude(ours.root, "abc-1")["claude"]
    assert raw["resumeInfo"]["canResume"] is False and "no such session" in raw["resumeInfo"]["resumeErrors"][0]
    assert ours.agx.claude(ours.root, ID)["claude"]["resumeInfo"]["resumeErrors"] == []


def test_another_conversation_has_nothing_of_the_former(ours: Store) -> None:
    write(ours, said(ours))
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
    path = write(ours, said(ours))
    write(ours, said(ours, "2026-03-01T10:00:00.000Z", "other"), "of-another-branch")
    before = snapshot(folder(ours))
    ours.agx.check(ours.root)
    raw = ours.session("main")["claude"]
    assert (raw["sessionId"], raw["modelUsed"]) == (ID, "claude-opus-5-5")
    assert raw["lastInteraction"] == "2026-02-01T10:00:00.000Z"
    assert raw["contextInfo"] == {
        "messageCount": 2, "estimatedTokens": 1000, "lastCommand": "/review the last commit",
        "workingFiles": ["src/a.py"],
    }  # fmt: skip
    assert raw["resumeInfo"]["resumeCommand"] == f"claude --resume {ID}"
    write(ours, said(ours, "2026-04-01T10:00:00.000Z"), "newer")
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == "newer"
    assert {name: before[name] for name in before} == {k: v for k, v in snapshot(folder(ours)).items() if k in before}
    assert path.exists(), "only read"


def test_a_given_one_stays_until_there_is_a_later_one(ours: Store) -> None:
    write(ours, said(ours))
    write(ours, said(ours, "2026-01-01T10:00:00.000Z"), "older")
    ours.agx.claude(ours.root, "older")
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == ID
    write(ours, said(ours), "given")
    ours.agx.claude(ours.root, "given")
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] == "given", "not later than what was given"


def test_a_session_under_a_name_adopts_none_by_itself(ours: Store) -> None:
    ours.agx.new(ours.root, "testing")
    write(ours, said(ours))
    ours.agx.check(ours.root)
    assert ours.session("testing")["claude"]["sessionId"] is None
    assert ours.session("main")["claude"]["sessionId"] == ID


def test_what_did_not_change_is_not_read_again(ours: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ours, said(ours))
    ours.agx.check(ours.root)
    monkeypatch.setattr(fileio, "tail", lambda *_: 1 / 0)
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
    (folder(ours) / f"{ID}.jsonl").write_bytes(content)
    (folder(ours) / "a-folder.jsonl").mkdir()
    (folder(ours) / "link.jsonl").symlink_to("/etc/passwd")
    ours.agx.check(ours.root)
    assert ours.session("main")["claude"]["sessionId"] is None


def test_of_a_huge_file_only_the_end_is_read(ours: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(ours) / f"{ID}.jsonl"
    one = line("user", "2026-01-01T00:00:00Z", "x" * 1000)
    with path.open("w") as file:
        for _ in range(5000):
            file.write(one + "\n")
        file.write("\n".join(said(ours)) + "\n")
    asked: list[int] = []
    real = fileio.tail

    def tail(path: Path, limit: int) -> tuple[bytes, int]:
        asked.append(len(real(path, limit)[0]))
        return real(path, limit)

    monkeypatch.setattr(fileio, "tail", tail)
    ours.agx.check(ours.root)
    raw = ours.session("main")["claude"]
    assert asked == [512 << 10]
    assert raw["sessionId"] == ID and abs(raw["contextInfo"]["messageCount"] - 5002) < 100


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    whole = line("user", "2026-01-01T00:00:00Z", "hi")
    assert claude_resume.read_transcript(f'{whole}\n{{"type": "us'.encode(), 10, tmp_path).messages == 1
    assert (
        claude_resume.read_transcript(f'pe": "user"}}\n{whole}\n'.encode(), 10**6, tmp_path).last
        == "2026-01-01T00:00:00Z"
    )
