"""A feature: the graph of its tasks drawn, each in the colour of its state, with the sessions of each."""

from __future__ import annotations

from typing import Any

from dagentd.model import ids
from dagentd.model.oneline import visible
from dagentd.web.dag import Box, Task, draw
from dagentd.web.html import Child, Html, fragment, h, name, to
from dagentd.web.link import Link
from dagentd.web.pages.overview import row
from dagentd.web.pages.remembered import remembered_link
from dagentd.web.parts import Page, badge, command, empty, facts

Raw = dict[str, Any]
_TALL, _WIDE = 46, 190
_LETTERS = 24  # of a title, in a box


def feature_page(link: Link, asked: Raw) -> Page:
    place = {"project": asked.get("project"), "worktree": asked.get("worktree")}
    feature = link.call("feature.get", featureId=asked.get("id", ""), **place)
    sessions = link.call("session.list", project=feature["project"], featureId=feature["id"])["sessions"]
    tasks = feature.get("tasks") or []
    title = str(feature.get("name") or feature["id"])
    head = h.div(h.h1(name(title)), badge(feature["status"]) if feature.get("status") else None,
                 remembered_link(feature["project"], feature["id"]), class_="head")  # fmt: skip
    known = facts(
        (
            ("Feature", name(feature["id"])),
            ("Project", h.a(name(feature["project"]), href=to(""))),
            ("Branch", name(feature["branchName"]) if feature.get("branchName") else None),
            ("Tasks", feature.get("dagSummary")),
        )
    )
    wrong = h.p(name(feature["error"]), class_="alert") if feature.get("error") else None
    about = h.p(name(feature["description"])) if feature.get("description") else None
    body = h.div(
        head, wrong, known, about, _graph(tasks), _sessions(feature["id"], tasks, sessions), id="live", class_="feature"
    )
    return Page(title, body, live="*")


def _graph(tasks: list[Raw]) -> Html:
    if not tasks:
        return empty("It has no graph of tasks. A planning agent writes one as dag.json beside feature.json.")
    drawn = draw(
        [Task(each["id"], tuple(each["dependencies"]), each.get("x"), each.get("y")) for each in tasks], _WIDE, _TALL
    )
    known = {each["id"]: each for each in tasks}
    edges = [h.path(d=each, class_="edge") for each in drawn.edges]
    boxes = [_box(known[each.id], each) for each in drawn.boxes]
    key = h.p(
        [
            h.span(stage, class_=f"key stage-{stage.replace(' ', '-')}")
            for stage in ("complete", "in progress", "pending")
        ],
        class_="note keys",
    )
    picture = h.svg(
        edges,
        boxes,
        viewBox=f"0 0 {drawn.wide:.0f} {drawn.tall:.0f}",
        width=round(drawn.wide),
        height=round(drawn.tall),
        class_="dag",
        role="group",
        aria_label="Tasks and what they depend on",
    )
    return h.figure(h.div(picture, class_="wide"), key)


def _box(task: Raw, box: Box) -> Html:
    title = str(task.get("title") or task["id"])
    short = title if len(title) <= _LETTERS else f"{title[: _LETTERS - 1]}…"
    shape = h.rect(x=box.x, y=box.y, width=_WIDE, height=_TALL, rx=6)
    lines = ((visible(short), 20, "box-title"), (visible(str(task.get("status") or "pending")), 36, "box-state"))
    told = [h.text(line, x=box.x + 12, y=box.y + at, class_=kind) for line, at, kind in lines]
    kind = f"box stage-{str(task['stage']).replace(' ', '-')}"
    return h.a(
        h.title(f"{visible(title)}: {visible(str(task.get('status') or 'pending'))}"),
        shape,
        told,
        href=f"#task-{box.number}",
        class_=kind,
    )


def _sessions(feature: str, tasks: list[Raw], sessions: list[Raw]) -> Html:
    """Those of the feature itself, then those of each task."""
    known = {each["id"] for each in tasks}
    own = [each for each in sessions if each.get("taskId") not in known]
    parts: list[Child] = [_listed("Sessions of the feature", own, f"dagentd new {feature}")] if own or not tasks else []
    for number, task in enumerate(tasks):
        of_task = [each for each in sessions if each.get("taskId") == task["id"]]
        begin = f"dagentd new {feature} --role dev --task {task['id']}"
        parts.append(_listed(task.get("title") or task["id"], of_task, begin, number, task))
    return fragment(parts)


def _listed(title: str, sessions: list[Raw], begin: str, number: int | None = None, task: Raw | None = None) -> Html:
    state = badge(task.get("status") or "pending", f"stage-{task['stage']}") if task else None
    needs = (
        h.span("after ", ", ".join(visible(each) for each in task["dependencies"]), class_="note")
        if (task and task["dependencies"])
        else None
    )
    rows = h.ul([row(each) for each in sessions], class_="rows") if sessions else _nobody(begin, task)
    return h.section(
        h.div(h.h2(name(title)), state, needs, class_="head"), rows, id=f"task-{number}" if number is not None else None
    )


def _nobody(begin: str, task: Raw | None) -> Html:
    """Of what is done nobody begins one any more, and of a task with an id that we do not take nobody can."""
    over = task is not None and (task["stage"] == "complete" or not ids.is_safe(task["id"]))
    return h.p("No session." if over else "No session yet. ", None if over else command(begin), class_="note")
