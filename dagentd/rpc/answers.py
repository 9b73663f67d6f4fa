"""What came of calls as JSON-RPC answers: results as they are, errors without tracebacks or text of sessions."""

from __future__ import annotations

import hashlib
import logging
import traceback
from typing import Any

from dagentd.errors import DagentdError, LimitReached, expected
from dagentd.model import jsontext
from dagentd.model.jsontext import Encoded

Id = str | int | None

# Kept free for each other answer: enough to say, with the longest id, that the answer itself does not fit.
_SHORTEST = 2048

_log = logging.getLogger(__name__)


class Bug(Exception):
    """An unexpected exception that is in the log already, under this reference."""

    def __init__(self, reference: str) -> None:
        super().__init__(reference)
        self.reference = reference


def answers(settled: list[tuple[Id, Any]], room: int) -> list[bytes]:
    """One for each, all together within the room: those that do not fit become an error that says so."""
    room -= _SHORTEST * (len(settled) - 1)
    encoded = []
    for id, outcome in settled:
        answer = _answer(id, outcome)
        if len(answer) > room:
            answer = _error(id, _too_big())
        else:
            room -= len(answer)
        encoded.append(answer)
    return encoded


def _answer(id: Id, outcome: Any) -> bytes:
    if isinstance(outcome, BaseException):
        return _error(id, outcome)
    try:
        # The encoder is slow to begin with, so it gets the result and hardly ever the id.
        known = str(id).encode() if type(id) is int else jsontext.encode(id)
        result = outcome.data if isinstance(outcome, Encoded) else jsontext.encode(outcome)
        return b'{"jsonrpc": "2.0", "result": ' + result + b', "id": ' + known + b"}"
    except (TypeError, ValueError, RecursionError) as error:
        return _error(id, error)


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
    name, where = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
    reference = hashlib.sha256(f"{name}\n{where}".encode("utf-8", "backslashreplace")).hexdigest()[:12]
    _log.error("internal error %s: %s\n%s", reference, name, where)
    return reference


def _too_big() -> LimitReached:
    return LimitReached("the answer does not fit into one line", hint="Ask for less, or in several requests.")
