"""Every command in README.md is run, in its order and on a repository as its readers have one."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.stage import Stage, stage
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
    "cd": "tests/e2e/test_first_hour.py",
    "git clone": "tests/e2e/test_first_hour.py",
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
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("block", [block for block in SHELL if not all(map(elsewhere, block))], ids=lambda b: b[0][1])
def test_each_block_runs(block: list[list[str]]) -> None:
    with stage(SERVED) as here:
        for command in block:
            if elsewhere(command) is None:
                terminal = Terminal(command, here.shop, here.env)
                terminal.type("y\n")  # for those that ask
                assert terminal.end() == 0, terminal.text


def test_each_mention_of_a_command_is_one() -> None:
    """`dagentd …` in the text: the command is there and knows the options that are named."""
    spans = re.findall(r"`(dagentd [a-z][^`\n]*)`", "".join(page.read_text(encoding="utf-8") for page in PAGES))
    mentioned = {each.strip().removeprefix("dagentd ") for span in spans for each in span.split(";")}
    assert len(mentioned) > 30
    with stage("a repository") as here:
        wrong = [each for each in sorted(mentioned) if not _known(here, each.split())]
    assert wrong == []


def _known(here: Stage, words: list[str]) -> bool:
    names = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    helped = next((text for end in (2, 1) if (text := _help(here, names[:end]))), "")
    options = [word for word in words if word.startswith("--")]
    return bool(helped) and all(option in helped for option in options)


def _help(here: Stage, names: list[str]) -> str:
    done = subprocess.run(["dagentd", *names, "--help"], env=here.env, cwd=here.shop, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


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
