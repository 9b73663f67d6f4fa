"""The protocol without a socket: the specification's examples, and whatever else may come over a line."""

from __future__ import annotations

import errno
import json
import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

from dagentd.errors import DagentdError, LimitReached, NotFound
from dagentd.rpc import protocol
from dagentd.rpc.protocol import MAX_BATCH, MAX_DEPTH, MAX_ID, MAX_LINE, Bug, Call


class NoSuchMethod(DagentdError):
    code = -32601


def subtract(params: Any) -> Any:
    return params["minuend"] - params["subtrahend"] if isinstance(params, dict) else params[0] - params[1]


SPECIFIED: dict[str, Callable[[Any], Any]] = {"subtract": subtract, "sum": sum, "get_data": lambda _: ["hello", 5]}
SPECIFIED |= dict.fromkeys(("update", "notify_sum", "notify_hello"), lambda _: None)


def outcome(call: Call) -> Any:
    method = SPECIFIED.get(call.method)
    return method(call.params) if method else NoSuchMethod("Method not found")


def answered(line: bytes) -> Any:
    """The answer as JSON; of errors only their code, which is all that the specification fixes."""
    incoming = protocol.read(line)
    assert incoming is not None
    answer = incoming.answer(outcome)
    if answer is None:
        return None
    assert answer.endswith(b"\n") and answer.count(b"\n") == 1 and len(answer) <= MAX_LINE + 1
    value = json.loads(answer)
    for each in value if isinstance(value, list) else [value]:
        check_answer(each)
    return [shortened(each) for each in value] if isinstance(value, list) else shortened(value)


def check_answer(answer: Any) -> None:
    """Section 5 of the specification."""
    assert answer.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["jsonrpc"] == "2.0"
    assert type(answer["id"]) in (str, int, type(None))
    if error := answer.get("error"):
        assert type(error["code"]) is int and type(error["message"]) is str
        assert type(error["data"]["hint"]) is str


def shortened(answer: dict[str, Any]) -> dict[str, Any]:
    return answer if "result" in answer else answer | {"error": answer["error"]["code"]}


def result(value: Any, id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": value, "id": id}


def error(code: int, id: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": code, "id": id}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', result(19, 1)),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}', result(-19, 2)),
        (
            '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
            result(19, 3),
        ),
        (
            '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
            result(19, 4),
        ),
        ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
        ('{"jsonrpc": "2.0", "method": "foobar"}', None),
        ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', error(-32601, "1")),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', error(-32700)),
        ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', error(-32600)),
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
            error(-32700),
        ),
        ("[]", error(-32600)),
        ("[1]", [error(-32600)]),
        ("[1,2,3]", [error(-32600)] * 3),
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
            '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},'
            '{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},'
            '{"foo": "boo"},'
            '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
            '{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]',
            [
                result(7, "1"),
                result(19, "2"),
                error(-32600),
                error(-32601, "5"),
                result(["hello", 5], "9"),
            ],
        ),
        (
            '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},'
            '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
            None,
        ),
    ],
)
def test_the_examples_of_the_specification(line: str, expected: Any) -> None:
    assert answered(line.encode()) == expected


CALL = b'{"jsonrpc": "2.0", "id": 1, "method": "get_data"}'


@pytest.mark.parametrize("line", [b"", b"\n", b" \t\r\n"])
def test_blank_lines_are_ignored(line: bytes) -> None:
    assert protocol.read(line) is None


@pytest.mark.parametrize(
    "line",
    [
        b"\0",
        b"\0" * 100,
        CALL + b"\0",
        b"\xff\xfe",
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf" + CALL,
        CALL.replace(b"1", b"NaN"),
        CALL.replace(b"1", b"-Infinity"),
        CALL.replace(b"1", b"9" * 5000),
        CALL.replace(b"}", b', "id": 2}'),
        CALL.replace(b"}", b', "params": {"a": {"b": 1, "b": 2}}}'),
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b"[" * 500 + b"]" * 500,
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        CALL + CALL,
        CALL[:-1],
    ],
    ids=lambda line: repr(line[:40]),
)
def test_what_is_no_json_is_a_parse_error(line: bytes) -> None:
    assert answered(line) == error(-32700)


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b"1", None),
        (b"null", None),
        (b'"text"', None),
        (b"{}", None),
        (b'{"id": 7, "method": "x"}', 7),
        (b'{"jsonrpc": 2.0, "id": 7, "method": "x"}', 7),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "x"}', "a"),
        (b'{"jsonrpc": "2.0", "id": 7}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "result": 1}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": null}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": "p"}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": null}', 7),
        (b'{"jsonrpc": "2.0", "method": "x", "params": 5}', None),
        *(
            (b'{"jsonrpc": "2.0", "id": %s, "method": "x"}' % id, None)
            for id in (
                b"1.0",
                b"1e999",
                b"true",
                b"false",
                b"[]",
                b"{}",
                b'"%s"' % (b"a" * (MAX_ID + 1)),
                b"9" * (MAX_ID + 1),
            )
        ),
        (b"[" + b",".join([CALL] * (MAX_BATCH + 1)) + b"]", None),
    ],
    ids=lambda value: repr(value[:60]) if isinstance(value, bytes) else "",
)
def test_what_is_no_request_is_refused_under_its_id(line: bytes, id: Any) -> None:
    assert answered(line) == error(-32600, id)


@pytest.mark.parametrize("id", [0, -1, 2**53 + 1, -(10**MAX_ID) + 1, "", "1", "ä\n\0", "\ud800" * MAX_ID, None])
def test_ids_come_back_as_they_were(id: Any) -> None:
    assert answered(protocol.request("get_data", None, id)) == result(["hello", 5], id)


def test_a_line_that_is_too_long_is_answered_with_the_limit() -> None:
    line = protocol.request("update", ["x" * MAX_LINE], 1)
    assert answered(line) == error(-32600)
    assert str(MAX_LINE) in json.loads(protocol.too_long())["error"]["message"]
    assert protocol.read(line).answer(outcome) == protocol.too_long()  # type: ignore[union-attr]


def test_the_longest_line_is_read() -> None:
    line = protocol.request("update", ["x"], 1)
    longest = line.replace(b"x", b"x" * (MAX_LINE - len(line) + 2))
    assert len(longest) == MAX_LINE + 1
    assert answered(longest) == result(None, 1)


def test_nesting_up_to_the_limit_comes_back() -> None:
    value: Any = "bottom"
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    incoming = protocol.read(protocol.request("m", {"a": value}, 1))
    assert incoming is not None and incoming.calls[0].params == {"a": value}
    assert json.loads(incoming.answer(lambda _: value) or b"")["result"] == value


def test_halves_of_emojis_survive_both_ways() -> None:
    incoming = protocol.read(b'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": ["\\ud83d", "\\u2028\\u0000"]}')
    assert incoming is not None and incoming.calls[0].params == ["\ud83d", "\u2028\0"]
    assert json.loads(incoming.answer(lambda _: "\ud83d") or b"")["result"] == "\ud83d"


def test_what_was_sent_is_known() -> None:
    incoming = protocol.read(b'[{"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}, 5, %s]' % CALL)
    assert incoming is not None and incoming.batch
    assert incoming.calls == [Call(None, "m", {"a": 1}, True), Call(1, "get_data", None, False)]
    assert [(refused.id, refused.error.code) for refused in incoming.errors] == [(None, -32600)]


def test_a_null_id_is_no_notification() -> None:
    assert answered(b'{"jsonrpc": "2.0", "id": null, "method": "get_data"}') == result(["hello", 5], None)


def told(outcome: Any) -> dict[str, Any]:
    incoming = protocol.read(CALL)
    assert incoming is not None
    answer = json.loads(incoming.answer(lambda _: outcome) or b"")
    check_answer(answer)
    return dict(answer["error"])


def test_an_expected_error_is_told_as_it_is() -> None:
    assert told(NotFound("no session s", path="/p\udcff", hint="dagentd sessions")) == {
        "code": -32001,
        "message": "no session s",
        "data": {"hint": "dagentd sessions", "path": "/p\udcff"},
    }
    assert told(NotFound("gone"))["data"] == {"hint": ""}


def test_what_the_system_refuses_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    """Out of descriptors, every method answered "Internal error" and asked for a report."""
    error = told(OSError(errno.EMFILE, "Too many open files", "/p/nodes"))
    assert (error["code"], error["message"], error["data"]["path"]) == (-32004, "too many files are open", "/p/nodes")
    assert "ulimit" in error["data"]["hint"] and caplog.text == ""
    library = ImportError("libgit2.so: cannot open shared object file: Too many open files", path="/lib/libgit2.so")
    assert told(library)["data"]["path"] == "/lib/libgit2.so"
    part = ImportError("cannot import name 'Scales'", name="dagentd.jobs.compaction")  # another thread failed
    assert told(part)["code"] == -32004 and "restart" in told(part)["data"]["hint"]
    for bug in (ImportError("no module"), OSError(errno.EBADF, "Bad file descriptor"), TimeoutError()):
        assert told(bug)["message"] == "Internal error"


def raised() -> Exception:
    try:
        raise KeyError(" ".join(("text", "of a session")))  # the log shows this line, but not what is in it
    except KeyError as error:
        return error


def test_a_bug_is_told_by_a_reference_that_the_log_has(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        error = told(raised())
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert error["data"]["reference"] in caplog.text and "KeyError" in caplog.text
    assert "text of a session" not in json.dumps(error) + caplog.text
    assert told(raised()) == error


def test_a_bug_that_was_logged_keeps_its_reference(caplog: pytest.LogCaptureFixture) -> None:
    assert told(Bug("ref-1"))["data"]["reference"] == "ref-1"
    assert caplog.text == ""


@pytest.mark.parametrize("value", [object(), {1: {2}}, b"bytes"])
def test_a_result_that_is_no_json_is_a_bug(value: Any) -> None:
    assert told(value)["code"] == -32603


def test_a_result_within_itself_is_a_bug() -> None:
    value: list[Any] = []
    value.append(value)
    assert told(value)["code"] == -32603


def test_an_answer_that_does_not_fit_is_an_error() -> None:
    assert told("x" * MAX_LINE)["code"] == LimitReached.code
    assert told(NotFound("x" * MAX_LINE))["code"] == LimitReached.code


def test_of_a_batch_what_fits_is_answered() -> None:
    incoming = protocol.read(b"[" + b",".join([CALL] * MAX_BATCH) + b"]")
    assert incoming is not None
    half = "x" * (MAX_LINE // 2)
    outcomes = iter([half, half, "small", *[NotFound("y" * 100_000)] * (MAX_BATCH - 3)])
    answer = incoming.answer(lambda _: next(outcomes)) or b""
    codes = [each.get("error", {}).get("code") for each in json.loads(answer)]
    assert len(answer) <= MAX_LINE + 1 and len(codes) == MAX_BATCH
    assert codes[:4] == [None, LimitReached.code, None, NotFound.code] and codes[-1] == LimitReached.code


def test_requests_are_what_is_read() -> None:
    read = [protocol.read(line) for line in (protocol.request("m", {"a": "ä"}, "i"), protocol.notification("n", None))]
    assert [each.calls for each in read if each] == [[Call("i", "m", {"a": "ä"}, False)], [Call(None, "n", None, True)]]


def frame(rng: random.Random) -> bytes:
    """Something like a request, or a batch of them, or neither; mostly damaged."""
    data = bytearray(json.dumps(value(rng, 4) if rng.random() < 0.3 else requests(rng)).encode())
    for _ in range(rng.choice((0, 0, 1, 1, 2, 10))):
        at = rng.randrange(len(data) + 1)
        rng.choice((insert, overwrite, cut, repeat))(rng, data, at)
    return bytes(data).replace(b"\n", b" ")


def insert(rng: random.Random, data: bytearray, at: int) -> None:
    data[at:at] = rng.choice((rng.randbytes(3), b"NaN", b"\\ud800", b"\0", b"1e999", b'"id":1,', b"[[{", b"}", b'"'))


def overwrite(rng: random.Random, data: bytearray, at: int) -> None:
    data[at : at + 1] = rng.randbytes(1)


def cut(rng: random.Random, data: bytearray, at: int) -> None:
    del data[at : at + rng.randrange(20)]


def repeat(rng: random.Random, data: bytearray, at: int) -> None:
    data[at:at] = data[at : at + rng.randrange(40)] * rng.choice((1, 2, 200))


def requests(rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return [requests(rng) for _ in range(rng.randrange(4))]
    members = {"jsonrpc": "2.0", "method": rng.choice(tuple(SPECIFIED)), "params": [1, 2], "id": rng.randrange(9)}
    for name in [*members]:
        if rng.random() < 0.1:
            members[name] = value(rng, 2)
        elif rng.random() < 0.1:
            del members[name]
    return members


def value(rng: random.Random, depth: int) -> Any:
    if depth and rng.random() < 0.4:
        inside = [value(rng, depth - 1) for _ in range(rng.randrange(4))]
        return inside if rng.random() < 0.5 else {rng.choice(("id", "method", "é\0", "")): each for each in inside}
    return rng.choice((None, True, 0, -1.5, 10**30, "", "2.0", "\ud800", float("nan"), float("inf"), "ü" * 50))


def test_whatever_is_sent_gets_a_valid_answer_or_needs_none() -> None:
    rng = random.Random(20_000)
    codes: dict[str, int] = {}
    for _ in range(20_000):
        line = frame(rng) if rng.random() < 0.9 else rng.randbytes(rng.randrange(200)).replace(b"\n", b"")
        kind = kind_of_answer(line)
        codes[kind] = codes.get(kind, 0) + 1
    assert min(codes.values()) > 100 and codes.keys() == {"nothing", "batch", "result", "-32700", "-32600"}


def kind_of_answer(line: bytes) -> str:
    """Checked on the way, against what can be known of a line without our own reader."""
    incoming = protocol.read(line)
    if incoming is None:
        assert not line.strip()
        return "nothing"
    answer = incoming.answer(lambda call: call.params)
    if answer is None:
        assert all(call.notification for call in incoming.calls) and not incoming.errors
        return "nothing"
    assert answer.count(b"\n") == 1
    value = json.loads(answer)
    for each in value if isinstance(value, list) else [value]:
        check_answer(each)
    if isinstance(value, list):
        return "batch"
    code = value.get("error", {}).get("code")
    if code != -32700:
        json.loads(line)
    return str(code) if code else "result"
