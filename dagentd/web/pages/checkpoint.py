"""The checkpoint of a session: each item with the messages that it rests on."""

from __future__ import annotations

from typing import Any

from dagentd.model import oneline
from dagentd.model.compaction.items import DECISIONS_FIRST, Item, items_of
from dagentd.model.prompt_text import line
from dagentd.web.html import Child, Html, h, name
from dagentd.web.link import Link
from dagentd.web.pages.overview import session_link
from dagentd.web.pages.session import where, whole
from dagentd.web.parts import Page, act, badge, empty, exactly

Raw = dict[str, Any]


def checkpoint_page(link: Link, asked: Raw) -> Page:
    session = link.call("session.get", **where(asked))
    found = link.call("session.getCheckpoint", **where(asked))
    return whole(link, session, "checkpoint", _checkpoint(session, found or {}))


def _checkpoint(session: Raw, checkpoint: Raw) -> Html:
    items, summary = items_of(checkpoint), checkpoint.get("summary")
    told: Raw = summary if isinstance(summary, dict) else {}
    if not items and not told.get("goal"):
        return empty(
            "There is nothing in it yet: no message has left the chat. To see what would come of them:",
            f"dagentd compact {session['id']} --preview",
        )
    listed = [
        _list(session, title, [each for each in items if each.list == key]) for key, title in DECISIONS_FIRST.items()
    ]
    made = [f"Version {checkpoint.get('version', '?')}", checkpoint.get("backend"), checkpoint.get("model")]
    return h.div(
        h.p(
            " · ".join(oneline.visible(str(each)) for each in made if each),
            " · ",
            exactly(checkpoint.get("updatedAt")),
            class_="note",
        ),
        [
            h.section(h.h2(title), h.p(oneline.visible(line(told[key]))))
            for key, title in (("goal", "Goal"), ("next", "Next"))
            if told.get(key)
        ],
        listed,
        class_="checkpoint-lists",
    )


def _list(session: Raw, title: str, items: list[Item]) -> Html | None:
    if not items:
        return None
    return h.section(
        h.h2(title, " ", h.span(len(items), class_="note")),
        h.ul([_item(session, each) for each in items], class_="items"),
    )


def _item(session: Raw, item: Item) -> Html:
    given = {**where(session), "sessionId": session["id"], "itemId": item.id, "pinned": not item.pinned}
    return h.li(
        h.p(name(line(item.entry)), " ", badge("pinned", "near") if item.pinned else None),
        h.blockquote(name(item.quote)) if item.quote else None,
        h.p(_sources(session, item), act("Unpin" if item.pinned else "Pin", "pin", given, kind="quiet"), class_="note"),
        data_row=True,
    )


def _sources(session: Raw, item: Item) -> Child:
    if not item.sources:
        return h.span("rests on no message")
    linked = [h.a(str(at), href=session_link(session, at=each), title=each) for at, each in enumerate(item.sources, 1)]
    return h.span("rests on message ", [[", " if at else "", each] for at, each in enumerate(linked)])
