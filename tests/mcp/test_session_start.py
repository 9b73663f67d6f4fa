"""What a conversation is told at its start: asked of a server that stands in for the daemon, or of none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dagentd.mcp import session_start
from dagentd.model import jsontext
from tests.patience import patience

GIVEN = {"session_id": "5f0c", "cwd": "/tmp", "hook_event_name": "SessionStart", "source": "compact", "model": "x",
         "transcript_path": "/t.jsonl"}  # fmt: skip

Answer = Callable[[dict[str, Any]], bytes | None]


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGENTD_SOCKET", str(tmp_path / "d.sock"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind("d.sock")
        os.chmod("d.sock", 0o600)
        made.listen()
        made.settimeout(patience())
        yield made


@contextmanager
def answering(listener: socket.socket, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    asked: list[dict[str, Any]] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            asked.append(json.loads(lines.readline()))
            if (said := answer(asked[-1])) is not None:
                connection.sendall(said)
            lines.read()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield asked
    thread.join()


# A busy machine may need longer than an agent waits.
UNHURRIED = ("-c", f"import dagentd.mcp.session_start as it; it._PATIENCE = {patience()}; it.main()")
AS_IT_IS = ("-I", "-S", session_start.__file__)


def start(given: bytes = json.dumps(GIVEN).encode(), how: Sequence[str] = UNHURRIED) -> bytes:
    """It ends by itself and says nothing else. The exit status is the system's where it was ended."""
    line = [sys.executable, "-P", *how, "claude-code"]
    done = subprocess.run(line, input=given, capture_output=True, timeout=patience(), check=False)
    assert done.stderr == b""
    return done.stdout


def result(value: Any) -> Answer:
    return lambda asked: jsontext.encode({"jsonrpc": "2.0", "result": value, "id": asked["id"]}) + b"\n"


def test_what_the_daemon_says_is_told(listener: socket.socket) -> None:
    said = 'The feature is “login”\n"text":"x"}}\\.'
    with answering(listener, result({"text": said})) as asked:
        told = json.loads(start(json.dumps(GIVEN, indent=1).encode()))
    assert told == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": said}}
    [request] = asked
    assert (request["method"], request["params"]) == (
        "agents.sessionStart",
        {"agent": "claude-code", **GIVEN},
    )


@pytest.mark.parametrize("value", [{"text": ""}, {"text": None}, {}, None, []])
def test_nothing_is_said_where_there_is_nothing_to_say(listener: socket.socket, value: Any) -> None:
    with answering(listener, result(value)):
        assert start() == b""


def test_an_error_or_nonsense_is_not_told(listener: socket.socket) -> None:
    for said in (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}\n', b"nonsense\n"):
        with answering(listener, lambda _, said=said: said):  # type: ignore[misc]
            assert start() == b""


def test_who_does_not_answer_is_not_waited_for(listener: socket.socket) -> None:
    """As a daemon that was stopped: connections are accepted by the system, and nobody reads them."""
    assert start(how=AS_IT_IS) == b""


def test_no_daemon_and_bad_input_are_silent(listener: socket.socket, tmp_path: Path) -> None:
    listener.close()
    assert start() == b""
    (tmp_path / "d.sock").unlink()
    assert start() == b""
    for given in (b"", b"[]", b"{", b"\xff"):
        assert start(given) == b""


def test_modules_of_the_folder_it_is_started_in_are_not_loaded(listener: socket.socket, tmp_path: Path) -> None:
    for name in ("os.py", "dagentd.py", "time.py"):
        (tmp_path / name).write_text("raise SystemExit('taken in')")
    with answering(listener, result({"text": "x"})):
        assert b"additionalContext" in start()


def test_it_loads_nothing_that_takes_long() -> None:
    """What it costs is measured by `make bench`; this names all that would make it dear."""
    code = (
        "import sys, os; begun = {*sys.modules}; sys.path.append(sys.argv[1]); import dagentd.mcp.session_start as it; "
    )
    code += "from dagentd import socket_path; print(*{*sys.modules} - begun)"
    line = [sys.executable, "-I", "-S", "-c", code, str(Path(session_start.__file__).parents[2])]
    loaded = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    ours = {"dagentd", "dagentd.mcp", "dagentd.mcp.session_start", "dagentd.socket_path"}
    assert set(loaded) <= {*ours, "_socket", "__future__"}
