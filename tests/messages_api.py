"""A local server that speaks the Messages API: what each call is answered is scripted, what it asked is recorded."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
MONTH = 30 * 24 * 3600
_JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Seen:
    """One request as it came; names of headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, eq=False)
class Reply:
    """`delay` ends early when the server stops or `release()` is called. `sent` is how many bytes of the body go out
    before the connection is cut (all of them: None); with `status` 0 it is cut before the first byte."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: dict(_JSON))
    delay: float = 0.0
    sent: int | None = None


Answer = Reply | Callable[[Any], Reply]


def said(text: str, stop_reason: str = "end_turn", model: str = "claude-haiku-5-5", **usage: int) -> Reply:
    """A success with one block of text."""
    return message([{"type": "text", "text": text}], stop_reason, model, **usage)


def message(content: list[dict[str, Any]], stop_reason: str, model: str, **usage: int) -> Reply:
    whole = {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1200, "output_tokens": 80} | usage,
    }
    return Reply(body=json.dumps(whole).encode())


def failure(status: int, kind: str, text: str, **headers: str) -> Reply:
    """An error as the API words it."""
    told = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(told).encode(), _JSON | {"request-id": "req_011CSHoEeqs5C35K2UUqR7Fy"} | named)


TOO_LONG = failure(400, "invalid_request_error", "prompt is too long: 1204313 tokens > 1000000 maximum")
UNAUTHORIZED = failure(401, "authentication_error", "invalid x-api-key")
NO_MODEL = failure(404, "not_found_error", "model: claude-haiku-5-5")
TOO_LARGE = failure(413, "request_too_large", "Request exceeds the maximum size")
RATE_LIMITED = failure(429, "rate_limit_error", "Number of requests has exceeded your limit", retry_after=str(MONTH))
BROKEN = failure(500, "api_error", "Internal server error")
OVERLOADED = failure(529, "overloaded_error", "Overloaded")
CUT_BEFORE = Reply(status=0)
CUT_WITHIN = replace(said("half of this never arrives " * 20), sent=150)
HTML = Reply(body=b"<html><body>Log in to the guest network</body></html>", headers={"content-type": "text/html"})
EMPTY = Reply(body=b"{}")
TRUNCATED = Reply(body=said("cut").body[:120])
MAX_TOKENS = said('{"operations": [{"op": "add", "list": "decis', stop_reason="max_tokens")
REFUSAL = message([], "refusal", "claude-haiku-5-5")


def slow(seconds: float, then: Reply) -> Reply:
    return replace(then, delay=seconds)


class MessagesApi:
    """Answers calls by the script, in order, and then by what `always` was told."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._script: dict[str, deque[Answer]] = {MESSAGES: deque(), COUNT: deque()}
        self._else: dict[str, Answer] = {MESSAGES: said("{}"), COUNT: _counted}
        self._arrival = threading.Condition()
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.api = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def then(self, *answers: Answer, path: str = MESSAGES) -> None:
        """The next calls get these."""
        self._script[path].extend(answers)

    def always(self, answer: Answer, path: str = MESSAGES) -> None:
        """Every call for which the script has nothing gets this."""
        self._else[path] = answer

    def calls(self, path: str = MESSAGES) -> list[Seen]:
        with self._arrival:
            return [one for one in self.seen if one.path == path]

    def await_calls(self, number: int, timeout: float = 60.0) -> list[Seen]:
        """The calls for messages so far, once there are that many."""
        with self._arrival:
            came = self._arrival.wait_for(lambda: sum(one.path == MESSAGES for one in self.seen) >= number, timeout)
        assert came, f"only {len(self.calls())} of {number} calls arrived"
        return self.calls()

    def release(self) -> None:
        """Slow answers, also later ones, are given at once."""
        self._released.set()

    def answer(self, seen: Seen) -> Reply:
        with self._arrival:
            self.seen.append(seen)
            script = self._script.get(seen.path)
            chosen = script.popleft() if script else self._else.get(seen.path, _UNKNOWN)
            self._arrival.notify_all()
        reply = chosen if isinstance(chosen, Reply) else chosen(seen.body)
        if reply.delay:
            self._released.wait(reply.delay)
        return reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: MessagesApi

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed while it waited is nothing to tell of."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        # The claude command line asks for /v1/messages?beta=true.
        path = self.path.partition("?")[0]
        self._send(self.server.api.answer(Seen(self.command, path, headers, json.loads(raw or b"null"))))

    def do_GET(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""

    def _send(self, reply: Reply) -> None:
        if reply.status:
            self.send_response(reply.status)
            for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else reply.body[: reply.sent])
            self.wfile.flush()
        if not reply.status or reply.sent is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)


def _counted(body: Any) -> Reply:
    return Reply(body=json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode())


_UNKNOWN = failure(404, "not_found_error", "no such path")
