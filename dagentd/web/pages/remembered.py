"""The page of a project's memory: the user's decisions and agents' notes, and the form that adds one."""

from __future__ import annotations

import os
from typing import Any

from dagentd.web.html import Html, h, name, to
from dagentd.web.link import Link
from dagentd.web.parts import Page, act, badge, empty, when

Raw = dict[str, Any]
_LONGEST = 1000  # characters, as the store takes them


def remembered_page(link: Link, asked: Raw) -> Page:
    project, feature = asked.get("project", ""), asked.get("feature")
    entries = link.call("memory.list", project=project)["remembered"]
    head = h.div(h.h1("Remembered"), h.a(name(os.path.basename(project)), href="./"), class_="head")
    told = "Every agent that works on it is told of these: your decisions as such, what agents noted as notes."
    listed = h.ul([_entry(project, each) for each in reversed(entries)], class_="items remembered")
    nothing = empty("Nothing is remembered yet. Write down a decision above, or in the repository:",
                    "dagentd remember 'Never store passwords.'")  # fmt: skip
    shown = h.div(listed if entries else nothing, id="live")
    return Page("Remembered", h.div(head, h.p(told, class_="note"), _form(project, feature), shown), live="*")


def remembered_link(project: str, feature: str | None = None) -> Html:
    return h.a("Remembered", href=to("remembered", project=project, feature=feature))


def _form(project: str, feature: str | None) -> Html:
    """Outside of what is live: nobody's typing is replaced."""
    whose = "the feature" if feature else "the project"
    field = h.input(type="text", id="decision", name="text", maxlength=_LONGEST, required=True, autocomplete="off")
    label = h.label("A decision for ", whose, " ", name(feature or os.path.basename(project)), for_="decision")
    given = {"project": project, "featureId": feature}
    return h.form(label, field, act("Remember", "remember", given, submits=True), class_="deciding")


def _entry(project: str, entry: Raw) -> Html:
    decided, given = entry["by"] == "user", {"project": project, "id": entry["id"]}
    place = entry.get("featureId") if decided else None
    where = place or os.path.basename(entry.get("worktree", "")) or "the project"
    confirm = None if decided else act("Decide so", "confirm", {"project": project, "confirms": entry["id"]})
    return h.li(
        h.p(badge("decided" if decided else "noted", "low" if decided else "near"), " ", name(entry["text"])),
        h.p("for ", name(where), " · ", when(entry["at"]), " ", confirm,
            act("Withdraw", "withdraw", given, kind="quiet"), class_="note"),
        data_row=True,
    )  # fmt: skip
