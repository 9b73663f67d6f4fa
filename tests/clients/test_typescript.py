"""The TypeScript client: built by tsc --strict, and against the real daemon on Node."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd import paths
from tests.clients.conversing import converse, prepare
from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon
from tests.rpc.scenario import PM, whose

SOURCES = Path(__file__).parents[2] / "clients" / "typescript"
COMPILERS = ("typescript@5.9", "@types/node@20")
pytestmark = pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="there is no node or no npm")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `dagentd-client` is installed, built with --strict, the example and the driver beside it."""
    tools = _tools(tmp_path_factory.mktemp("tools"))
    folder = tmp_path_factory.mktemp("typescript")
    package = folder / "node_modules" / "dagentd-client"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("dist", "node_modules", "example.ts"))
    (folder / "node_modules" / "@types").symlink_to(tools / "node_modules" / "@types")
    (folder / "node_modules" / "undici-types").symlink_to(tools / "node_modules" / "undici-types")
    compiler = str(tools / "node_modules" / ".bin" / "tsc")
    _run(compiler, "--strict", cwd=package)
    for name in (SOURCES / "example.ts", Path(__file__).with_name("driver.mjs")):
        shutil.copy(name, folder / name.name.replace(".ts", ".mts"))
    strict = ("--strict", "--module", "nodenext", "--target", "es2022", "--types", "node")
    _run(compiler, *strict, "example.mts", cwd=folder)
    return folder


def _tools(folder: Path) -> Path:
    """Installed once for each virtualenv, and whole: who comes second at the same time throws his away."""
    tools = Path(sys.prefix) / "typescript"
    if not tools.exists():
        line = ["npm", "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(folder), *COMPILERS]
        if subprocess.run(line, capture_output=True).returncode:
            pytest.skip("npm cannot install typescript here")
        with contextlib.suppress(OSError):
            shutil.copytree(folder, whole := tools.with_name(f"typescript-{os.getpid()}"), symlinks=True)
            whole.rename(tools)
    return tools


def _run(*line: str, cwd: Path) -> str:
    done = subprocess.run(line, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class NodeDriver:
    def __init__(self, built: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            ["node", "driver.mjs"], cwd=built, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._events: list[Any] = []
        self._flag = folder / "go on"

    def act(self, act: str, **given: Any) -> Any:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"act": act, **given}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    def call(self, method: str, **params: Any) -> Any:
        return self.act("call", method=method, params=params)

    def heard(self) -> list[Any]:
        if self._process.poll() is None:
            self._events += self.act("heard", **{"from": len(self._events)})
        return list(self._events)

    def stop_listening(self) -> None:
        self.act("block", until=str(self._flag))

    def listen_again(self) -> None:
        self._flag.touch()
        assert self._process.stdout
        self._process.stdout.readline()  # the answer to `block` itself

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def driver(built: Path, tmp_path: Path, daemon: Daemon) -> Iterator[NodeDriver]:
    made = NodeDriver(built, tmp_path)
    yield made
    made.close()


@pytest.mark.usefixtures("beats")
def test_every_method_and_every_event(driver: NodeDriver, daemon: Daemon, project: SampleProject) -> None:
    prepare(daemon, project)
    assert driver.act("connect") is True
    converse(driver, daemon, project)


def test_the_example_runs(built: Path, daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    daemon.call("session.getOrCreate", **whose(project.root))
    told = _run("node", "example.mjs", PM, cwd=built)
    assert told.startswith(f"message_added {PM}\n") and told.endswith("Go on. true\n")


def test_the_socket_is_where_the_daemon_makes_it(driver: NodeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "/" + "x" * 120
    for given in (
        {}, {"DAGENTD_SOCKET": "/run/d.sock"}, {"DAGENTD_SOCKET": long}, {"XDG_RUNTIME_DIR": "/run/user/7/"},
        {"XDG_RUNTIME_DIR": "relative"}, {"XDG_RUNTIME_DIR": long, "TMPDIR": "/var/tmp/"}, {"TMPDIR": long},
        {"TMPDIR": "/var/tmp", "XDG_STATE_HOME": "/state"},
    ):  # fmt: skip
        for name in ("DAGENTD_SOCKET", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        assert driver.act("path", env=dict(os.environ)) == str(paths.socket()), given
