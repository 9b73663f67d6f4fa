"""The routes: what is asked for, by which view it is answered, and errors in words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from dagentd.errors import DagentdError, NotFound, Unreachable, expected
from dagentd.web import page_changes
from dagentd.web.history import Histories
from dagentd.web.html import Html, h, name
from dagentd.web.link import LOST, OVER, Events, Link
from dagentd.web.pages.checkpoint import checkpoint_page
from dagentd.web.pages.compactions import compactions_page
from dagentd.web.pages.feature import feature_page
from dagentd.web.pages.health import health_page
from dagentd.web.pages.overview import away, overview
from dagentd.web.pages.remembered import remembered_page
from dagentd.web.pages.search import search_page
from dagentd.web.pages.session import message_page, messages_part, session_page
from dagentd.web.pages.usage import usage_page
from dagentd.web.parts import Page, framed, hint

_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_BEAT = 20.0  # seconds between two signs of life on a stream of events
_LONGEST = 64 << 10  # bytes that a page may ask with
_TOLD = ("type", "action", "sessionId", "project", "error")  # of an event: the page asks for the rest

Raw = dict[str, Any]
Report = Callable[[Exception], str]


class Site:
    """`report` keeps what a bug left for who will mend it, and says where. `token` is what the page asks with."""

    def __init__(self, report: Report) -> None:
        self.token = ""
        self._report = report
        self._link, self._events = Link(), Events()
        self._histories = Histories(self._link)
        views: dict[str, Callable[[Raw], Page]] = {
            "": lambda asked: overview(self._link, asked.get("show") == "gone"),
            "search": lambda asked: search_page(self._link, asked.get("q", "")),
            "session": lambda asked: session_page(self._link, self._histories, asked),
            "message": lambda asked: message_page(self._link, self._histories, asked),
            "checkpoint": lambda asked: checkpoint_page(self._link, asked),
            "compactions": lambda asked: compactions_page(self._link, asked),
            "feature": lambda asked: feature_page(self._link, asked),
            "remembered": lambda asked: remembered_page(self._link, asked),
            "usage": lambda asked: usage_page(self._link, asked),
            "health": lambda _: health_page(self._link),
        }
        routes = [Route(f"/{path}", self._viewed(view)) for path, view in views.items()]
        routes += [
            Route("/messages", self._more),
            Route("/events", self._stream),
            Route("/do", self._do, methods=["POST"]),
        ]
        routes += [Route(f"/{file}", _static(file, kind)) for file, kind in _STATIC.items()]
        self.app = Starlette(routes=routes, exception_handlers={404: self._nothing})
        self.app.router.redirect_slashes = False  # it knows nothing of the secret part of our path

    def close(self) -> None:
        self._events.close()
        self._link.close()

    # --- reading --------------------------------------------------------------------------------------------

    def _viewed(self, view: Callable[[Raw], Page]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                return self._shown(view(dict(request.query_params)))
            except Exception as error:
                return self._failed(error)

        return answer

    def _shown(self, page: Page, status: int = 200) -> Response:
        return HTMLResponse(framed(page, self.token, page.health or self._health()).text, status)

    def _health(self) -> str:
        try:
            return str(self._link.call("daemon.status")["health"])
        except DagentdError:
            return "away"

    def _failed(self, error: Exception) -> Response:
        """The page for an error: one that we expected, in its words; a bug is kept for who will mend it."""
        known = expected(error)
        if isinstance(known, Unreachable):
            return self._shown(away(str(known), known.hint), 503)
        if known is None:
            told, next_step = "This is a bug in dagentd", self._report(error)
            return self._shown(_told("Something went wrong", told, next_step), 500)
        missing = getattr(known, "code", 0) == NotFound.code
        page = _told("Not found" if missing else "It cannot be shown", str(known), known.hint)
        return self._shown(page, 404 if missing else 400)

    async def _nothing(self, request: Request, error: Exception) -> Response:
        page = _told("Not found", "There is no such page.", "")
        return await run_in_threadpool(self._shown, page, 404)

    def _more(self, request: Request) -> Response:
        try:
            return HTMLResponse(messages_part(self._link, self._histories, dict(request.query_params)).text)
        except Exception as error:
            return self._refused(error)

    # --- changing -------------------------------------------------------------------------------------------

    async def _do(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LONGEST:
                return JSONResponse({"error": "That is too long."}, 413)
        return await run_in_threadpool(self._done, body)

    def _done(self, body: bytes) -> Response:
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            return JSONResponse({"error": "That is no JSON."}, 400)
        try:
            return JSONResponse(page_changes.do(self._link, asked))
        except Exception as error:
            return self._refused(error)

    def _refused(self, error: Exception) -> Response:
        known = expected(error)
        told = f"{known}. {known.hint}" if known is not None else f"This is a bug in dagentd. {self._report(error)}"
        return JSONResponse({"error": told}, 500 if known is None else 409)

    # --- live -----------------------------------------------------------------------------------------------

    async def _stream(self, request: Request) -> Response:
        return StreamingResponse(self._heard(), media_type="text/event-stream")

    async def _heard(self) -> AsyncIterator[str]:
        async with self._events.heard() as queue:
            yield f"retry: 1000\n\n{_sent(LOST)}"  # what happened since the page was made
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _BEAT)
                except TimeoutError:
                    yield ": here\n\n"
                    continue
                if event["type"] == OVER:
                    return
                yield _sent(event)


def _sent(event: Raw) -> str:
    told = {key: event[key] for key in _TOLD if event.get(key) is not None}
    return f"data: {json.dumps(told)}\n\n"


def _told(title: str, message: str, next_step: str) -> Page:
    body: Html = h.div(
        h.h1(title),
        h.p(name(message)),
        h.p(hint(next_step)) if next_step else None,
        h.p(h.a("Overview", href="./")),
        class_="empty",
    )
    return Page(title, body)


def _static(file: str, kind: str) -> Callable[[Request], Response]:
    text = resources.files("dagentd.web").joinpath("static", file).read_text(encoding="utf-8")
    return lambda _: PlainTextResponse(text, media_type=kind)
