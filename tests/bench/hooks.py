"""What our hook adds to `git commit` in every state of the daemon, and what the pre-commit framework adds."""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dagentd import paths
from dagentd.adapters.git import project_at
from dagentd.agents import plugins
from dagentd.errors import Unreachable
from dagentd.jobs import hooks
from dagentd.rpc.client import Client
from tests.bench.limits import median_ms
from tests.bench.report import Report

_ROUNDS = 60
_UUID = "11111111-2222-4333-8444-555555555555"
_GIVEN = json.dumps({"session_id": _UUID, "cwd": "/", "source": "startup"}).encode()
_TRIVIAL = """repos:
- repo: local
  hooks:
  - {id: nothing, name: nothing, entry: "true", language: system, always_run: true, stages: [post-commit]}
"""


def measure(folder: Path, report: Report) -> None:
    report.heading("git commit with hooks, in turns")
    place = folder / "hooks"
    place.mkdir()
    none, empty, ours, framework = (_repository(place / name) for name in ("none", "empty", "ours", "framework"))
    _hook(empty, "#!/bin/sh\n")
    hooks.install(project_at(ours))
    plugins.copy()
    with running(empty, ours) as daemon:  # both: what the daemon costs by watching git folders is not the hook's
        _compare(report, "daemon running", empty, ours, pause=0.25)
        _of_agents(report, "daemon running")
        daemon.send_signal(signal.SIGSTOP)
        _compare(report, "daemon stopped by SIGSTOP", empty, ours)
        _of_agents(report, "daemon stopped by SIGSTOP")
    _compare(report, "daemon dead", empty, ours)
    _of_agents(report, "daemon dead")
    del os.environ["DAGENTD_SOCKET"]
    hooks.uninstall(project_at(ours))
    _compare(report, "uninstalled", empty, ours)
    report.figure("git commit without any hook", f"{median_ms(lambda: _commit(none), 20):.2f} ms")
    if _install_framework(place / "venv", framework):
        added = median_ms(lambda: _commit(framework), 10) - median_ms(lambda: _commit(empty), 10)
        report.figure("the pre-commit framework with one trivial hook adds", f"{added:.0f} ms")
    else:
        report.figure("the pre-commit framework", "not to be had")


def _compare(report: Report, state: str, empty: Path, ours: Path, pause: float = 0) -> None:
    added = _added(partial(_commit, empty), partial(_commit, ours), pause)
    report.at_most(f"added to an empty sh hook, {state}", added, 1, "ms")


def _added(empty: Callable[[], object], ours: Callable[[], object], pause: float = 0) -> float:
    """The median of differences of neighbours, either first: a slow moment of the machine falls on both. In the pause
    the daemon does what it has to do after a commit, so that it does not fall on the next."""
    added = []
    for number in range(_ROUNDS):
        taken = {act: median_ms(act, 1) for act in ((empty, ours), (ours, empty))[number % 2]}
        added.append(taken[ours] - taken[empty])
        time.sleep(pause)
    return statistics.median(added)


def _of_agents(report: Report, state: str) -> None:
    """Of an agent's hooks: the one at the end of an answer, which only leaves word, and the one at a start, which asks
    and gives up. `sh` alone and Python alone are what they are compared to."""
    script = [str(paths.connect_dir() / "hook.sh"), "claude-code"]
    line = ["sh", "-c", '[ ! -r "$0" ] || . "$0"', *script]
    added = _added(lambda: _run(["sh", "-c", ":"]), lambda: _run([*line, "Stop"]))
    report.at_most(f"Stop, added to an empty sh, {state}", added, 2, "ms")
    bare = statistics.median(_cpu_ms([sys.executable, "-c", ""]) for _ in range(15))
    begun = statistics.median(_cpu_ms([*line, "SessionStart"]) for _ in range(15))
    report.at_most(f"SessionStart, CPU added to a Python, {state}", begun - bare, 60, "ms")
    report.at_most(f"SessionStart altogether, {state}", median_ms(lambda: _run([*line, "SessionStart"]), 15), 300, "ms")


def _run(line: list[str]) -> None:
    environ = {**os.environ, "CLAUDE_CODE_SESSION_ID": _UUID}
    subprocess.run(line, input=_GIVEN, env=environ, check=True, stdout=subprocess.DEVNULL)


def _cpu_ms(line: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(line)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def _repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for key, value in (("user.name", "x"), ("user.email", "x@x"), ("gc.auto", "0"), ("maintenance.auto", "false")):
        subprocess.run(["git", "config", key, value], cwd=root, check=True)
    _commit(root)
    return root


def _commit(root: Path) -> None:
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=root, check=True, capture_output=True)


def _hook(root: Path, text: str) -> None:
    hook = root / ".git" / "hooks" / "post-commit"
    hook.write_text(text)
    hook.chmod(0o755)


@contextmanager
def running(*roots: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Killed at the end, not stopped."""
    with tempfile.TemporaryDirectory(prefix="dagentd-bench-") as short:
        socket = Path(short, "d.sock")
        os.environ["DAGENTD_SOCKET"] = str(socket)  # also for the hooks that come after its end
        command = [sys.executable, "-m", "dagentd", "run", *map(str, roots)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
            try:
                _wait_for(socket)
                yield daemon
            finally:
                daemon.kill()


def _wait_for(socket: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            with Client(socket) as client:
                client.call("daemon.ping")
                return
        except Unreachable:
            time.sleep(0.05)
    raise TimeoutError("the daemon does not answer")


def _install_framework(folder: Path, root: Path) -> bool:
    """From the package index, which may not be reachable."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", "--retries", "0", "pre-commit"]
    if subprocess.run(pip, capture_output=True).returncode:
        return False
    (root / ".pre-commit-config.yaml").write_text(_TRIVIAL)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    command = [str(folder / "bin" / "pre-commit"), "install", "--hook-type", "post-commit"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    _commit(root)
    return True
