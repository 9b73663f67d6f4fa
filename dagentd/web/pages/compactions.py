"""The time line of a session's compactions: when, what left, what came of it, and the way back."""

from __future__ import annotations

from typing import Any

from dagentd.model import figures
from dagentd.model.compaction.items import TITLES
from dagentd.web.html import Html, fragment, h, name
from dagentd.web.link import Link
from dagentd.web.pages.overview import session_link
from dagentd.web.pages.session import where, whole
from dagentd.web.parts import Page, act, badge, empty, exactly

Raw = dict[str, Any]
_KINDS = (("added", "+"), ("superseded", "~"), ("moved", "→"), ("resolved", "−"))


def compactions_page(link: Link, asked: Raw) -> Page:
    session = link.call("session.get", **where(asked))
    return whole(link, session, "compactions", _time_line(link, session, asked))


def _time_line(link: Link, session: Raw, asked: Raw) -> Html:
    if session.get("type") == "followed":
        count = session.get("compactions") or 0
        return empty(f"Its agent compacted it {count} times by itself; all that was said is in the conversation.")
    if not link.has("session.getCompactions"):
        return empty("This daemon is older than the page and does not tell. Restart it:", "dagentd restart")
    found = link.call("session.getCompactions", **where(asked))["compactions"]
    if not found:
        told = "It was not compacted yet. That happens by itself when its budget is nearly used up; or now:"
        return empty(told, f"dagentd compact {session['id']}")
    last = next((each for each in reversed(found) if not each["undone"]), None)
    return h.ol([_entry(session, each, each is last) for each in reversed(found)], class_="time-line")


def _entry(session: Raw, move: Raw, last: bool) -> Html:
    given = {**where(session), "sessionId": session["id"]}
    by = " ".join(str(each) for each in (move.get("backend"), move.get("model")) if each)
    ids = move["messageIds"]
    head = h.div(
        h.h2(exactly(move["at"])),
        h.span(f"{figures.counted(move['messages'], 'message')} left the chat", class_="note"),
        h.span(name(by), class_="note") if by else None,
        h.span(f"checkpoint {move['checkpointVersion']}", class_="note"),
        badge("undone", "near") if move["undone"] else None,
        h.a("Where it happened", href=session_link(session, at=ids[-1])) if ids else None,
        act("Undo", "undo", given) if last else None,
        class_="head",
    )
    changed = h.details(h.summary("What changed in the checkpoint"), changes(move), open=last)
    return h.li(head, changed, class_="undone" if move["undone"] else None, data_row=True)


def changes(found: Raw) -> Html:
    """A diff: what came, what was rewritten, what moved, what left."""
    listed = [_change(kind, sign, each) for kind, sign in _KINDS for each in found.get(kind, ())]
    if not listed:
        return h.p("The checkpoint stayed as it was.", class_="note")
    return h.ul(listed, class_="diff")


def _change(kind: str, sign: str, item: Raw) -> Html:
    before = item.get("before") or {}
    was = fragment(h.del_(name(before["text"])), " ") if kind == "superseded" and before.get("text") else None
    place = TITLES.get(item["list"], item["list"])
    if kind == "moved":
        place = f"{TITLES.get(before.get('list', ''), '?')} → {place}"
    text = h.del_(name(item["text"])) if kind == "resolved" else name(item["text"])
    return h.li(h.span(sign, class_="sign", title=kind), h.span(place, class_="note"), h.span(was, text), class_=kind)
