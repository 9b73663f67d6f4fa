"""The Python client, against the real daemon."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.described import snake
from dagentd import paths
from dagentd_client import Client, DagentdError, Event, NotRunning, socket_path
from tests.clients.conversing import converse, prepare
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.rpc.scenario import PM

HERE = Path(__file__).parents[2] / "clients" / "python"


class PythonDriver:
    def __init__(self) -> None:
        self._client = Client()
        self._events = self._client.subscribe()
        self._heard: list[Any] = []
        self._may_listen = threading.Event()
        self._may_listen.set()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def call(self, method: str, **params: Any) -> Any:
        space, _, name = method.partition(".")
        act = getattr(getattr(self._client, space), snake(name))
        return act(**{snake(key): value for key, value in params.items()})

    def heard(self) -> list[Any]:
        return list(self._heard)

    def stop_listening(self) -> None:
        self._may_listen.clear()

    def listen_again(self) -> None:
        self._may_listen.set()

    def close(self) -> None:
        self._events.close()
        self._thread.join()
        self._client.close()

    def _listen(self) -> None:
        try:
            for event in self._events:
                self._heard.append(event)
                self._may_listen.wait()
        except ConnectionError:
            pass  # the daemon has ended


@pytest.fixture
def driver(daemon: Daemon, project: SampleProject, beats: None) -> Iterator[PythonDriver]:
    prepare(daemon, project)
    made = PythonDriver()
    yield made
    made.close()


def test_every_method_and_every_event(driver: PythonDriver, daemon: Daemon, project: SampleProject) -> None:
    converse(driver, daemon, project)


def test_the_example_runs_and_errors_are_told(daemon: Daemon, project: SampleProject) -> None:
    with pytest.raises(NotRunning, match="not running"):
        Client()
    daemon.run(project.root)
    with Client() as client:
        with pytest.raises(DagentdError) as refused:
            client.session.get("pm-feature-none")
        assert (refused.value.code, bool(refused.value.hint)) == (-32001, True)
        client.session.get_or_create(str(project.root), "feature", "pm", FEATURE)
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        line = [sys.executable, str(HERE / "example.py"), PM]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"message_added {PM}\n") and done.stdout.endswith("Go on. True\n")


def test_a_subscription_ends_when_it_is_closed_or_the_daemon_is(daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    with Client() as client:
        heard: list[Event] = []
        with client.subscribe(types=["session:updated"]) as closed, client.subscribe() as left:
            assert closed.continuous and closed.id != left.id
            reader = threading.Thread(target=lambda: heard.extend(closed))
            reader.start()
            client.session.get_or_create(str(project.root), "feature", "pm", FEATURE)
            until(lambda: heard, "an event")
            closed.close()
            reader.join()
            assert list(closed) == [], "it has ended for whoever asks again"
            client.daemon.shutdown()
            with pytest.raises(ConnectionError):
                for _ in left:
                    pass


LONG = "/" + "x" * 120


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DAGENTD_SOCKET": "/run/d.sock"},
        {"DAGENTD_SOCKET": LONG},
        {"XDG_RUNTIME_DIR": "/run/user/7"},
        {"XDG_RUNTIME_DIR": "/run/user/7/"},
        {"XDG_RUNTIME_DIR": "relative"},
        {"XDG_RUNTIME_DIR": LONG, "TMPDIR": "/var/tmp/"},
        {"TMPDIR": LONG},
        {"TMPDIR": "/var/tmp", "XDG_STATE_HOME": "/state"},
    ],
    ids=str,
)
def test_the_socket_is_where_the_daemon_makes_it(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DAGENTD_SOCKET", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert socket_path() == str(paths.socket())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("DAGENTD_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "dagentd").mkdir()
    (tmp_path / "dagentd" / "dagentd.sock").touch()
    assert socket_path() == str(paths.socket())
