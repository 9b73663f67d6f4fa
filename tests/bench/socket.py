"""The socket beside a bare threaded echo, and how long the daemon takes to start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dagentd import paths
from dagentd.rpc import protocol
from dagentd.rpc.client import Client
from tests.bench.limits import RawLog, median_ms
from tests.bench.lines import Line
from tests.bench.report import Report
from tests.bench.sessions import TEXT, filled, new_store

_FOLLOWING = 5.0  # seconds


def measure(folder: Path, report: Report) -> None:
    store = new_store(folder, 2)
    filled(store, "f0", 10)
    filled(store, "f1", 500)
    store.close()
    with tempfile.TemporaryDirectory(prefix="dagentd-bench-") as short:
        os.environ["XDG_RUNTIME_DIR"] = short
        os.chmod(short, 0o700)
        report.heading("The daemon")
        _starting(folder, report)
        try:
            _while_documents_follow(folder, Path(short), report)
            _round_trips(folder, Path(short), report)
        finally:
            _dagentd("stop")


def _dagentd(*arguments: str) -> str:
    command = [sys.executable, "-m", "dagentd", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _starting(folder: Path, report: Report) -> None:
    subprocess.run([sys.executable, "-m", "dagentd", "init", str(folder / "repo")], check=True, capture_output=True)
    _dagentd("stop")
    bare = median_ms(lambda: subprocess.run([sys.executable, "-c", ""], check=True), 10) / 1000
    report.at_most("dagentd start to the first answer", statistics.median(_start() for _ in range(5)), 0.7, "s")
    _dagentd("start")
    status = median_ms(lambda: _dagentd("status"), 5) / 1000
    report.at_most("dagentd status, less bare Python", status - bare, 0.25, "s")


def _start() -> float:
    """Seconds from the command to the first answer; it runs no longer after that."""
    begin = time.perf_counter()
    _dagentd("start")
    with Client() as client:
        client.call("daemon.ping")
    taken = time.perf_counter() - begin
    _dagentd("stop")
    return taken


def _round_trips(folder: Path, short: Path, report: Report) -> None:
    """In turns, so that a slow moment of the machine falls on all of them."""
    everywhere = os.sched_getaffinity(0)
    raw = RawLog(folder / "raw-socket.log")
    add = {"sessionId": "pm-feature-f0", "role": "user", "content": TEXT}
    with Client() as first:
        _pin(os.getpid(), first.call("daemon.status")["pid"])
    with Client() as client, Echo(short / "echo.sock") as echo, Line(paths.socket()) as line:
        taken: dict[str, list[float]] = {"echo": [], "ping": [], "client": [], "raw": [], "add": []}
        for _ in range(30):
            taken["echo"].append(median_ms(lambda: echo.line.ask(_PING), 20))
            taken["ping"].append(median_ms(lambda: line.ask(_PING), 20))
            taken["client"].append(median_ms(lambda: client.call("daemon.ping"), 20))
            taken["raw"].append(median_ms(raw.append, 10))
            taken["add"].append(median_ms(lambda: line.ask(protocol.request("session.addMessage", add, 1)), 10))
    median = {name: statistics.median(values) for name, values in taken.items()}
    report.figure("bare echo on a Unix socket", f"{median['echo']:.3f} ms")
    report.ratio("ping", median["ping"], median["echo"], 3)
    report.figure("ping by the Python client", f"{median['client']:.3f} ms")
    report.ratio("addMessage, against raw append + fdatasync + echo", median["add"], median["raw"] + median["echo"], 3)
    raw.close()
    os.sched_setaffinity(0, everywhere)


def _while_documents_follow(folder: Path, short: Path, report: Report) -> None:
    """One after the other for some seconds, in which the documents are written some fifty times; nobody is pinned."""
    add = protocol.request("session.addMessage", {"sessionId": "pm-feature-f1", "role": "user", "content": TEXT}, 1)
    raw = RawLog(folder / "raw-follow.log")
    taken: dict[str, list[float]] = {"limit": [], "add": []}
    with Echo(short / "echo-follow.sock") as echo, Line(paths.socket()) as line:
        end = time.monotonic() + _FOLLOWING
        while time.monotonic() < end:
            taken["limit"].append(median_ms(raw.append, 1) + median_ms(lambda: echo.line.ask(add), 1))
            taken["add"].append(median_ms(lambda: line.ask(add), 1))
    raw.close()
    (limit, slow_limit), (median, slow) = ((statistics.median(all), _p99(all)) for all in taken.values())
    report.figure("raw append + fdatasync + echo", f"{limit:.3f} ms")
    report.figure("  p99", f"{slow_limit:.3f} ms")
    report.ratio("addMessage while documents follow", median, limit, 3)
    report.ratio("  p99, against the median of raw", slow, limit, 20)


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[98]


def _pin(*processes: int) -> None:
    """To one processor, and what they start from now on. Else the ratio tells where the scheduler put whom: in one
    daemon a ping took 31 µs or 103 µs, for minutes on end."""
    processor = min(os.sched_getaffinity(0))
    for process in processes:
        for thread in os.listdir(f"/proc/{process}/task"):
            os.sched_setaffinity(int(thread), {processor})


_ECHO = """
import socket, sys, threading
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
def echo():
    while data := connection.recv(65536): connection.sendall(data)
threading.Thread(target=echo).start()
"""


_PING = protocol.request("daemon.ping", {}, 1)


class Echo:
    """Another process with a thread for its client, which sends back what it gets."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", _ECHO, str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        self.line = Line(path)

    def __enter__(self) -> Echo:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.__exit__()
        self._process.communicate()
