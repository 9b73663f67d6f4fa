"""Parts that several pages share: the frame around all of them, bars, times, commands to copy, empty states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dagentd.model import figures, oneline, times
from dagentd.web.html import Child, Html, fragment, h, name, to

_PAGES = (("", "Overview"), ("usage", "Usage"), ("health", "Health"))
_KEYS = (
    ("/", "search"),
    ("j k", "next, previous"),
    ("Enter", "open"),
    ("e", "fold or unfold a tool call"),
    ("g o", "overview"),
    ("g u", "usage"),
    ("g h", "health"),
    ("G", "the end"),
    ("?", "this list"),
    ("Esc", "close"),
)


@dataclass(frozen=True)
class Page:
    """`live` says of which session its events are, `*` of all; None if it stays as it is. `health` is the daemon's,
    where that was asked for already."""

    title: str
    body: Html
    at: str | None = None
    query: str = ""
    live: str | None = None
    health: str | None = None


def framed(page: Page, token: str, health: str) -> Html:
    body = h.body(
        h.a("Skip to the content", href="#content", class_="skip"),
        _top(page, health),
        h.main(page.body, id="content", tabindex="-1"),
        h.div(id="toast", role="status", aria_live="polite"),
        _help(),
        data_live=page.live,
    )
    head = h.head(
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.meta(name="color-scheme", content="light dark"),
        h.meta(name="token", content=token),
        h.title(f"{oneline.visible(page.title)} · dagentd"),
        h.link(rel="icon", href="icon.svg", type="image/svg+xml"),
        h.link(rel="stylesheet", href="page.css"),
        h.script(src="page.js", defer=True),
    )
    return Html(f'<!doctype html><html lang="en">{head.text}{body.text}</html>')


def _top(page: Page, health: str) -> Html:
    links = [
        h.a(
            title,
            dot(health) if path == "health" else None,
            href=to(path),
            aria_current="page" if path == page.at else None,
        )
        for path, title in _PAGES
    ]
    find = h.form(
        h.label("Search", for_="q", class_="unseen"),
        h.input(
            id="q",
            name="q",
            type="search",
            value=page.query,
            placeholder="Search everything that was said",
            autocomplete="off",
            enterkeyhint="search",
        ),
        h.kbd("/", aria_hidden="true"),
        action="search",
        method="get",
        role="search",
    )
    return h.header(h.a("dagentd", href="./", class_="brand"), find, h.nav(links, aria_label="Pages"), class_="top")


def _help() -> Html:
    rows = [fragment(h.dt([h.kbd(key) for key in keys.split()]), h.dd(told)) for keys, told in _KEYS]
    close = h.button("Close", type="button", data_close=True)
    return h.dialog(h.h2("Keys"), h.dl(rows), close, id="help", aria_label="Keys")


def dot(health: str) -> Html:
    """A colour, and the word for who does not see it."""
    return h.span(h.span(health, class_="unseen"), class_=f"dot {_word(health)}", title=health)


def bar(share: float, label: str) -> Html:
    """By the levels at which `session:budget` warns: 75 and 90 %."""
    level = "high" if share >= 0.9 else "near" if share >= 0.75 else "low"
    filled = h.rect(width=round(100 * min(max(share, 0.0), 1.0), 1), height=6, class_=level)
    back = h.rect(width=100, height=6, class_="back")
    return h.svg(
        back, filled, viewBox="0 0 100 6", preserveAspectRatio="none", class_="bar", role="img", aria_label=label
    )


def when(moment: Any) -> Html | None:
    """The page keeps it up to date by itself."""
    if times.parse(str(moment or "")) is None:
        return None
    return h.time(figures.ago(str(moment)), datetime=str(moment), title=str(moment))


def exactly(moment: Any) -> Html | None:
    at = times.parse(str(moment or ""))
    if at is None:
        return None
    return h.time(at.astimezone().strftime("%Y-%m-%d %H:%M"), datetime=str(moment), data_exact=True)


def command(text: str, label: str = "Copy") -> Html:
    """To be typed into a shell."""
    return h.span(
        h.code(oneline.visible(text), class_="typed"),
        h.button(label, type="button", class_="copy", data_copy=text, aria_label=f"Copy {oneline.visible(text)}"),
        class_="command",
    )


def empty(told: str, *commands: str) -> Html:
    return h.div(h.p(told), [h.p(command(each)) for each in commands], class_="empty")


def badge(text: object, kind: str = "") -> Html:
    return h.span(name(text), class_=f"badge {_word(kind)}".strip())


def hint(text: str) -> Child:
    """Most hints are the command to type."""
    return command(text) if text.startswith("dagentd ") and "`" not in text else h.span(text, class_="hint")


def act(label: str, verb: str, given: Mapping[str, Any], *, kind: str = "", submits: bool = False) -> Html:
    """A button that asks for one of the verbs that can be undone; one that `submits` gives what its form says too."""
    told = json.dumps({key: value for key, value in given.items() if value is not None})
    way = "submit" if submits else "button"
    return h.button(label, type=way, class_=f"act {kind}".strip(), data_verb=verb, data_given=told)


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    return h.dl([h.div(h.dt(key), h.dd(value)) for key, value in pairs if value not in (None, "")], class_="facts")


def _word(text: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in text.lower())
