"""What is offered where the cursor is: by the table that is made from the commands, and by what is on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.cli.completion.completing import complete
from dagentd.cli.completion.grammar import TABLE
from tests.conftest import SampleProject
from tests.words import current

Offered = Callable[..., list[str]]
PM, TASK, GONE = "pm-feature-feat-login", "dev-task-feat-login-t1-in_dev", "qa-feature-old"


def test_the_table_is_current() -> None:
    assert TABLE.read_text(encoding="utf-8") == current(), "run `python -m tests.words`"


@pytest.fixture
def here(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a project with two sessions, and one that is gone; it is registered."""
    sessions, kept = project.dagent / "sessions", project.root / ".git" / "dagentd" / "kept"
    kept.mkdir(parents=True)
    sessions.mkdir()
    (sessions / f"session_{PM}.json").write_text("{}")
    (sessions / f"history_{TASK}.jsonl").write_text("")
    os.link(sessions / f"history_{TASK}.jsonl", kept / f"{TASK}.1.jsonl")
    (kept / f"{GONE}.1.jsonl").write_text("")
    (project.root / ".agx" / "sessions").mkdir(parents=True)
    (project.root / ".agx" / "sessions" / "main.json").write_text("{}")
    state = Path(os.environ["XDG_STATE_HOME"], "dagentd")
    state.mkdir()
    entry = {"id": "1", "root": str(project.root), "commonDir": f"{project.root}/.git"}
    (state / "projects.json").write_text(json.dumps({"projects": [entry]}))
    monkeypatch.chdir(project.worktree)
    return project.root


@pytest.fixture
def offered(capsys: pytest.CaptureFixture[str]) -> Offered:
    def ask(*words: str, shell: str = "zsh") -> list[str]:
        assert complete(shell, words) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        lines = [line.split("\t") for line in printed.out.splitlines()]
        return [value if kind == "word" else f"({kind})" for kind, value, _ in lines]

    return ask


def test_what_stands_where(here: Path, offered: Offered) -> None:
    live = [TASK, PM]
    for words, expected in [
        (["expo"], ["export"]),
        (["show", ""], [*live, GONE]),
        (["show", "p"], [PM]),
        (["add", ""], live),
        (["restore", ""], [GONE]),
        (["restore", "x", "--into", ""], ["feat-login"]),
        (["show", "--json", "p"], [PM]),
        (["show", "-C", "/", "p"], []),
        (["show", "-C", str(here), "p"], [PM]),
        (["show", f"--project={here}", "p"], [PM]),
        (["show", "--worktree", ""], ["feat-login"]),
        (["show", "--worktree=f"], ["--worktree=feat-login"]),
        (["show", PM, ""], []),
        (["search", "words", "--session", "q"], [GONE]),
        (["add", PM, "--role", "a"], ["assistant"]),
        (["show", "--js"], ["--json"]),
        (["show", "--", "--js"], []),
        (["pause", "pm"], [PM]),
        (["pause", str(here)[:-1]], [str(here)]),
        (["pause", "elsewhere"], ["(folders)"]),
        (["init", ""], ["(folders)"]),
        (["remove", ""], [str(here)]),
        (["show", "-C", ""], [str(here)]),
        (["show", "-C", "sub"], ["(folders)"]),
        (["export", "x", "-o", ""], ["(files)"]),
        (["hooks", "un"], ["uninstall"]),
        (["agx", "show", ""], ["main"]),
        (["agx", "cleanup", "x", ""], ["main"]),
        (["agx", "list", "--state", "arch"], ["archived"]),
        (["call", "session.arch"], ["session.archive"]),
        (["events", "--type", "daemon:"], ["daemon:degraded", "daemon:recovered"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["logs", "-n", ""], []),
        (["nonsense", ""], []),
        (["show", "--nonsense", "p"], [PM]),
    ]:  # fmt: skip
        assert offered(*words) == expected, words
    assert {"show", "hooks", "man"} <= set(offered("")) == set(offered())


def test_bash_takes_words_apart(here: Path, offered: Offered) -> None:
    assert offered("events", "--type", "daemon", ":", "deg", shell="bash") == ["degraded"]
    assert offered("events", "--type", "daemon", ":", shell="bash") == ["degraded", "recovered"]
    assert offered("events", "--type", "daem", shell="bash") == ["daemon:degraded", "daemon:recovered"]
    assert offered("add", "x", "--role", "=", "u", shell="bash") == ["user"]
    assert offered("add", "x", "--role", "=", shell="bash") == ["user", "assistant", "system"]
    assert offered("show", "--project", "=", str(here), "p", shell="bash") == [PM]


@pytest.mark.parametrize("damage", ["no table", "no repository", "odd words"])
def test_nothing_is_said_where_something_is_wrong(
    damage: str, offered: Offered, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    if damage == "no table":
        monkeypatch.setattr("dagentd.cli.completion.grammar.TABLE", tmp_path / "none")
    assert offered("show", "") == []
    assert offered("show", "\udcff\x00", "\n") == []
    assert offered("-C") == []


_HEAVY = """pydantic anthropic tiktoken pygit2 watchdog rich asyncio sqlite3 tomli daemon httpx2 concurrent
    multiprocessing email http ssl urllib.request dagentd.settings dagentd.rpc dagentd.jobs dagentd.daemon"""


@pytest.mark.parametrize(
    ("arguments", "shell"),
    [
        (["--help"], ""), (["--version"], ""), (["completion", "bash"], ""), ([""], "bash"), (["show", ""], "zsh"),
        (["pause", ""], "fish"), (["agx", "show", ""], "bash"), (["remove", ""], "bash"), (["restore", ""], "zsh"),
    ],
)  # fmt: skip
def test_nothing_heavy_is_loaded(arguments: list[str], shell: str, here: Path) -> None:
    """For what a shell asks at its start and with every Tab, and for what is asked before one knows dagentd."""
    code = f"""if True:
        import sys
        from dagentd import cli
        status = cli.run_command({arguments!r})
        assert status == 0, status
        print([name for name in {_HEAVY.split()!r} if name in sys.modules], file=sys.stderr)"""
    environment = {**os.environ, **({"_DAGENTD_COMPLETE": shell} if shell else {})}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert done.stdout
