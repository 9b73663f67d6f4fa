"""One connection to the real daemon: order, flow, its end."""

from __future__ import annotations

import contextlib
import json
import random
import socket
from typing import Any, cast

import pytest

from dagentd.rpc.client import Client, RpcError
from dagentd.rpc.connection import Connection
from dagentd.rpc.methods import METHODS, Method
from dagentd.rpc.params import Nothing
from dagentd.rpc.protocol import MAX_LINE
from dagentd.rpc.service import Service
from dagentd.waiting import right_of_way
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, lines, request, until
from tests.patience import patience

PM, QA = f"pm-feature-{FEATURE}", f"qa-feature-{FEATURE}"
MEGABYTE = 1 << 20


@pytest.fixture
def served(daemon: Daemon, project: SampleProject) -> Daemon:
    """With two sessions."""
    daemon.run(project.root)
    for agent in ("pm", "qa"):
        daemon.call(
            "session.getOrCreate", project=str(project.root), type="feature", agentType=agent, featureId=FEATURE
        )
    return daemon


def add(session: str, text: str, id: object = 1) -> bytes:
    return request("session.addMessage", id, sessionId=session, role="user", content=text)


def history(daemon: Daemon, session: str) -> list[Any]:
    found = daemon.call("session.getHistory", sessionId=session, limit=10_000)
    assert not found["more"]
    return [message["content"] for message in found["messages"]]


def test_quick_calls_have_the_way_and_slow_ones_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, slow in (("quick", False), ("slow", True)):
        method = Method(name, Nothing, "", "Empty", slow)
        vars(method)["answer"] = lambda *_: len(right_of_way._asking)
        monkeypatch.setitem(METHODS, name, method)
    for name, asking in (("quick", 1), ("slow", 0)):
        ours, theirs = socket.socketpair()
        with ours:
            ours.sendall(request(name, 1))
            ours.shutdown(socket.SHUT_WR)
            Connection(theirs, cast(Service, None)).serve()
            assert [answer["result"] for answer in lines(ours)] == [asking]
        assert not right_of_way._asking


# --- order ------------------------------------------------------------------------------------------------------


def test_requests_on_one_session_take_effect_in_the_order_sent(served: Daemon) -> None:
    sent = []
    for number in range(400):
        sent.append(add(PM, str(number), number))
        if number % 50 == 7:
            sent.append(request("session.previewRequest", f"slow {number}", sessionId=PM, userMessage="x" * 5000))
    with served.connect() as connection:
        connection.sendall(b"".join(sent))
        connection.shutdown(socket.SHUT_WR)
        answers = list(lines(connection))
    assert len(answers) == len(sent)
    assert all("result" in answer for answer in answers)
    assert history(served, PM) == [str(number) for number in range(400)]


def test_a_batch_on_two_sessions_keeps_the_order_of_both(served: Daemon) -> None:
    """Seeded: single calls, slow calls and batches over both sessions, in any order."""
    chance = random.Random(7)
    sent, expected = [], dict[str, list[str]]({PM: [], QA: []})
    for number in range(300):
        sessions = chance.choice(([PM], [QA], [PM, QA], [QA, PM]))
        calls = [json.loads(add(session, str(number), f"{number} {session}")) for session in sessions]
        for session in sessions:
            expected[session].append(str(number))
        if chance.random() < 0.15:
            slow = request("session.previewRequest", f"slow {number}", sessionId=chance.choice((PM, QA)))
            calls.insert(chance.randrange(2), json.loads(slow))
        sent.append(json.dumps(calls if len(calls) > 1 else calls[0]).encode() + b"\n")
    with served.connect() as connection:
        connection.sendall(b"".join(sent))
        connection.shutdown(socket.SHUT_WR)
        assert len(list(lines(connection))) == len(sent)
    assert {session: history(served, session) for session in expected} == expected


def test_a_quick_call_is_not_held_up_by_a_slow_one_on_another_session(served: Daemon) -> None:
    served.call("session.addMessage", sessionId=PM, role="user", content="word " * 400_000)
    with served.connect() as connection:
        connection.sendall(request("session.previewRequest", "slow", sessionId=PM) + request("daemon.ping", "quick"))
        answers = lines(connection)
        assert [next(answers)["id"], next(answers)["id"]] == ["quick", "slow"]


# --- the end ----------------------------------------------------------------------------------------------------


def test_who_sends_no_more_still_gets_every_answer(served: Daemon, project: SampleProject) -> None:
    """As with `printf … | socat - UNIX:…`, which closes its half as soon as it has sent."""
    methods = {"daemon.ping": {}, "session.list": {}, "project.scan": {"project": str(project.root)}}
    for method, params in methods.items():
        with served.connect() as connection:
            connection.sendall(b"".join(request(method, number, **params) for number in range(20)))
            connection.shutdown(socket.SHUT_WR)
            assert sorted(answer["id"] for answer in lines(connection) if "result" in answer) == list(range(20))


def test_what_was_sent_before_hanging_up_is_done(served: Daemon) -> None:
    with served.connect() as connection:
        connection.sendall(b"".join(json.dumps({
            "jsonrpc": "2.0", "method": "session.addMessage",
            "params": {"sessionId": PM, "role": "user", "content": str(number)},
        }).encode() + b"\n" for number in range(100)))  # fmt: skip
    until(lambda: len(history(served, PM)) == 100, "the last message")


# --- those who do not read ----------------------------------------------------------------------------------------


def test_a_client_that_never_reads_holds_nobody_up(served: Daemon) -> None:
    """Its answers are far more than any buffer, and the calls are slow ones."""
    served.call("session.addMessage", sessionId=PM, role="user", content="word " * 400_000)
    silent = [served.connect() for _ in range(4)]
    for connection in silent:
        connection.sendall(b"".join(request("session.previewRequest", n, sessionId=PM) for n in range(5)))
    assert served.call("session.previewRequest", sessionId=QA)["totalTokens"] > 0
    assert served.call("session.list")["sessions"]
    for connection in silent:
        connection.close()
    until(lambda: served.status["connections"] == 1, "the end of the silent ones")


def test_who_sends_much_and_reads_nothing_is_not_kept_in_memory(served: Daemon) -> None:
    before = served.status["memory"]["resident"]
    with served.connect() as connection:
        connection.settimeout(2)
        slow = request("session.previewRequest", "slow", sessionId=PM)
        flood = add(PM, "y" * 100_000)
        connection.sendall(slow)
        with pytest.raises(TimeoutError):
            for _ in range(5_000):
                connection.sendall(slow + flood)
        assert served.status["memory"]["resident"] - before < 200 * MEGABYTE


def test_a_subscriber_that_falls_behind_is_told_what_it_lost(served: Daemon) -> None:
    with served.connect() as behind:
        behind.sendall(request("events.subscribe"))
        answers = lines(behind)
        seq = next(answers)["result"]["seq"]
        with served.client() as client:
            for _ in range(60):
                client.call("session.addMessages", sessionId=PM, messages=[{"role": "user", "content": ""}] * 800)
            last = client.call("events.subscribe")["seq"]
        assert last - seq >= 60
        seen: list[int] = []
        lost = 0
        while (seen[-1] if seen else 0) < last:
            event = next(answers)["params"]
            seen.append(event["seq"])
            if event["type"] == "events:lost":
                lost += event["to"] - event["from"] + 1
                assert event["seq"] == event["to"]
        assert lost > 0
        assert seen == sorted(set(seen))
        assert len(seen) - 1 + lost >= last - seq


# --- long lines ---------------------------------------------------------------------------------------------------


def test_a_long_message_arrives_whole(served: Daemon) -> None:
    for size in (64 << 10, (64 << 10) + 1, MEGABYTE, 15 * MEGABYTE):
        content = "é" * (size // 2)
        message = served.call("session.addMessage", sessionId=PM, role="user", content=content)
        assert message["content"] == content
        last = served.call("session.getHistory", sessionId=PM, limit=1)["messages"]
        assert last == [message]


def test_a_line_of_exactly_the_limit_is_taken_and_one_more_byte_is_not(served: Daemon) -> None:
    bare = request("daemon.ping", "x")
    fits = bare.replace(b"\n", b" " * (MAX_LINE - len(bare) + 1) + b"\n")
    assert len(fits) == MAX_LINE + 1
    with served.connect() as connection:
        connection.sendall(fits)
        answers = lines(connection)
        assert next(answers)["result"] == {}
        with contextlib.suppress(OSError):  # it hung up while we were sending; what it said can be read
            connection.sendall(fits.replace(b"\n", b"  \n"))
        assert next(answers)["error"]["code"] == -32600


def test_a_message_that_could_not_be_answered_is_not_stored(served: Daemon) -> None:
    """A line that fits may make an answer that does not: then nothing has happened, and the error says why."""
    many = [{"role": "user", "content": ""}] * 250_000
    for method, params in (
        ("session.addMessage", {"role": "user", "content": "z" * (MAX_LINE - 200)}),
        ("session.addMessages", {"messages": many}),
    ):
        with served.client() as client, pytest.raises(RpcError) as refused:
            client.call(method, sessionId=PM, **params)
        assert refused.value.code == -32004
    assert history(served, PM) == []


# --- many ---------------------------------------------------------------------------------------------------------


def test_idle_connections_make_room_for_new_ones(served: Daemon) -> None:
    """Those that have been idle for longest; who was asked something lately stays."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(served.connect()) for _ in range(256)]
        held[0].sendall(add(PM, "before"))
        assert next(lines(held[0]))["result"]["content"] == "before"
        assert not any(_refused(served) for _ in range(5))
        held[0].sendall(add(PM, "after"))
        assert next(lines(held[0]))["result"]["content"] == "after"
        assert held[1].recv(1) == b"", "it was hung up on"


def test_who_comes_when_all_places_are_in_use_is_told_so(served: Daemon) -> None:
    held = [served.connect() for _ in range(256)]
    for connection in held:
        connection.sendall(request("events.subscribe", 1))
        assert "result" in next(lines(connection))
    until(lambda: _refused(served), "the refusal")
    for connection in held:
        connection.close()
    until(lambda: not _refused(served), "a free place")


def _refused(daemon: Daemon) -> bool:
    try:
        with Client(timeout=patience()) as client:
            client.call("daemon.ping")
    except RpcError as error:
        assert error.code == -32004
        return True
    return False
