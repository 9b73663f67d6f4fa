"""A daemon of a measurement's own, in the foreground, with nothing but the repository it is given."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dagentd.rpc.client import Client, NotRunning

PATIENCE = 300.0


class Served(NamedTuple):
    client: Client
    pid: int
    socket: Path


@contextmanager
def serving(root: Path, **environment: str) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="dagentd-bench-") as short:
        socket = Path(short, "s")
        daemon = subprocess.Popen(
            [sys.executable, "-m", "dagentd", "run", str(root)],
            env={**os.environ, **environment, "DAGENTD_SOCKET": str(socket)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with _client(socket) as client:
                yield Served(client, daemon.pid, socket)
        finally:
            daemon.terminate()
            daemon.wait()


def quiet(client: Client) -> None:
    """What a start entails is not measured."""
    while (queues := client.call("daemon.status")["queues"])["waiting"] or queues["running"]:
        time.sleep(0.1)


def _client(socket: Path) -> Client:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(socket, timeout=PATIENCE)
        except NotRunning:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()
