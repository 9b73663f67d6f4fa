"""How the daemon is, and what the doctor says: each problem with its cause and the remedy to copy."""

from __future__ import annotations

from typing import Any

from dagentd.doctor.examination import examine
from dagentd.doctor.kinds import kind_of
from dagentd.model import figures
from dagentd.model.problem import Problem
from dagentd.web.html import Child, Html, h, name
from dagentd.web.link import Link
from dagentd.web.parts import Page, badge, command, dot, empty, facts, hint

Raw = dict[str, Any]
_ORDER = ("degraded", "problem", "note")
_COLOURS = {"degraded": "high", "problem": "near", "note": ""}


def health_page(link: Link) -> Page:
    """The doctor looks at what is on disk too; it writes nothing."""
    status = link.call("daemon.status")
    _, found = examine()
    found.sort(key=lambda each: _ORDER.index(kind_of(each.id).level))
    shown: Child = h.ul([_problem(each) for each in found], class_="problems")
    if not found:
        shown = empty("The doctor found nothing wrong.")
    fixable = any(kind_of(each.id).mend for each in found)
    fix = h.p("What is marked with * is mended by ", command("dagentd doctor --fix")) if fixable else None
    head = h.div(h.h1("Health"), dot(status["health"]), h.span(status["health"], class_="note"), class_="head")
    return Page(
        "Health",
        h.div(head, _facts(status), h.h2("What the doctor says"), fix, shown, id="live"),
        "health",
        live="daemon",
    )


def _facts(status: Raw) -> Html:
    queues, memory, spend = status["queues"], status.get("memory") or {}, status["spend"]
    return facts(
        (
            ("Version", name(status["version"])),
            ("Process", status["pid"]),
            ("Up", figures.duration(status["uptime"], 2)),
            ("Memory", figures.size(memory["resident"]) if memory else None),
            ("Jobs", ", ".join(f"{len(queues[key])} {key}" for key in ("running", "waiting", "failing"))),
            ("Watching", f"{status['watches']['count']} folders ({status['watches']['mode']})"),
            ("Model calls, last day", f"{spend['calls']}, {figures.tokens(spend['tokens'])}, ${spend['cost']:.2f}"),
            ("On disk", figures.size(sum(sum(each["disk"].values()) for each in status["projects"]))),
        )
    )


def _problem(problem: Problem) -> Html:
    kind = kind_of(problem.id)
    return h.li(
        h.p(badge(kind.level, _COLOURS[kind.level]), " ", h.strong(name(problem.message)), " *" if kind.mend else None),
        h.p(name(problem.path), class_="note path") if problem.path else None,
        h.p(kind.cause),
        h.p(hint(problem.hint or kind.remedy)),
        data_row=True,
    )
