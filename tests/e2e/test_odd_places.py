"""Every command where things are not as usual: it says something sensible, and is no bug."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dagentd import cli
from tests.e2e.stage import Stage, stage
from tests.e2e.terminal import Terminal
from tests.patience import patience
from tests.warm import Command

SESSION = "pm-feature-login"
ARGUMENTS = {
    "run": "--once", "logs": "-n 5", "show": SESSION, "messages": SESSION, "history": SESSION, "search": "callback",
    "request": SESSION, "compact": SESSION, "undo": SESSION, "pin": f"{SESSION} m0 --message", "hooks": "status",
    "context": SESSION, "migrate": "--dry-run", "restore": SESSION, "agx": "list", "service": "status",
    "call": "daemon.ping", "events": "--since nonsense", "forget": f"{SESSION} --yes", "add": f"{SESSION} Hello",
    "clear": f"{SESSION} --yes", "archive": SESSION, "export": SESSION, "completion": "bash",
    "mcp": "--print-config",
}  # fmt: skip
# `web` serves until Ctrl-C, and opens a browser: tests/web has it. `mcp` serves until its input ends: tests/mcp.
LAST = ("demo", "stop", "start", "restart", "forget", "remove")  # what the others would find gone, or somebody else's
COMMANDS = sorted(cli.COMMANDS.keys() - {"web"}, key=lambda name: (name in LAST, name))
SERVED = "a repository with a session, and the daemon serves it"
ALONE = "a repository with a session"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NOBODY = 54321  # a user whom the system does not know, as in many containers


@dataclass
class Place:
    """Where commands are run, on a terminal of some width or without one."""

    made: Stage
    columns: int = 0
    as_whom: tuple[str, ...] = ()

    def run(self, *arguments: str) -> tuple[int, str]:
        if self.columns:
            terminal = Terminal(["dagentd", *arguments], self.made.shop, self.made.env, columns=self.columns)
            if arguments == ("top",) and self.made.env["TERM"] != "dumb":
                terminal.until("compact")
                terminal.type("q")
            return terminal.end(), terminal.said
        with Command(
            *arguments, as_whom=self.as_whom, cwd=self.made.shop, env=self.made.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as command:  # fmt: skip
            printed = command.communicate(timeout=patience())[0]
        return command.returncode, printed.decode()


def no_terminal(made: Stage) -> Place:
    del made.env["TERM"]
    return Place(made)


def no_colour(made: Stage) -> Place:
    made.env["NO_COLOR"] = "1"
    return Place(made, columns=80)


def narrow(made: Stage) -> Place:
    return Place(made, columns=40)


def ascii_only(made: Stage) -> Place:
    """And the simplest terminal there is."""
    made.env |= {**ASCII, "TERM": "dumb"}
    return Place(made, columns=80)


def no_home(made: Stage) -> Place:
    """Of somebody whom the system does not know: everybody else has a real one."""
    del made.env["HOME"]
    return Place(made, as_whom=_nobody(made))


def read_only_home(made: Stage) -> Place:
    """For root nothing is read-only."""
    as_whom = _nobody(made) if os.geteuid() == 0 else ()
    for folder in (made.home, made.home / ".local", made.home / ".local" / "bin"):
        os.chmod(folder, 0o555)
    return Place(made, as_whom=as_whom)


def _nobody(made: Stage) -> tuple[str, ...]:
    """Who may still read everything, because this Python may be in root's home."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can be somebody else, by setpriv")
    for folder in (made.home, made.runtime):
        subprocess.run(["chown", "-R", str(NOBODY), str(folder)], check=True)
    ids, may = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"), "=-all,+dac_read_search"
    return "setpriv", *ids, f"--bounding-set{may}", f"--inh-caps{may}", f"--ambient-caps{may}", "--"


PLACES: dict[str, tuple[str, Callable[[Stage], Place]]] = {
    "no terminal": (SERVED, no_terminal),
    "40 columns": (SERVED, narrow),
    "LANG=C": (SERVED, ascii_only),
    "no HOME": (ALONE, no_home),
    "read-only HOME": (ALONE, read_only_home),
}


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    before, furnished = PLACES[request.param]
    with stage(before) as made:
        yield furnished(made)


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_says_something_sensible(place: Place, name: str) -> None:
    status, said = place.run(name, *ARGUMENTS.get(name, "").split())
    assert "Traceback" not in said and "this is a bug" not in said, said
    assert status in (0, 1, 2, 3), said
    assert said.strip() or status == 0
    if status == 1 and said.startswith("dagentd: "):
        assert len(said.splitlines()) < 12, said


def test_help_is_there_in_ascii_and_40_columns() -> None:
    each = f"import sys; from dagentd import cli; sys.exit(max(cli.run_command([n, '--help']) for n in {COMMANDS}))"
    env = {**os.environ, **ASCII, "COLUMNS": "40"}
    done = subprocess.run([sys.executable, "-c", each], env=env, capture_output=True, text=True, timeout=patience())
    assert (done.returncode, done.stderr, done.stdout.count("Usage: ")) == (0, "", len(COMMANDS))


def test_an_init_that_cannot_be_done_leaves_the_repository_as_it_was() -> None:
    with stage(ALONE) as made:
        place, held = read_only_home(made), (made.shop / ".git" / "info" / "exclude").read_bytes()
        status, said = place.run("init")
        assert (status, (made.shop / ".git" / "info" / "exclude").read_bytes()) == (1, held), said
        assert not any((made.shop / ".git" / "hooks").glob("post-commit"))


def test_no_colour_means_no_colour() -> None:
    with stage(SERVED) as made:
        place = no_colour(made)
        for name in ("status", "sessions", f"show {SESSION}", "projects", "config", "demo"):
            assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|48|9[0-7])", place.run(*name.split())[1]), name


def test_a_narrow_terminal_shows_every_word_whole() -> None:
    """No line is broken by the terminal but for a word that is longer than it is wide."""
    with stage(SERVED) as made:
        place = narrow(made)
        for name in ("status", "init", "sessions", "projects", f"compact {SESSION}", f"undo {SESSION}", "doctor"):
            for line in re.sub(r"\x1b\[[0-9;]*m", "", place.run(*name.split())[1]).splitlines():
                assert len(line) <= 40 or max(map(len, line.split())) > 20, (name, line)


def test_without_a_home_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": "nowhere"}
    for name in [name for name in env if name.startswith("XDG_")]:
        del env[name]
    done = subprocess.run([sys.executable, "-m", "dagentd", "init"], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 1 and b"git repository" in done.stderr
