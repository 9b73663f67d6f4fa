"""The overview: every project, its worktrees, and the sessions in each."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from dagentd.model import figures
from dagentd.web.html import Child, Html, fragment, h, name, to
from dagentd.web.link import Link
from dagentd.web.pages.remembered import remembered_link
from dagentd.web.parts import Page, act, badge, bar, command, empty, when

Raw = dict[str, Any]
_NAMED = 8  # worktrees without a session
_ELSEWHERE = ""  # the project of conversations in no project of ours


def overview(link: Link, gone: bool) -> Page:
    status = link.call("daemon.status")
    sessions = link.call("session.list", status="gone" if gone else None)["sessions"]
    title = "Sessions whose worktree is gone" if gone else "Overview"
    body = h.div(_head(status, sessions, gone), _projects(status, sessions, gone), id="live")
    return Page(title, body, "", live="*", health=str(status["health"]))


def _head(status: Raw, sessions: list[Raw], gone: bool) -> Html:
    problems, spend = len(status.get("problems", ())), status.get("spend", {})
    spent = f"{figures.tokens(int(spend.get('tokens', 0)))} and ${float(spend.get('cost', 0)):.2f} today"
    told: list[Child] = [
        h.h1("Worktree gone" if gone else "Overview"),
        h.span(figures.counted(len(sessions), "session"), class_="note"),
        h.span(f"up {figures.duration(status.get('uptime', 0))}", class_="note"),
        h.a(spent, href="usage", class_="note") if spend.get("calls") else None,
        h.a(figures.counted(problems, "problem"), href="health", class_="alert") if problems else None,
        h.a("All that are here", href="./") if gone else h.a("Worktree gone", href=to("", show="gone")),
    ]
    return h.div(told, class_="head")


def _projects(status: Raw, sessions: list[Raw], gone: bool) -> Html:
    served = {str(each["root"]): each for each in status.get("projects", ())}
    roots = dict.fromkeys([*([] if gone else served), *(each.get("project") or _ELSEWHERE for each in sessions)])
    if not roots and gone:
        told = "No session has lost its worktree. When `git worktree remove` takes one away, its sessions are here."
        return empty(told)
    if not roots:
        return empty("No project is served yet. In a git repository of yours, type:", "dagentd init")
    return fragment(
        _project(
            root, [each for each in sessions if (each.get("project") or _ELSEWHERE) == root], served.get(root, {}), gone
        )
        for root in sorted(roots, key=lambda root: (not root, root))
    )


def _project(root: str, sessions: list[Raw], served: Raw, gone: bool) -> Html:
    paused = served.get("paused")
    head = [
        h.h2(name(os.path.basename(root) or root) if root else "Elsewhere", title=root or None),
        h.span(name(root) if root else "in no registered project", class_="note path"),
        badge("paused", "near") if paused else None,
        remembered_link(root) if root else None,
        act(
            "Resume" if paused else "Pause",
            "resume-project" if paused else "pause-project",
            {"project": root},
            kind="quiet",
        )
        if root
        else None,
    ]
    listed: list[Child] = [_worktree(place, list(rows)) for place, rows in _by_worktree(sessions)]
    known = {os.path.basename(_place(each)) for each in sessions}
    bare = [] if gone else [each for each in served.get("worktrees", ()) if each not in known]
    begin = f"cd {shlex.quote(root)} && dagentd new {shlex.quote(bare[0]) if bare else 'FEATURE'}"
    if not sessions:
        listed = [empty("No session in it yet. An agent's app makes one, or:", begin)]
    elif bare:
        listed += [h.div(h.span(_without(bare), class_="note"), command(begin), class_="bare")]
    return h.section(
        h.div(head, class_="head"), listed, class_="project", aria_label=os.path.basename(root) or "Elsewhere"
    )


def _without(worktrees: list[str]) -> Html:
    named = [fragment(", " if at else "", name(each)) for at, each in enumerate(worktrees[:_NAMED])]
    more = f" and {len(worktrees) - _NAMED} more" if len(worktrees) > _NAMED else ""
    return fragment("No session yet in ", named, more, ".")


def _by_worktree(sessions: list[Raw]) -> Iterable[tuple[str, Iterator[Raw]]]:
    """The one in which something happened last comes first, and in it the last session."""
    latest: dict[str, str] = {}
    for each in sessions:
        latest[_place(each)] = max(latest.get(_place(each), ""), _active(each))
    ordered = sorted(sessions, key=_active, reverse=True)
    ordered.sort(key=lambda each: (latest[_place(each)], _place(each)), reverse=True)
    return groupby(ordered, key=_place)


def _place(session: Raw) -> str:
    return str(session.get("worktree") or "")


def _active(session: Raw) -> str:
    return str(session.get("lastActiveAt") or session.get("updatedAt") or "")


def _worktree(place: str, rows: list[Raw]) -> Html:
    features = dict.fromkeys(each["featureId"] for each in rows if each.get("featureId"))
    linked = [
        h.a(name(feature), href=to("feature", id=feature, project=rows[0].get("project"), worktree=place or None))
        for feature in features
    ]
    head = h.h3(name(os.path.basename(place) or "Its worktree is gone"), title=place or None)
    about = h.span("feature ", [fragment(", " if at else "", each) for at, each in enumerate(linked)], class_="note")
    return h.div(
        h.div(head, about if linked else None, class_="tree"), h.ul([row(each) for each in rows], class_="rows")
    )


def row(session: Raw) -> Html:
    """One session in a list."""
    budget = session.get("budget") or {}
    share = budget.get("share")
    filled = figures.budget(budget) if share is not None else ""
    told = f"{filled} of its budget"
    link = h.a(name(session.get("title") or session["id"]), href=session_link(session), class_="row-link")
    return h.li(
        badge(session.get("agent") or session.get("agentType") or "?", "agent"),
        h.span(link, h.span(name(session["id"]), class_="note") if session.get("title") else None, class_="row-name"),
        h.span(_flags(session), class_="row-flags"),
        h.span(bar(share, told), h.span(filled, class_="note"), class_="row-share", title=told)
        if share is not None
        else h.span(class_="row-share"),
        h.span(_messages(session), class_="note row-count"),
        h.span(when(_active(session)), class_="note row-when"),
        class_="row",
        data_row=True,
    )


def _messages(session: Raw) -> str | None:
    """In chat, as everywhere; of a conversation that is followed, all."""
    total = session.get("total") or session.get("stats", {}).get("totalMessages")
    if not isinstance(total, int):
        return None
    here = session.get("messages")
    if session.get("type") == "followed" or here in (None, total):
        return figures.counted(total, "message")
    return f"{figures.in_chat(here, total)} messages"


def _flags(session: Raw) -> list[Html]:
    found = [badge("compacting", "near")] if session.get("compacting") else []
    found += [badge("paused", "near")] if session.get("paused") else []
    found += [badge(session["status"])] if session.get("status") not in (None, "active") else []
    found += [badge(session["taskState"])] if session.get("taskState") else []
    found += [h.span(badge("cannot be read", "high"), title=str(session["error"]))] if session.get("error") else []
    return found


def session_link(session: Raw, page: str = "session", **more: Any) -> str:
    where = {"id": session["id"], "project": session.get("project"), "worktree": session.get("worktree")}
    return to(page, "target" if "at" in more or "time" in more else "", **where, **more)


def away(told: str, hint: str) -> Page:
    """The daemon does not answer."""
    start = hint if hint.startswith("dagentd ") else "dagentd start"
    body = h.div(
        h.h1("The daemon does not answer"),
        h.p(told),
        h.p(command(start)),
        h.p("This page goes on by itself as soon as it does.", class_="note"),
        class_="empty",
    )
    return Page("Away", body, live="*")
