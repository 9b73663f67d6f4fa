"""Every command in README.md and docs is run, in its order and on a repository as its readers have one."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.stage import stage
from tests.e2e.terminal import Terminal
from tests.readme import PAGES, README

SERVED = "a repository with a session, and the daemon serves it"
SESSION = "pm-feature-login"
SAID = {
    "SESSION": SESSION,
    "TEXT": "Hello",
    "NAME": "main",
    "SESSION_ID": "0b0c7a1e-6c1f-4d0b-9a53-0d6c3c7f1c11",
    "QUERY": "callback",
}
# What other tests run: these need a registry, a terminal, or are what runs this test.
ELSEWHERE = {
    "dagentd service": "tests/e2e/test_service.py",
    "git clone": "tests/e2e/test_first_hour.py",
    "cd dagentd": "tests/e2e/test_first_hour.py",
    "make run": "tests/e2e/test_first_hour.py",
    "pipx": "tests/e2e/test_first_hour.py",
    "uv": "tests/e2e/test_first_hour.py",
    "dagentd remove --purge": "tests/e2e/test_first_hour.py",
    "make test": ".ci/run",
    "make bench": "tests/bench/__main__.py",
    "make torture": "tests/torture/__main__.py",
    "dagentd agx open": "tests/e2e/test_agx.py",
    "dagentd top": "tests/e2e/test_top.py",
}
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]


def commands(block: str) -> list[list[str]]:
    """Without comments, and with what the reader puts for words in capitals."""
    lines = (shlex.split(line, comments=True) for line in block.splitlines())
    parts = (part for line in lines for part in " ".join(map(shlex.quote, line)).split(" '&&' "))
    return [[SAID.get(word, word) for word in shlex.split(part)] for part in parts if part]


def elsewhere(command: list[str]) -> str | None:
    told = shlex.join(command)
    return next((where for begin, where in ELSEWHERE.items() if told.startswith(begin)), None)


SHELL = [commands(text) for language, text in BLOCKS if language == "sh"]


def test_there_are_commands_to_run() -> None:
    assert sum(map(len, SHELL)) > 20
    for where in ELSEWHERE.values():
        assert (README.parent / where).is_file(), where


@pytest.mark.parametrize(
    "block", [block for block in SHELL if not all(map(elsewhere, block))], ids=lambda block: "-".join(block[0][:2])
)
def test_each_block_runs(block: list[list[str]]) -> None:
    """One that begins with `git init` makes its own repository, in a home where there is nothing."""
    new = block[0][:2] == ["git", "init"]
    with stage("an empty home" if new else SERVED) as here:
        folder = here.home if new else here.shop
        for command in block:
            if command[0] == "cd":
                folder /= command[1]
            elif elsewhere(command) is None:
                terminal = Terminal(command, folder, here.env)
                terminal.type("y\n")  # for those that ask
                assert terminal.end() == 0, terminal.text


def example(language: str, folder: Path) -> Path:
    (text,) = [text for name, text in BLOCKS if name == language]
    path = folder / "example"
    path.write_text(text)
    return path


def test_the_example_in_python_runs(tmp_path: Path) -> None:
    with stage(SERVED) as here:
        line = [sys.executable, "-u", str(example("python", tmp_path))]
        with subprocess.Popen(line, cwd=here.shop, env=here.env, stdout=subprocess.PIPE, text=True) as running:
            until(lambda: "Hello" in here.run("dagentd", "messages", SESSION))
            assert running.stdout
            here.run("dagentd", "add", SESSION, "And this is heard.")
            assert running.stdout.readline().split() == ["message_added", SESSION]
            running.kill()


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
def test_the_example_in_javascript_runs(tmp_path: Path) -> None:
    with stage(SERVED) as here:
        assert SESSION in here.run("node", str(example("js", tmp_path)))
