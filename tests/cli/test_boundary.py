"""Where a command's failure becomes words and an exit status; and what --help does not load."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from dagentd import __version__, cli, paths
from dagentd.cli import verbs
from dagentd.errors import CorruptFile, Unreachable
from dagentd.model.project import Project


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int | None], int]:
    """Run a command that raises this, or returns it."""

    def run(outcome: BaseException | int | None) -> int:
        def body() -> int | None:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(cli._Commands, "get_command", lambda *_: click.Command("fail", callback=body))
        return cli.run_command(["fail"])

    return run


Failing = Callable[[BaseException | int | None], int]


def dagentd(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "dagentd", *arguments], **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("outcome", "status"), [(None, 0), (0, 0), (1, 1), (3, 3), (click.exceptions.Exit(1), 1)])
def test_a_command_says_its_status(outcome: BaseException | int | None, status: int, failing: Failing) -> None:
    assert failing(outcome) == status


def test_an_expected_failure_is_a_sentence_and_a_hint(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(CorruptFile("is\x1b empty", path="/a/b.json", hint="Restore it.")) == 1
    assert capsys.readouterr().err == "dagentd: /a/b.json: is\\x1b empty\nRestore it.\n"


def test_what_the_system_refuses_is_a_sentence_and_a_hint(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(OSError(errno.ENOSPC, "No space left on device", "/a/b.json")) == 1
    assert capsys.readouterr().err.startswith("dagentd: /a/b.json: the disk is full\nFree some space")


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_command(["confg"]) == 2
    assert "Did you mean 'config'?" in capsys.readouterr().err
    assert cli.run_command(["config", "--nonsense"]) == 2
    assert cli.run_command([]) == 2


def test_a_bug_is_told_briefly_and_kept_in_the_log(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(ValueError("what a session said")) == 70
    told = capsys.readouterr().err
    assert told.startswith("dagentd: this is a bug in dagentd: ValueError in test_boundary.py, line ")
    assert str(paths.log_file()) in told
    assert "what a session said" not in told
    assert "Traceback" in paths.log_file().read_text()
    assert failing(ValueError("again")) == 70
    assert paths.log_file().read_text().count("Traceback") == 2
    assert paths.log_file().stat().st_mode & 0o777 == 0o600
    assert paths.state_dir().stat().st_mode & 0o777 == 0o700


def test_a_bug_without_a_log_is_told_whole(
    failing: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert failing(ValueError("broken")) == 70
    assert "ValueError: broken" in capsys.readouterr().err


def test_interruptions_are_quiet(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert failing(click.Abort()) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["--help"], ["config"], ["config", "--json"]])
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = dagentd(*arguments, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert process.communicate()[1] == b""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_a_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        process = dagentd("config", stdout=full, stderr=subprocess.PIPE)
        told = process.communicate()[1]
    assert told == b"dagentd: cannot write the output: No space left on device\n"
    assert process.returncode == 1


def test_a_socket_that_nobody_can_reach_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", f"{__file__}/s")
    here = Project(tmp_path, tmp_path)
    with pytest.raises(Unreachable, match="cannot be reached: Not a directory"), verbs.serving(here):
        pass


def test_version() -> None:
    process = dagentd("--version", stdout=subprocess.PIPE)
    assert process.communicate()[0] == f"dagentd {__version__}\n".encode()


def test_help_lists_the_commands_and_loads_none() -> None:
    code = (
        "import sys; from dagentd import cli; cli.run_command(['--help']);"
        "print([name for name in sys.modules if name.split('.')[0] in ('pydantic', 'rich', 'tomli', 'anthropic')"
        " or name.startswith(('dagentd.settings', 'dagentd.store', 'dagentd.cli.config'))], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert all(f"\n  {name} " in done.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_table_tells_the_truth(name: str) -> None:
    command = cli.root.get_command(click.Context(cli.root), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(200) == cli.COMMANDS[name][1]
