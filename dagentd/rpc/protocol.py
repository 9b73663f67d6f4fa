"""JSON-RPC 2.0 without a socket: a line becomes calls, and what came of them becomes a line."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from dagentd.errors import DagentdError, LimitReached, expected
from dagentd.model import jsontext
from dagentd.model.jsontext import Encoded

# A line from the socket as JSON, held to the standard and to a depth that all else can cope with.

# json reads what is nested up to Python's recursion limit, and what comes after it, deeper in the stack, would fail.
MAX_DEPTH = 128


class ParseError(DagentdError):
    code = -32700

    def __init__(self, reason: str) -> None:
        super().__init__(f"Parse error: {reason}", hint="Send each message as JSON in UTF-8 on one line.")


def parse_frame(line: bytes) -> Any:
    """Stricter than what is read from files: NaN and repeated keys are refused while the sender can mend them."""
    try:
        text = line.decode("utf-8")
        # JSONDecoder.decode looks for white space on both sides by regular expressions.
        value, end = _decoder.raw_decode(text) if text.startswith(("{", "[")) else (None, -1)
        if end != len(text):
            value = _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ParseError(f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ParseError(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise ParseError("a number is too long") from None
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _deep(value):
        raise ParseError(f"nested deeper than {MAX_DEPTH}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ParseError("a key is twice in one object")
    return result


def _refuse(constant: str) -> NoReturn:
    raise ParseError(f"{constant} is not JSON")


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in _children(each)]
    return any(isinstance(each, dict | list) for each in level)


def _children(value: Any) -> list[Any]:
    """Those that can have children themselves."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in inside if isinstance(child, dict | list)]


# Made once: json.loads makes a decoder for each call that has hooks, which costs more than a short line.
_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


# What came of calls as JSON-RPC answers: results as they are, errors without tracebacks or text of sessions.

Id = str | int | None

# Kept free for each other answer: enough to say, with the longest id, that the answer itself does not fit.
_SHORTEST = 2048

_log = logging.getLogger(__name__)


class Bug(Exception):
    """An unexpected exception that is in the log already, under this reference."""

    def __init__(self, reference: str) -> None:
        super().__init__(reference)
        self.reference = reference


def encode_answers(settled: list[tuple[Id, Any]], room: int) -> list[bytes]:
    """One for each, all together within the room: those that do not fit become an error that says so."""
    room -= _SHORTEST * (len(settled) - 1)
    encoded = []
    for id, outcome in settled:
        if isinstance(outcome, BaseException):
            answer = _error(id, outcome)
        else:
            try:
                # The encoder is slow to begin with, so it gets the result and hardly ever the id.
                known = str(id).encode() if type(id) is int else jsontext.encode(id)
                result = outcome.data if isinstance(outcome, Encoded) else jsontext.encode(outcome)
                answer = b"".join((b'{"jsonrpc": "2.0", "result": ', result, b', "id": ', known, b"}"))
            except (TypeError, ValueError, RecursionError) as error:
                answer = _error(id, error)
        if len(answer) > room:
            answer = _error(id, _too_big())
        else:
            room -= len(answer)
        encoded.append(answer)
    return encoded


def _error(id: Id, error: BaseException) -> bytes:
    known = expected(error)
    told = _bug(error) if known is None else _expected(known)
    return jsontext.encode({"jsonrpc": "2.0", "error": told, "id": id})


def _expected(error: DagentdError) -> dict[str, Any]:
    where = {} if error.path is None else {"path": error.path}
    return {"code": error.code, "message": error.message, "data": {"hint": error.hint} | where}


def _bug(error: BaseException) -> dict[str, Any]:
    reference = error.reference if isinstance(error, Bug) else logged(error)
    hint = f"This is a bug in dagentd; its log has the details under {reference}."
    return {"code": DagentdError.code, "message": "Internal error", "data": {"hint": hint, "reference": reference}}


def logged(error: BaseException) -> str:
    """Only where it was: what it says may be text of a session. The same bug has the same reference."""
    import hashlib  # 4 MB, which no client needs

    name, where = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
    reference = hashlib.sha256(f"{name}\n{where}".encode("utf-8", "backslashreplace")).hexdigest()[:12]
    _log.error("internal error %s: %s\n%s", reference, name, where)
    return reference


def _too_big() -> LimitReached:
    return LimitReached("the answer does not fit into one line", hint="Ask for less, or in several requests.")


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

    def answer(self, outcome: Callable[[Call], Any]) -> bytes | None:
        """The line to send back, or none. Of each call, notifications too, the outcome is its result or its
        exception."""
        settled: list[tuple[Id, Any]] = []
        for entry in self.entries:
            came = outcome(entry) if isinstance(entry, Call) else entry.error
            if not entry.notification:
                settled.append((entry.id, came))
        if not settled:
            return None
        lines = encode_answers(settled, _ROOM)
        return (b"[" + b",".join(lines) + b"]" if self.batch else lines[0]) + b"\n"


def read(line: bytes) -> Incoming | None:
    """Nothing for a blank line; whatever else is sent gets calls or errors, and never an exception."""
    if not line.strip(b" \t\r\n"):
        return None
    if len(line) > MAX_LINE + len(b"\n"):
        return _refused(_too_long())
    try:
        value = parse_frame(line)
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
    return encode_answers([(None, error)], MAX_LINE)[0] + b"\n"


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
    id = value.get("id")  # by exact type: to Python true is an integer too
    is_number = type(id) is int and abs(id) < _ABOVE_IDS
    if not (id is None or is_number or (isinstance(id, str) and len(id) <= MAX_ID)):
        return Refused(None, InvalidRequest(f"an id is a text or an integer of at most {MAX_ID} characters, or null"))
    method, params = value.get("method"), value.get("params")
    if value.get("jsonrpc") != "2.0":
        return Refused(id, InvalidRequest('`jsonrpc` must be "2.0"'))
    if not isinstance(method, str):
        return Refused(id, InvalidRequest("`method` must be a text"))
    if "params" in value and not isinstance(params, dict | list):
        return Refused(id, InvalidRequest("`params` must be an object or a list"))
    return Call(id, method, params, id is None and "id" not in value)
