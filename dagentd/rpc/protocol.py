"""JSON-RPC 2.0 without a socket: a line becomes calls, and what came of them becomes a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dagentd.errors import DagentdError
from dagentd.model import jsontext
from dagentd.rpc.answers import Bug as Bug
from dagentd.rpc.answers import Id, answers
from dagentd.rpc.frames import ParseError, parse

MAX_LINE = 16 * 1024 * 1024  # bytes, the newline not counted
# Both bound the answer: a line of 16 MiB has room for eight million entries, each answered by a longer one.
MAX_BATCH = 1000
MAX_ID = 256  # characters of a text, digits of an integer

_ABOVE_IDS = 10**MAX_ID
_ROOM = MAX_LINE - len(b"[]")  # for answers

Params = dict[str, Any] | list[Any] | None

_HINT = "Send one request a line as in https://www.jsonrpc.org/specification."


class InvalidRequest(DagentdError):
    code = -32600

    def __init__(self, reason: str) -> None:
        super().__init__(f"Invalid Request: {reason}", hint=_HINT)


class Call(NamedTuple):
    id: Id
    method: str
    params: Params
    notification: bool


class Refused(NamedTuple):
    """An entry that is no call; the id is null where none could be made out."""

    id: Id
    error: DagentdError
    notification: bool = False


class Incoming(NamedTuple):
    """One line that was read: the calls to make and the errors that are already decided, as they were sent."""

    entries: list[Call | Refused]
    batch: bool = False

    @property
    def calls(self) -> list[Call]:
        return [entry for entry in self.entries if isinstance(entry, Call)]

    @property
    def errors(self) -> list[Refused]:
        return [entry for entry in self.entries if isinstance(entry, Refused)]

    def answer(self, outcomes: Iterable[Any]) -> bytes | None:
        """The line to send back, or none. One outcome a call, notifications too: its result or its exception."""
        given = iter(outcomes)
        settled: list[tuple[Id, Any]] = []
        for entry in self.entries:
            outcome = next(given) if isinstance(entry, Call) else entry.error
            if not entry.notification:
                settled.append((entry.id, outcome))
        if not settled:
            return None
        lines = answers(settled, _ROOM)
        return (b"[" + b",".join(lines) + b"]" if self.batch else lines[0]) + b"\n"


def read(line: bytes) -> Incoming | None:
    """Nothing for a blank line; whatever else is sent gets calls or errors, and never an exception."""
    if not line.strip(b" \t\r\n"):
        return None
    if len(line) > MAX_LINE + len(b"\n"):
        return _refused(_too_long())
    try:
        value = parse(line)
    except ParseError as error:
        return _refused(error)
    if not isinstance(value, list):
        return Incoming([_entry(value)])
    if not 0 < len(value) <= MAX_BATCH:
        return _refused(InvalidRequest(f"a batch has 1 to {MAX_BATCH} requests, not {len(value)}"))
    return Incoming([_entry(each) for each in value], batch=True)


def too_long() -> bytes:
    """The answer to a line that was given up on when it passed MAX_LINE."""
    return refusal(_too_long())


def refusal(error: DagentdError) -> bytes:
    """An error that is no answer to a request, but about the connection."""
    return answers([(None, error)], MAX_LINE)[0] + b"\n"


def request(method: str, params: Params, id: Id) -> bytes:
    return _line({"jsonrpc": "2.0", "id": id, "method": method}, params)


def notification(method: str, params: Params) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method}, params)


def _line(message: dict[str, Any], params: Params) -> bytes:
    return jsontext.encode(message if params is None else message | {"params": params}) + b"\n"


def _too_long() -> InvalidRequest:
    return InvalidRequest(f"a line has at most {MAX_LINE} bytes")


def _refused(error: DagentdError) -> Incoming:
    return Incoming([Refused(None, error)])


def _entry(value: Any) -> Call | Refused:
    if not isinstance(value, dict):
        return Refused(None, InvalidRequest(f"a request is an object, not {jsontext.kind(value)}"))
    id = value.get("id")
    if not _is_id(id):
        return Refused(None, InvalidRequest(f"an id is a text or an integer of at most {MAX_ID} characters, or null"))
    if reason := _fault(value):
        return Refused(id, InvalidRequest(reason))
    return Call(id, value["method"], value.get("params"), id is None and "id" not in value)


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_ID
    # By exact type: to Python true is an integer too.
    return value is None or (type(value) is int and abs(value) < _ABOVE_IDS)


def _fault(value: dict[str, Any]) -> str:
    if value.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if not isinstance(value.get("method"), str):
        return "`method` must be a text"
    if "params" in value and not isinstance(value["params"], dict | list):
        return "`params` must be an object or a list"
    return ""
