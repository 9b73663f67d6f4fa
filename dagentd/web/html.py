"""HTML that is escaped by construction: what is no element is text, and no address can be a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlencode

from dagentd.model import oneline

_VOID = {"br", "hr", "input", "link", "meta"}
# Elsewhere, or one of our own pages, which are all on one level.
_ADDRESS = re.compile(r"https?://|mailto:|(?:\./|[a-z]*(?:\.[a-z]+)?)(?:\Z|[?#])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Html:
    """Text in which every character that steers a browser is ours. Only this module and `markdown` make it."""

    text: str


Child = Html | str | int | float | None | Iterable["Child"]


def join(children: Child) -> str:
    if isinstance(children, Html):
        return children.text
    if children is None:
        return ""
    if isinstance(children, str | int | float):
        return escape(str(children))
    return "".join(map(join, children))


def fragment(*children: Child) -> Html:
    return Html(join(children))


def tag(name: str, children: Iterable[Child], attributes: dict[str, Any]) -> Html:
    """An attribute that is None or false is left out. `class_` is `class`, `aria_label` is `aria-label`."""
    shown = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    name = name.rstrip("_")  # `del_` is `del`
    return Html(f"<{name}{shown}>" if name in _VOID else f"<{name}{shown}>{join(children)}</{name}>")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name.startswith("on") or name == "style":
        raise ValueError(f"{name} is for a script or a stylesheet")
    if name in ("href", "src", "action") and not _ADDRESS.match(str(value)):
        raise ValueError(f"{name} with an address that is not allowed")
    return f' {name}="{escape(str(value))}"'


class _Elements:
    """`h.p("text", class_="note")`: an element by its name."""

    def __getattr__(self, name: str) -> Callable[..., Html]:
        return lambda *children, **attributes: tag(name, children, attributes)


h = _Elements()


def to(page: str, anchor: str = "", /, **query: Any) -> str:
    """The address of one of our pages, seen from another; what is None is left out."""
    asked = urlencode({key: value for key, value in query.items() if value is not None}, errors="surrogatepass")
    return f"{page or './'}{'?' if asked else ''}{asked}{'#' if anchor else ''}{anchor}"


def name(text: object) -> Html:
    """A name that somebody else gave, on one line: nothing in it turns the direction of what stands around it."""
    return h.bdi(oneline.visible(str(text)))
