"""Search over everything that was ever said."""

from __future__ import annotations

import re
from typing import Any

from dagentd.model import oneline
from dagentd.web.html import Child, Html, h, name
from dagentd.web.link import Link
from dagentd.web.pages.overview import session_link
from dagentd.web.parts import Page, badge, command, empty, exactly

Raw = dict[str, Any]
_LIMIT = 100
_MATCH = re.compile("«([^»]*)»")


def search_page(link: Link, query: str) -> Page:
    title = f"Search: {query}" if query.strip() else "Search"
    if not query.strip():
        told = "Type words that were said: a file, an error, a decision. Words in quotes stand side by side."
        return Page(title, h.div(h.h1("Search"), empty(told)), "search")
    found = link.call("session.search", query=query, limit=_LIMIT)
    known = {each["id"]: each for each in link.call("session.list")["sessions"]}
    hits = found["hits"]
    shown: Child = h.ol([_hit(each, known) for each in hits], class_="hits")
    if not hits:
        shown = empty(
            "Nobody said that. Try fewer words, or the beginning of one. In a terminal:", "dagentd search WORDS --all"
        )
    more = f" (the best {_LIMIT})" if len(hits) == _LIMIT else ""
    head = h.div(
        h.h1(f"{len(hits)} found{more}"), h.span("for ", h.q(oneline.visible(query)), class_="note"), class_="head"
    )
    unread = [
        h.p(
            name(each["message"]),
            " ",
            command(each["hint"]) if each.get("hint", "").startswith("dagentd ") else None,
            class_="alert",
        )
        for each in found.get("unread", ())
    ]
    return Page(title, h.div(head, unread, shown), "search", query)


def _hit(hit: Raw, known: dict[str, Raw]) -> Html:
    place = {"project": hit.get("project"), "worktree": hit.get("worktree")}
    session = known.get(hit["sessionId"], {}) | {key: value for key, value in place.items() if value}
    session = {**session, "id": hit["sessionId"]}
    return h.li(
        h.div(
            h.a(
                name(session.get("title") or hit["sessionId"]),
                href=session_link(session, at=hit["messageId"]),
                class_="row-link",
            ),
            badge(session.get("agent") or session.get("agentType") or "?", "agent"),
            h.span(name(hit["role"]), class_="note"),
            h.span(exactly(hit.get("timestamp")), class_="note row-when"),
            class_="hit-head",
        ),
        h.p(_marked(hit["snippet"])),
        data_row=True,
    )


def _marked(snippet: str) -> list[Child]:
    """Matches are in guillemets; those that somebody wrote are marked too, which does no harm."""
    parts = _MATCH.split(snippet)
    return [h.mark(oneline.visible(part)) if at % 2 else oneline.visible(part) for at, part in enumerate(parts)]
