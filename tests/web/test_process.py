"""The process behind the page: how it begins and ends, what loads it, and what it costs."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from dagentd.cli.sample import SESSION, Sample
from dagentd.web.link import Link
from dagentd.web.pages.overview import overview
from tests.e2e.daemon import Daemon
from tests.patience import patience, until
from tests.web.site import Site, served


def _run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=patience())


@pytest.mark.parametrize(
    "code",
    ["from dagentd import cli; cli.run_command(['--help'])", "import dagentd.daemon, dagentd.rpc.methods",
     "from dagentd import cli; cli.run_command(['web', '--help'])"],
)  # fmt: skip
def test_nobody_else_loads_it(code: str) -> None:
    check = "; import sys; print([n for n in sys.modules if n.startswith(('dagentd.web', 'starlette', 'uvicorn'))])"
    done = _run(code + check)
    assert done.stdout.splitlines()[-1] == "[]", done


def test_without_the_extra_it_says_how_to_install_it() -> None:
    code = "from dagentd import cli; sys.exit(cli.run_command(['web', '--no-open']))"
    hide = f"import sys; sys.modules['starlette'] = None; {code}"
    done = _run(hide)
    assert done.returncode == 1
    assert "-m pip install 'dagentd[web]'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told_to(number: int) -> None:
    """Also while a page listens."""
    with served() as site:
        site.enter()
        with socket.create_connection(("127.0.0.1", site.port)) as listening:
            head = f"GET {site.path}events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n"
            listening.sendall(head.encode())
            assert listening.recv(100).startswith(b"HTTP/1.1 200")
            site.process.send_signal(number)
            assert site.process.wait(patience()) in (0, 130, 143, -number)
        assert site.process.stdout is not None
        assert "Traceback" not in site.process.stdout.read()


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = _run(
            "import sys; from dagentd import cli; sys.exit(cli.run_command(['web', '--port', sys.argv[1]]))", port
        )
    assert done.returncode == 1 and f"port {port}" in done.stderr and "--port 0" in done.stderr


def test_an_overview_asks_as_little_for_many_sessions_as_for_few(shop: Sample, daemon: Daemon) -> None:
    """What it takes is measured in tests/bench."""

    class Counted(Link):
        asked: ClassVar[list[str]] = []

        def call(self, method: str, /, **given: Any) -> Any:
            self.asked.append(method)
            return super().call(method, **given)

    daemon.call("project.pause", project=str(shop.root))
    for number in range(12):
        daemon.call("session.getOrCreate", project=str(shop.root), type="task", agentType="dev", featureId="login",
                    taskId=f"task-{number}", taskState="in_dev")  # fmt: skip
    with contextlib.closing(Counted()) as link:
        assert overview(link, gone=False).body.text.count("data-row") == 15
    assert Counted.asked == ["daemon.status", "session.list"]


def test_an_idle_page_asks_nothing(site: Site, daemon: Daemon) -> None:
    """A page that listens has the daemon do nothing: no call arrives there."""
    site.enter()
    with socket.create_connection(("127.0.0.1", site.port)) as listening:
        head = f"GET {site.path}events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n"
        listening.sendall(head.encode())
        listening.settimeout(patience())
        heard = ""
        while heard.count("events:lost") < 2:  # it is subscribed
            heard += listening.recv(1000).decode()
        daemon.call("session.pause", sessionId=SESSION)
        while "session:updated" not in heard:
            heard += listening.recv(1000).decode()
        listening.settimeout(1)

        def is_silent() -> bool:
            """For a second, in which nothing is asked of the daemon either."""
            before = _sent_by(site.process.pid)
            with contextlib.suppress(TimeoutError):
                return not listening.recv(1000)
            return _sent_by(site.process.pid) == before

        until(is_silent, "a second in which nothing is told and nothing asked")


def _sent_by(pid: int) -> int:
    """Bytes that a process has written, to the daemon and to browsers."""
    with open(f"/proc/{pid}/io") as file:
        return int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])


def test_the_settings_choose_port_and_browser(daemon: Daemon) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon.configure(f"[web]\nport = {port}\nopen = false\n")
    with served() as site:
        assert site.port == port
