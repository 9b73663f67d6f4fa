"""The stand-in says what it was told to say and remembers how it was called."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from tests import stand_in_claude
from tests.stand_in_claude import StandIn

_ARGV = ["-p", "--bare", "--tools", "", "--json-schema", "{}"]


def run(stand_in: StandIn, cwd: Path, stdin: str = "prompt") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [stand_in.path, *_ARGV], input=stdin, cwd=cwd, env={"HOME": "/nowhere"}, capture_output=True, text=True
    )


def test_it_remembers_how_it_was_called(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", [stand_in_claude.structured({"operations": []})])
    folder = tmp_path / "elsewhere"
    folder.mkdir()

    run(stand_in, folder, "grüße\n" * 100_000)

    (called,) = stand_in.calls()
    assert called.argv == _ARGV
    assert called.stdin == "grüße\n" * 100_000
    assert called.environ["HOME"] == "/nowhere" and "PATH" not in called.environ
    assert called.cwd == str(folder)


def test_it_answers_in_the_order_of_its_plan_and_then_by_the_last_of_it(tmp_path: Path) -> None:
    plan = [
        stand_in_claude.structured({"operations": []}, input_tokens=17),
        stand_in_claude.spoken("I would rather not"),
        stand_in_claude.OVERLOADED,
        stand_in_claude.crashed(3, "Segmentation fault"),
        stand_in_claude.garbage("Welcome!"),
    ]
    stand_in = StandIn(tmp_path / "bin", plan)

    done = [run(stand_in, tmp_path) for _ in range(6)]

    first, second, third = (json.loads(one.stdout) for one in done[:3])
    assert first["structured_output"] == {"operations": []} and first["usage"]["input_tokens"] == 17
    assert second["result"] == "I would rather not" and "structured_output" not in second
    assert third["is_error"] is True and third["subtype"] == "success"
    assert third["terminal_reason"] == "api_error" and third["api_error_status"] == 529
    assert [one.returncode for one in done] == [0, 0, 1, 3, 0, 0]
    assert done[3].stderr == "Segmentation fault"
    assert done[4].stdout == done[5].stdout == "Welcome!"
    assert len(stand_in.calls()) == 6


def test_it_hangs_with_a_child_until_its_group_is_killed(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", [stand_in_claude.hanging()])
    with subprocess.Popen(
        [stand_in.path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as hung:
        while not stand_in.calls():
            assert hung.poll() is None
        (called,) = stand_in.calls()
        assert called.pid == hung.pid and called.child is not None

        os.killpg(hung.pid, signal.SIGKILL)

        assert hung.stdout is not None
        assert hung.stdout.read() == b""  # ends only when the child, which has it too, is gone
