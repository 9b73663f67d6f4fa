"""The client against a real socket: whose it is, what comes over it, and how it ends."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dagentd import paths, socket_path
from dagentd.errors import DagentdError, InvalidInput, LimitReached, NotAllowed
from dagentd.rpc import protocol, wire
from dagentd.rpc.client import Client, NotRunning, RpcError, Unreachable
from dagentd.rpc.protocol import MAX_LINE
from tests.patience import patience
from tests.rpc.echo import Echo, echoing


@pytest.fixture
def path() -> Iterator[Path]:
    """pytest's own folders can be too long for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder, "s")


@pytest.fixture
def echo(path: Path) -> Iterator[Echo]:
    with echoing(path) as echo:
        yield echo


@pytest.fixture
def client(path: Path, echo: Echo) -> Iterator[Client]:
    with Client(path) as client:
        yield client


@pytest.fixture
def listener(path: Path) -> Iterator[socket.socket]:
    """Somebody who listens and says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(0)
        yield listener


def test_a_call_gives_the_result(client: Client) -> None:
    assert client.call("echo", sessionId="s", method="m", self=1, text="ä\ud800\0\n") == {
        "sessionId": "s",
        "method": "m",
        "self": 1,
        "text": "ä\ud800\0\n",
    }


def test_an_error_has_what_the_daemon_said(client: Client) -> None:
    with pytest.raises(RpcError, match="no such thing") as caught:
        client.call("fail")
    told = caught.value
    assert (told.code, told.message, told.path, told.hint) == (
        -32001,
        "no such thing",
        "/some/where",
        "Look elsewhere.",
    )
    assert told.data == {"hint": "Look elsewhere.", "path": "/some/where"}
    assert client.call("echo", still="here") == {"still": "here"}


def test_a_notification_is_heard_and_not_answered(client: Client, echo: Echo) -> None:
    client.notify("note", a=1)
    assert client.call("echo") == {}
    assert [(call.method, call.notification) for call in echo.heard] == [("note", True), ("echo", False)]


@pytest.mark.parametrize("size", [0, 65_535, 65_536, 65_537, 1 << 20, MAX_LINE - 64])
def test_lines_of_any_size_go_both_ways(client: Client, size: int) -> None:
    assert client.call("e", t="x" * size) == {"t": "x" * size}


def test_a_request_that_is_too_long_is_not_sent(client: Client, echo: Echo) -> None:
    with pytest.raises(LimitReached, match=str(MAX_LINE)):
        client.call("echo", text="x" * MAX_LINE)
    assert client.call("echo") == {}


def test_threads_share_a_client(client: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: client.call("echo", n=n, text="x" * (n % 7 * 30_000)), range(400)))
    assert [answer["n"] for answer in answers] == list(range(400))


def test_answers_may_come_in_another_order(client: Client, echo: Echo) -> None:
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(client.call, "hold", n=1)
        echo.wait_for_calls(1)
        assert client.call("echo", n=2) == {"n": 2}
        assert held.result() == {"n": 1}


def test_events_come_while_calls_go_on(client: Client, echo: Echo) -> None:
    events = client.subscribe(types=["a"], since=0)
    assert events.answer == {"subscription": "s1", "seq": 2, "continuous": True}
    assert [next(events), client.call("echo", n=1), next(events), next(events)] == [
        {"seq": 0},
        {"n": 1},
        {"seq": 1},
        {"seq": 2},
    ]
    echo.send(protocol.notification("other", {}) + protocol.notification("event", {"seq": 3}))
    assert next(events) == {"seq": 3}
    assert echo.heard[0].params == {"types": ["a"], "since": 0}


@pytest.mark.parametrize("by_client", [False, True])
def test_closing_from_another_thread_ends_the_events(path: Path, echo: Echo, by_client: bool) -> None:
    with Client(path) as client, ThreadPoolExecutor(1) as pool:
        events = client.subscribe()
        seen = [next(events) for _ in range(3)]
        rest = pool.submit(list, events)
        (client if by_client else events).close()
        assert len(seen) == 3 and rest.result() == [] and list(events) == []


def test_events_left_unread_are_cleaned_up_with_the_client(path: Path, echo: Echo) -> None:
    with Client(path) as client:
        for _ in client.subscribe():
            break
        with client.subscribe() as events:
            assert next(events) == {"seq": 0}
    gc.collect()


def test_events_of_a_daemon_that_dies_end_with_an_error(client: Client, echo: Echo) -> None:
    events = client.subscribe()
    echo.hang_up()
    with pytest.raises(Unreachable, match="ended"):
        list(events)


@pytest.mark.parametrize("method", ["die", "half"])
def test_a_daemon_that_dies_in_a_call_is_an_error(client: Client, method: str) -> None:
    for each in (method, "echo"):
        with pytest.raises(Unreachable, match="ended"):
            client.call(each)
    with pytest.raises(Unreachable, match="ended"):
        client.notify("note")


def test_a_daemon_that_dies_ends_the_calls_of_all_threads(client: Client, echo: Echo) -> None:
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(client.call, "hold") for _ in range(4)]
        echo.wait_for_calls(4)
        echo.hang_up()
        assert all(isinstance(call.exception(), Unreachable) for call in calls)


def test_closing_ends_the_calls_of_other_threads(client: Client, echo: Echo) -> None:
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(client.call, "hold") for _ in range(2)]
        echo.wait_for_calls(2)
        client.close()
        assert all(isinstance(call.exception(), Unreachable) for call in calls)
    with pytest.raises(Unreachable):
        client.call("echo")


def test_an_answer_that_does_not_come_is_given_up_on(path: Path, echo: Echo) -> None:
    with Client(path, timeout=0.05) as client:
        with pytest.raises(Unreachable, match=r"no answer to hold within 0\.05 s"):
            client.call("hold", n=1)
        client._exchange._timeout = patience()  # the echo may be late on a busy machine
        assert client.call("echo", n=2) == {"n": 2}
        assert client.call("echo", n=3) == {"n": 3}


def test_a_daemon_that_takes_no_connections_is_given_up_on(path: Path, listener: socket.socket) -> None:
    with Client(path, timeout=0.05), pytest.raises(Unreachable, match="takes no connections"):
        Client(path, timeout=0.05)


def test_a_daemon_that_does_not_read_is_given_up_on(path: Path, listener: socket.socket) -> None:
    with Client(path, timeout=0.05) as client:
        with pytest.raises(Unreachable, match="does not read"):
            client.call("echo", text="x" * 10_000_000)
        with pytest.raises(Unreachable, match="ended"):
            client.notify("after half a line")


@pytest.mark.parametrize("line", [b"hello\n", b"[]\n", b"\xff\n", b"[" * 100_000 + b"\n", b"x" * (MAX_LINE + 2)])
def test_something_else_that_answers_is_an_error(client: Client, echo: Echo, line: bytes) -> None:
    client.call("echo")
    sending = threading.Thread(target=echo.send, args=(line,))
    sending.start()
    with pytest.raises(Unreachable, match=r"JSON-RPC|a line of more than"):
        client.call("hold")
    sending.join()


def test_the_last_words_of_a_daemon_that_hangs_up_are_told(client: Client, echo: Echo) -> None:
    client.call("echo")
    echo.send(protocol.too_long())
    echo.hang_up()
    with pytest.raises(RpcError, match="at most") as caught:
        client.call("echo")
    assert caught.value.code == -32600


def test_no_socket_is_not_running(path: Path) -> None:
    for nothing in (path, path / "no" / "folder"):
        with pytest.raises(NotRunning, match="not running"):
            Client(nothing)


def test_a_socket_that_nobody_listens_on_is_not_running(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(path))
    with pytest.raises(NotRunning):
        Client(path)
    with pytest.raises(NotRunning):
        Client(path, timeout=None)


def test_what_squats_on_the_path_is_named(path: Path, echo: Echo) -> None:
    places = {name: path.parent / name for name in ("regular file", "folder", "symlink", "special file")}
    places["regular file"].touch()
    places["folder"].mkdir()
    places["symlink"].symlink_to(path)
    os.mkfifo(places["special file"])
    for name, place in places.items():
        with pytest.raises(Unreachable, match=f"a {name} is in the place") as caught:
            Client(place)
        assert not isinstance(caught.value, NotRunning) and caught.value.path == str(place)
    with pytest.raises(Unreachable, match="cannot be reached: Not a directory"):
        Client(places["regular file"] / "s")


def test_a_socket_of_another_kind_is_named(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        with pytest.raises(Unreachable, match="cannot be reached: Protocol wrong type") as caught:
            Client(path)
    assert not isinstance(caught.value, NotRunning)


def test_another_users_socket_is_told_nothing(
    path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(NotAllowed, match="another user"):
        Client(path)
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1) == b""


def test_the_peer_is_who_runs_it(path: Path, listener: socket.socket) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        assert wire.peer_uid(connection) == os.geteuid()


def test_a_path_that_is_too_long_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=str(socket_path.LONGEST)):
        Client(tmp_path / ("x" * 120))


def test_without_a_path_both_sides_agree_on_one(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(path.parent))
    monkeypatch.setenv("DAGENTD_SOCKET", "/a" * 100)
    paths.socket().parent.mkdir()
    with echoing(paths.socket()), Client() as client:
        assert client.call("echo") == {}


def test_expected_failures_are_of_one_tree() -> None:
    assert issubclass(NotRunning, Unreachable) and issubclass(Unreachable, DagentdError)
    assert issubclass(RpcError, DagentdError)


def test_the_client_needs_the_standard_library_alone() -> None:
    brought = _loaded("import dagentd.rpc.client") - _loaded("pass")
    assert brought - sys.stdlib_module_names == {"dagentd"}


def _loaded(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())
