"""What a daemon with a large project costs while nothing happens: memory, processor time, files read and written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from dagentd.rpc.client import Client
from tests.bench.report import Report
from tests.bench.sessions import TEXT

FEATURES, AGENTS, MESSAGES = 100, ("pm", "dev", "qa", "harness", "merge"), 10
REST = 60  # seconds
_BEATS = REST / 5  # the daemon's own, for what nobody tells it about
_READS, _WRITES = 10, 2  # that one beat may take, whatever is served: lock, registry, a sign of life of the watcher
_QUIET = 3  # seconds in which nothing was done
_PATIENCE = 300


def measure(folder: Path, report: Report) -> None:
    report.heading(f"At rest with {FEATURES} features of {len(AGENTS)} sessions")
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="dagentd-bench-") as short:
        os.environ |= {"XDG_RUNTIME_DIR": short, "XDG_STATE_HOME": str(folder / "resting-state")}
        root = _project(folder / "resting")
        try:
            _dagentd("init", str(root))
            with Client() as client:
                _first(client, _pid(client), report)
            _dagentd("restart")
            with Client() as client:
                _second(client, _pid(client), report)
        finally:
            _dagentd("stop")
            os.environ.clear()
            os.environ |= before


def _first(client: Client, pid: int, report: Report) -> None:
    """It makes journals and contexts, and a context has its size in tokens."""
    start = time.monotonic()
    _settle(client, pid)
    report.figure("a first look at all of them", f"{time.monotonic() - start - _QUIET:.0f} s")
    report.at_most("resident memory after it", _megabytes(pid), 130, "MB")


def _second(client: Client, pid: int, report: Report) -> None:
    """It finds everything as it should be, and counts no token."""
    _settle(client, pid)
    report.at_most("resident memory of one that counted no token", _megabytes(pid), 80, "MB")
    report.figure("threads", f"{len(os.listdir(f'/proc/{pid}/task'))}")
    before = _usage(pid)
    time.sleep(REST)
    spent = {name: after - before[name] for name, after in _usage(pid).items()}
    report.at_most(f"processor time in {REST} s", spent["cpu"], 0.1, "s")
    report.at_most("reads a heartbeat", spent["syscr"] / _BEATS, _READS, "")
    report.figure("  bytes of them", f"{spent['rchar'] / _BEATS:.0f}")
    report.at_most("writes a heartbeat", spent["syscw"] / _BEATS, _WRITES, "")
    report.figure("  bytes of them", f"{spent['wchar'] / _BEATS:.0f}")
    client.call("session.previewRequest", sessionId="pm-feature-f0", userMessage="What is next?")
    report.at_most("resident memory after it counted some", _megabytes(pid), 130, "MB")


def _pid(client: Client) -> int:
    return int(client.call("daemon.status")["pid"])


def _settle(client: Client, pid: int) -> None:
    """Until all that a start asks for is done: nothing waits, and for some seconds next to nothing was used."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        before = _usage(pid)
        time.sleep(_QUIET)
        queues, after = client.call("daemon.status")["queues"], _usage(pid)
        still = after["wchar"] - before["wchar"] < 1000 and after["cpu"] - before["cpu"] <= 0.02
        if still and not queues["waiting"] and not queues["running"]:
            return
    raise TimeoutError(f"the daemon did not come to rest within {_PATIENCE} s")


def _usage(pid: int) -> dict[str, float]:
    """Of the process since its start: seconds of processor time, calls that read and wrote, and their bytes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    counts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return {"cpu": cpu} | {name: float(counts[name]) for name in ("syscr", "syscw", "rchar", "wchar")}


def _megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024 / 1e6


def _dagentd(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "dagentd", *arguments], check=True, capture_output=True)


# --- the project -----------------------------------------------------------------------------------------------------


def _project(root: Path) -> Path:
    """As the desktop app leaves it: linked worktrees with documents in them, no journal yet."""
    _git(root.parent, "init", "-q", str(root))
    (root / "README.md").write_text("# Sample\n")
    _git(root, "add", ".")
    _git(root, "-c", "user.name=B", "-c", "user.email=b@example.org", "commit", "-q", "-m", "Start")
    for number in range(FEATURES):
        worktree = root / ".dagent-worktrees" / f"f{number}"
        _git(root, "worktree", "add", "-q", "-b", f"feature/f{number}", str(worktree))
        _feature(worktree / ".dagent", f"f{number}")
    return root


def _feature(tree: Path, feature: str) -> None:
    (tree / "sessions").mkdir(parents=True)
    _write(tree / "feature.json", {"id": feature, "name": feature, "status": "in_progress"})
    for agent in AGENTS:
        session = f"{agent}-feature-{feature}"
        about = {"id": session, "type": "feature", "agentType": agent, "featureId": feature, "status": "active"}
        stamps = {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:10.000Z"}
        _write(tree / "sessions" / f"session_{session}.json", about | stamps)
        _write(tree / "sessions" / f"chat_{session}.json", {"messages": [_message(n) for n in range(MESSAGES)]})


def _message(number: int) -> dict[str, str]:
    at = f"2026-01-01T00:00:{number:02}.000Z"
    return {"id": f"m{number}", "role": "user", "content": TEXT, "timestamp": at}


def _write(path: Path, raw: Mapping[str, object]) -> None:
    path.write_text(json.dumps(raw, indent=2))


def _git(cwd: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)
