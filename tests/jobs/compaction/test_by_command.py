"""Compaction through the `claude` command line, by a stand-in that answers as the real one was seen to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.process import lives
from tests import stand_in_claude as claude
from tests.jobs.compaction.conversing import GOOD, Conversing, with_compaction
from tests.patience import patience
from tests.stand_in_claude import StandIn


@pytest.fixture
def by_command(conversing: Conversing) -> Conversing:
    conversing.settings = with_compaction(conversing.settings, backend="claude-cli", base_url="")
    conversing.talk()
    return conversing


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> StandIn:
    made = StandIn(folder / "bin", answers)
    monkeypatch.setenv("PATH", f"{made.path.parent}:/usr/bin:/bin")
    return made


def test_it_is_asked_quietly_and_believed(by_command: Conversing, tmp_path: Path, monkeypatch: Any) -> None:
    """The prompt comes on standard input; no tools, no session file, no folder of a project, none of our keys."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "for-other-tools")
    program = stand_in(tmp_path, monkeypatch, claude.spoken(json.dumps({"operations": GOOD})))
    assert by_command.compact()["method"] == "claude-cli"
    assert by_command.decisions == [GOOD[0]["text"], GOOD[2]["text"]]
    (called,) = program.calls()
    assert "PostgreSQL 16" in called.stdin and "PostgreSQL" not in str(called.argv)
    options = dict(zip(called.argv, called.argv[1:], strict=False))
    assert (options["--tools"], options["--model"], options["--output-format"]) == ("", "claude-haiku-5-5", "json")
    assert {"-p", "--no-session-persistence", "--safe-mode", "--strict-mcp-config"} <= set(called.argv)
    assert not Path(called.cwd).exists() and str(tmp_path) not in called.cwd
    assert not {"ANTHROPIC_API_KEY", "DAGENTD_API_KEY"} & called.environ.keys()


def test_an_answer_in_words_is_read_too(by_command: Conversing, tmp_path: Path, monkeypatch: Any) -> None:
    words = f"```json\n{json.dumps({'operations': GOOD})}\n```"
    stand_in(tmp_path, monkeypatch, claude.spoken(words))
    assert by_command.compact()["method"] == "claude-cli"


@pytest.mark.parametrize("answer", [
    claude.failed(500, "API Error: 500", "api_error"),
    claude.crashed(2, "error: unknown option"),
    claude.garbage("Welcome to Claude!"),
    claude.spoken(""),
], ids=["is_error", "crashed", "garbage", "silent"])  # fmt: skip
def test_a_failure_costs_nothing_but_the_model(
    by_command: Conversing, tmp_path: Path, monkeypatch: Any, answer: dict[str, Any]
) -> None:
    stand_in(tmp_path, monkeypatch, answer)
    done = by_command.compact()
    assert (done["method"], done["messagesCompacted"]) == ("local", 4)
    assert done["note"].startswith("claude-cli: ")
    assert [end["failed"] for end in by_command.ledger("end")] == [True]


def test_one_that_hangs_is_killed_with_all_that_it_started(
    by_command: Conversing, tmp_path: Path, monkeypatch: Any
) -> None:
    program = stand_in(tmp_path, monkeypatch, claude.hanging())
    assert by_command.compact(seconds=patience(2.0))["method"] == "local"
    for called in program.calls():
        assert not lives(called.pid)
        assert called.child is not None and not lives(called.child)


def test_one_that_is_not_installed_is_told_of(by_command: Conversing, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in by_command.compact()["note"]
