"""The one check before every route: nobody but the page itself, in the browser of this user, is answered.

A port of this machine can be reached by every web page that the user opens and by every user of the machine. So each
request must name us exactly as its host (a name that was bound to this machine does not), come from our own page or
from no page at all, and have the cookie that a code, used once, was swapped for. Cookies are the same for all ports of
a host: the path, which is secret, keeps ours from other servers. What changes something has in addition a token that
only our page knows, and is JSON, which no form of another page can send."""

from __future__ import annotations

import hmac
import os
import secrets
import struct
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types page",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ENTER = "/enter"
_GUESSES = 5  # wrong codes after which none is right
_OVER = "This page is not open any more in this browser. Type `dagentd web` again."
_Refused = tuple[int, str]


class Guard:
    """`app` gets what passes, its path without the secret part."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app, self._port = app, port
        self._host, self._path = f"127.0.0.1:{port}", f"/{secrets.token_urlsafe(16)}"
        self._code: str | None = secrets.token_urlsafe(24)
        self._guesses = 0
        self._cookie = secrets.token_urlsafe(32)
        self.token = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """For the browser, once."""
        return f"http://{self._host}{self._path}{ENTER}?code={self._code}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send))
        else:  # a WebSocket: there is none here
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refused = self._stranger(scope, headers)
        if refused is None and scope["path"] == self._path + ENTER and scope["method"] == "GET":
            await self._entered(scope, headers)(scope, receive, send)
            return
        refused = refused or self._outsider(scope, headers)
        if refused is not None:
            await PlainTextResponse(refused[1] + "\n", refused[0])(scope, receive, send)
            return
        inside = {**scope, "path": scope["path"].removeprefix(self._path), "raw_path": b"", "root_path": ""}
        await self._app(inside, receive, send)

    def _stranger(self, scope: Scope, headers: dict[str, list[str]]) -> _Refused | None:
        """From another host, page, site or user."""
        changes = scope["method"] == "POST"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "This method is not known here."
        if headers.get("host") != [self._host]:
            return 421, "This is not the host that was asked for."
        if headers.get("origin", [f"http://{self._host}"]) != [f"http://{self._host}"] or (
            changes and "origin" not in headers
        ):
            return 403, "Another page may not ask."
        if headers.get("sec-fetch-site", ["same-origin"]) not in [["same-origin"], *([] if changes else [["none"]])]:
            return 403, "Another site may not ask. Copy the address into the address bar."
        if not _may_ask(scope["client"], self._port):
            return 403, "Another user may not ask."
        return None

    def _outsider(self, scope: Scope, headers: dict[str, list[str]]) -> _Refused | None:
        """Without what only our own page has."""
        if not scope["path"].startswith(f"{self._path}/"):
            return 404, "There is nothing here."
        if not self._knows_cookie(headers):
            return 401, _OVER
        if scope["method"] != "POST":
            return None
        if headers.get("content-type") != ["application/json"]:
            return 415, "Only JSON is understood."
        if not hmac.compare_digest("".join(headers.get("x-dagentd-token", [])).encode(), self.token.encode()):
            return 403, "The token is missing. Load the page again."
        return None

    def _entered(self, scope: Scope, headers: dict[str, list[str]]) -> Response:
        """The code for a cookie; it is used up by that, and by too many guesses. A tab that is opened again comes with
        the old code and the cookie."""
        inside = RedirectResponse(f"{self._path}/", 303)
        if self._knows_cookie(headers):
            return inside
        given = parse_qs(scope["query_string"].decode("latin-1")).get("code", [""])[0]
        if self._code is None or not hmac.compare_digest(given.encode(), self._code.encode()):
            self._guesses += 1
            self._code = self._code if self._guesses < _GUESSES else None
            return PlainTextResponse(_OVER + "\n", 401)
        self._code = None
        inside.set_cookie(self._cookie_name, self._cookie, path=self._path, httponly=True, samesite="strict")
        return inside

    @property
    def _cookie_name(self) -> str:
        return f"dagentd-{self._port}"

    def _knows_cookie(self, headers: dict[str, list[str]]) -> bool:
        """Beside those of other servers of this machine, which the browser sends too, whatever they look like."""
        ours = f"{self._cookie_name}={self._cookie}".encode()
        given = ";".join(headers.get("cookie", [])).encode().split(b";")
        return any(hmac.compare_digest(each.strip(), ours) for each in given)


def _headers(scope: Scope) -> dict[str, list[str]]:
    """Each with all its values: of two hosts none is the right one."""
    found: dict[str, list[str]] = {}
    for key, value in scope["headers"]:
        found.setdefault(key.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *ours]}
        await send(message)

    return sending


# Who is at the other end of a connection on this machine: Linux says which user's socket it is. The secrets in address
# and cookie keep other users out already; but a command line with the address can be read by all, for the moment that a
# browser takes to start.

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_MAPPED = "0000000000000000FFFF0000"  # before an IPv4 address in the second table


def _may_ask(client: tuple[str, int], port: int) -> bool:
    """Our own user, or root, who can read all of it anyway. Where the system does not tell, the secrets must do.
    Whoever hung up already is nobody's, and the system says root: refused."""
    owners = {uid for table in _TABLES for uid in _owners(table, client, port)}
    if owners:
        return owners <= {os.getuid(), 0}
    return not os.access(_TABLES[0], os.R_OK)


def _owners(table: str, client: tuple[str, int], port: int) -> list[int]:
    here, there = _hex(client[0], client[1]), _hex("127.0.0.1", port)
    pairs = {(here, there), (_MAPPED + here, _MAPPED + there)}
    try:
        with open(table, encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return []
    return [int(row[7]) if row[9] != "0" else -1 for row in rows[1:] if (row[1], row[2]) in pairs]


def _hex(address: str, port: int) -> str:
    """As the kernel prints it: the address as one number of this machine."""
    packed = bytes(int(part) for part in address.split("."))
    return f"{struct.unpack('=I', packed)[0]:08X}:{port:04X}"
