"""Many clients at once, some of them rude, and frames of any kind, on the live socket."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dagentd.rpc.client import Client
from dagentd.rpc.methods import METHODS
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, descriptors, lines, request, until
from tests.patience import patience
from tests.torture.seeds import THOROUGH

CLIENTS, CALLS = 64, 200 if THOROUGH else 80
SESSIONS = [f"{agent}-feature-{FEATURE}" for agent in ("pm", "dev", "qa", "harness")]


@pytest.fixture
def served(daemon: Daemon, project: SampleProject) -> Daemon:
    daemon.run(project.root)
    with daemon.client() as client:
        for session in SESSIONS:
            whose = {"type": "feature", "agentType": session.partition("-")[0], "featureId": FEATURE}
            client.call("session.getOrCreate", project=str(project.root), **whose)
            client.call("session.previewRequest", sessionId=session)  # the vocabulary is in memory from here on
    return daemon


# --- a crowd --------------------------------------------------------------------------------------------------------


@pytest.mark.more
def test_a_crowd_with_rude_ones_in_it(served: Daemon) -> None:
    pid = served.pid
    before = served.status["memory"]
    over = threading.Event()
    rude = [threading.Thread(target=each, args=(served, over)) for each in (garbage, half_a_line, never_reads, flicker)]
    for thread in rude:
        thread.start()
    with ThreadPoolExecutor(CLIENTS) as clients:
        acknowledged = [text for texts in clients.map(lambda n: polite(served, n), range(CLIENTS)) for text in texts]
    over.set()
    for thread in rude:
        thread.join()
    held = {session: history(served, session) for session in SESSIONS}
    contents = [text for texts in held.values() for text in texts]
    assert len(contents) == len(set(contents)), "nothing is there twice"
    assert sorted(acknowledged) == sorted(text for text in contents if text.startswith("polite"))
    for name in range(CLIENTS):
        own = [text for text in held[SESSIONS[name % len(SESSIONS)]] if text.startswith(f"polite {name} ")]
        assert own == sorted(own, key=lambda text: int(text.split()[2])), "in the order they were sent"
    until(lambda: served.status["connections"] == 1, "the end of all connections")
    until(lambda: served.status["memory"]["threads"] <= before["threads"] + 1, "the end of their threads")
    until(lambda: len(descriptors(pid)) <= before["descriptors"] + 1, "the end of their descriptors")
    assert served.status["memory"]["resident"] < before["resident"] + (100 << 20)
    assert served.pid == pid


def polite(daemon: Daemon, name: int) -> list[str]:
    """Mixed reads and writes; every answer is looked at."""
    session = SESSIONS[name % len(SESSIONS)]
    chance, sent = random.Random(name), list[str]()
    with Client(timeout=patience()) as client:
        for number in range(CALLS):
            act = chance.randrange(20)
            if act < 10:
                text = f"polite {name} {number}"
                added = client.call("session.addMessage", sessionId=session, role="user", content=text)
                assert added["content"] == text
                sent.append(text)
            elif act < 15:
                last = client.call("session.getMessages", sessionId=session, limit=3)
                assert len(last["messages"]) == min(3, last["total"])
            elif act < 17:
                page = client.call("session.getHistory", sessionId=session, limit=5)
                assert len(page["messages"]) == 5 or not page["more"]
            elif act == 17:
                assert client.call("session.get", sessionId=session)["id"] == session
            elif act == 18:
                assert client.call("daemon.status")["health"] == "ok"
            else:
                assert client.call("daemon.ping") == {}
        assert client.call("session.previewRequest", sessionId=session)["totalTokens"] > 0
    return sent


def garbage(daemon: Daemon, over: threading.Event) -> None:
    chance = random.Random(1)
    while not over.wait(0.01):
        with contextlib.suppress(OSError), daemon.connect() as connection:
            connection.sendall(chance.randbytes(chance.randrange(1, 20_000)) + b"\n")
            connection.recv(100)


def half_a_line(daemon: Daemon, over: threading.Event) -> None:
    with daemon.connect() as connection:
        connection.sendall(request("session.addMessage", sessionId=SESSIONS[0], role="user", content="half")[:-20])
        over.wait()


def never_reads(daemon: Daemon, over: threading.Event) -> None:
    with daemon.connect() as connection:
        connection.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for number in range(100_000):
                connection.sendall(request("session.getHistory", number, sessionId=SESSIONS[0]))
        over.wait()


def flicker(daemon: Daemon, over: threading.Event) -> None:
    for number in range(1_000):
        with daemon.connect() as connection:
            if number % 3 == 0:
                connection.sendall(request("events.subscribe"))


def history(daemon: Daemon, session: str) -> list[str]:
    found: list[str] = []
    before: dict[str, str] = {}
    with daemon.client() as client:
        while True:
            page = client.call("session.getHistory", sessionId=session, limit=2_000, **before)
            found[:0] = [message["content"] for message in page["messages"]]
            if not page["more"]:
                return found
            before = {"before": page["messages"][0]["id"]}


# --- frames of any kind -------------------------------------------------------------------------------------------


def test_every_frame_gets_an_answer_or_needs_none(served: Daemon) -> None:
    """Seeded. A ping behind each handful tells where its answers end."""
    pid, chance = served.pid, random.Random(20)
    tried = 0
    with served.connect() as connection:
        answers = lines(connection)
        while tried < 3_000:
            frames = [frame(chance) for _ in range(30)]
            mark = f"mark {tried}"
            connection.sendall(b"".join(each + b"\n" for each in frames) + request("daemon.ping", mark))
            expected = sum(needs_answer(each) for each in frames)
            got: list[Any] = []
            while len(got) < expected + 1:  # slow ones may come after the mark
                answer = next(answers)
                if isinstance(answer, list) or "method" not in answer:  # else it is an event
                    got.append(answer)
            assert sum(isinstance(answer, dict) and answer.get("id") == mark for answer in got) == 1
            for answer in got:
                for each in answer if isinstance(answer, list) else [answer]:
                    assert_valid(each)
            tried += len(frames)
    assert served.pid == pid
    assert served.status["health"] == "ok"


def assert_valid(answer: Any) -> None:
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert isinstance(answer["error"]["message"], str)
        assert answer["error"]["code"] != -32603, answer


def needs_answer(line: bytes) -> bool:
    """By the rules of JSON-RPC alone: everything but blank lines and notifications, also all in a batch."""
    if not line.strip(b" \t\r"):
        return False
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return True
    return not (value and all(map(is_notification, value))) if isinstance(value, list) else not is_notification(value)


def is_notification(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "id" not in value
        and value.get("jsonrpc") == "2.0"
        and isinstance(value.get("method"), str)
        and isinstance(value.get("params", {}), dict | list)
    )


def frame(chance: random.Random) -> bytes:
    kinds: list[Callable[[random.Random], bytes]] = [noise, mutated, mutated, plausible, plausible, batch]
    return chance.choice(kinds)(chance).replace(b"\n", b"")


def noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(200))


def plausible(chance: random.Random) -> bytes:
    """A call of a real method with any parameters; none that stops the daemon."""
    method = chance.choice([name for name in METHODS if name != "daemon.shutdown"])
    call: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "id": value(chance, 0)}
    names = list(METHODS[method].params.model_json_schema(by_alias=True).get("properties", {}))
    call["params"] = {name: value(chance, 0) for name in names if chance.random() < 0.8}
    if "sessionId" in call["params"] and chance.random() < 0.5:
        call["params"]["sessionId"] = chance.choice(SESSIONS)
    if chance.random() < 0.1:
        del call[chance.choice(list(call))]
    return json.dumps(call).encode()


def mutated(chance: random.Random) -> bytes:
    line = bytearray(plausible(chance))
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(line))
        line[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    return bytes(line)


def batch(chance: random.Random) -> bytes:
    return b"[" + b",".join(plausible(chance) for _ in range(chance.randrange(4))) + b"]"


def value(chance: random.Random, depth: int) -> Any:
    plain = [None, True, 0, -1, 10**30, 1.5, 1e308, "", "x" * 300, "\ud800", "\0", "../..", SESSIONS[0], FEATURE]
    if depth < 3 and chance.random() < 0.3:
        inner = [value(chance, depth + 1) for _ in range(chance.randrange(3))]
        return inner if chance.random() < 0.5 else {str(each)[:9]: each for each in inner}
    return chance.choice(plain)


def test_a_frame_never_ends_a_connection(served: Daemon) -> None:
    with served.connect() as connection:
        connection.sendall(b"{\n" * 100 + b"\n" * 100 + b"[]\n" + b"\xff\n" + b"[" * 5_000 + b"\n")
        connection.shutdown(socket.SHUT_WR)
        codes = [answer["error"]["code"] for answer in lines(connection)]
    assert codes == [-32700] * 100 + [-32600, -32700, -32700]
