"""A session: what it is, what can be done with it, and what was said in it."""

from __future__ import annotations

import os
from typing import Any

from dagentd.errors import DagentdError
from dagentd.model import figures, times
from dagentd.web.history import Histories, Slice
from dagentd.web.html import Child, Html, h, name, to
from dagentd.web.link import Link
from dagentd.web.pages.messages import conversation_part, message
from dagentd.web.pages.overview import session_link
from dagentd.web.parts import Page, act, badge, bar, command, empty, exactly, facts, hint, when

Raw = dict[str, Any]
_TABS = (("session", "Conversation"), ("checkpoint", "Checkpoint"), ("compactions", "Compactions"))


def where(asked: Raw) -> Raw:
    """The session that an address names."""
    named = {"sessionId": asked.get("id", ""), "project": asked.get("project"), "worktree": asked.get("worktree")}
    return {key: value for key, value in named.items() if value is not None}


def session_page(link: Link, histories: Histories, asked: Raw) -> Page:
    session = link.call("session.get", **where(asked))
    found = _asked_for(histories, asked)
    if found.messages:
        shown: Child = conversation_part(session, found, pinned(session), compactions_by_message(link, session))
    else:
        shown = empty("Nothing was said in it yet. Add a message:", f"dagentd add {session['id']} 'Hello'")
    tail = not found.later
    log = h.div(
        shown, class_="conversation", id="conversation", data_tail=tail, role="region", aria_label="Conversation"
    )
    return whole(link, session, "session", log)


def whole(link: Link, session: Raw, tab: str, body: Child) -> Page:
    """Any of the tabs of a session."""
    title = str(session.get("title") or session["id"])
    return Page(title, h.div(_head(session, tab), body, class_=f"session {tab}"), live=str(session["id"]))


def messages_part(link: Link, histories: Histories, asked: Raw) -> Html:
    """More of a conversation, for a page that is scrolled or live."""
    session = link.call("session.get", **where(asked))
    found = _asked_for(histories, asked)
    return conversation_part(session, found, pinned(session), compactions_by_message(link, session))


def message_page(link: Link, histories: Histories, asked: Raw) -> Page:
    """One message, however long."""
    session = link.call("session.get", **where(asked))
    wanted = asked.get("message", "")
    found = [each for each in histories.around(where(asked), wanted).messages if each["id"] == wanted]
    return whole(link, session, "", [message(session, each, whole=True) for each in found])


def _asked_for(histories: Histories, asked: Raw) -> Slice:
    if asked.get("before"):
        return histories.before(where(asked), asked["before"])
    if asked.get("after"):
        return histories.after(where(asked), asked["after"])
    if asked.get("at"):
        return histories.around(where(asked), asked["at"])
    if times.parse(asked.get("time")) is not None:
        return histories.at(where(asked), asked["time"])
    return histories.end(where(asked))


def pinned(session: Raw) -> set[str]:
    held = session.get("pinnedMessages") or session.get("pinned") or []
    return {each for each in held if isinstance(each, str)} if isinstance(held, list) else set()


def compactions_by_message(link: Link, session: Raw) -> dict[str, Raw]:
    """By the last message that left, those that hold."""
    if not link.has("session.getCompactions") or session.get("type") == "followed":
        return {}
    try:
        found = link.call("session.getCompactions", **where(session))["compactions"]
    except DagentdError:  # it is about the dividers alone: the conversation is shown without
        return {}
    return {each["messageIds"][-1]: each for each in found if each["messageIds"] and not each["undone"]}


def _head(session: Raw, tab: str) -> Html:
    title = session.get("title") or session["id"]
    share = session.get("budget", {}).get("share")
    size = (
        [bar(share, f"{figures.budget(session['budget'])} of its budget"), " ", _size(session)]
        if share is not None
        else None
    )
    place, feature = session.get("worktree"), session.get("featureId")
    there = {"id": feature, "project": session.get("project"), "worktree": place}
    known = facts(
        (
            ("Session", name(session["id"]) if session.get("title") else None),
            ("Project", name(session["project"]) if session.get("project") else None),
            ("Worktree", name(os.path.basename(place)) if place else "gone"),
            ("Branch", name(session["branch"]) if session.get("branch") else None),
            ("Feature", h.a(name(feature), href=to("feature", **there)) if feature else None),
            ("Task", name(session["taskId"]) if session.get("taskId") else None),
            ("Model", name(session["model"]) if session.get("model") else None),
            ("Budget", size),
            ("Messages", _counted(session)),
            ("Begun", exactly(session.get("createdAt") or session.get("startedAt"))),
            ("Active", when(session.get("lastActiveAt") or session.get("updatedAt"))),
        )
    )
    flags = [badge(session[key], "near") for key in ("status",) if session.get(key) not in (None, "active")]
    flags += [badge(word, "near") for word in ("paused", "compacting", "gone") if session.get(word)]
    wrong = [
        h.p(each["message"], " ", hint(each.get("hint", "")), class_="alert") for each in session.get("problems", ())
    ]
    agent = badge(session.get("agent") or session.get("agentType") or "?", "agent")
    resume = command(str(session.get("resume") or f"dagentd show {session['id']}"))  # an agent's own, if it has one
    return h.div(
        h.div(agent, h.h1(name(title)), flags, class_="head"),
        wrong,
        known,
        h.div(resume, _actions(session), class_="bar-of-actions"),
        h.div(_tabs(session, tab), _to_time(session) if tab == "session" else None, class_="tabs"),
        class_="session-head",
        id="live",
    )


def _size(session: Raw) -> str:
    budget = session["budget"]
    about = "about " if budget.get("estimated") else ""
    return f"{about}{figures.tokens(int(session.get('tokens') or 0))} of {figures.tokens(int(budget['limit']))}"


def _counted(session: Raw) -> str:
    total = session.get("total") or session.get("stats", {}).get("totalMessages")
    here = session.get("messages")
    return f"{here} in chat, {total} in all" if isinstance(here, int) and total else str(total or here or "none")


def _actions(session: Raw) -> Html | None:
    given = where(session | {"id": session["id"]})
    if session.get("gone"):
        return None
    archived = session.get("status") == "archived"
    put_away = act("Make active", "unarchive", given) if archived else act("Archive", "archive", given)
    if session.get("type") == "followed":
        return h.span(put_away)
    paused, compacted = session.get("paused"), session.get("stats", {}).get("totalCompactions")
    return h.span(
        act("Compact…", "preview", given),
        act("Undo compaction", "undo", given) if compacted else None,
        act("Resume", "resume", given) if paused else act("Pause", "pause", given),
        put_away,
        class_="acts",
    )


def _tabs(session: Raw, tab: str) -> Html:
    listed = [
        h.a(title, href=session_link(session, path), aria_current="page" if path == tab else None)
        for path, title in _TABS
    ]
    return h.nav(listed, aria_label="Parts of the session")


def _to_time(session: Raw) -> Html:
    given = ((key, session.get(key)) for key in ("id", "project", "worktree"))
    kept = [h.input(type="hidden", name=key, value=value) for key, value in given if value]
    moment = h.input(type="datetime-local", id="time", name="time", data_zone=True)
    first = h.a("Beginning", href=session_link(session, time="0001-01-01T00:00:00Z"))
    parts = (kept, h.label("Go to", for_="time"), moment, h.button("Go", type="submit"), first)
    return h.form(*parts, h.a("End", href=session_link(session)), action="session", method="get", class_="to-time")
