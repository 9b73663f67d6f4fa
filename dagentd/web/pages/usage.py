"""The page of agents' usage: tokens by day, model and worktree, as bars and as a table."""

from __future__ import annotations

from typing import Any

from dagentd.model import figures
from dagentd.web.html import Child, Html, h, name, to
from dagentd.web.link import Link
from dagentd.web.parts import Page, empty, facts

Raw = dict[str, Any]
_BY = (("day", "Day"), ("model", "Model"), ("worktree", "Worktree"), ("agent", "Agent"), ("session", "Session"))
_PARTS = (
    ("cacheRead", "read from cache"),
    ("cacheWrite", "written to cache"),
    ("input", "input"),
    ("output", "output"),
)
_MOST = 60  # rows that are drawn


def usage_page(link: Link, asked: Raw) -> Page:
    by = asked["by"] if asked.get("by") in dict(_BY) else "day"
    spend = link.call("daemon.status")["spend"]
    own = facts(
        (
            (
                "Compactions of dagentd, last day",
                f"{spend['calls']} calls, {figures.tokens(spend['tokens'])}, ${spend['cost']:.2f}",
            ),
        )
    )
    return Page("Usage", h.div(h.h1("Usage"), own, _report(link, by)), "usage")


def _report(link: Link, by: str) -> Child:
    if not link.has("usage.report"):
        return empty(
            "This daemon does not count yet what agents use. Install the newest version, then:", "dagentd restart"
        )
    found = link.call("usage.report", by=by)
    tabs = h.nav(
        [h.a(title, href=to("usage", by=key), aria_current="page" if key == by else None) for key, title in _BY],
        aria_label="By what",
        class_="tabs",
    )
    if not found["rows"]:
        return [
            tabs,
            empty(
                "No conversation of an agent has told of tokens yet. Whose are followed, and where:", "dagentd agents"
            ),
        ]
    rows = found["rows"][-_MOST:] if by == "day" else found["rows"][:_MOST]
    return [tabs, h.div(_drawn(rows) if by == "day" else None, _table(rows, found["total"], dict(_BY)[by]))]


def _used(row: Raw) -> int:
    return sum(int(row.get(key) or 0) for key, _ in _PARTS)


def _drawn(rows: list[Raw]) -> Html:
    """A bar for each day, of as many parts as there are kinds of tokens."""
    most = max(map(_used, rows)) or 1
    wide = 100 / max(len(rows), 14)
    bars: list[Child] = []
    for at, row in enumerate(rows):
        low, told = 60.0, f"{row['name']}: {figures.tokens(_used(row))}"
        parts: list[Child] = [h.title(told)]
        for part, _ in _PARTS:
            tall = 56 * int(row.get(part) or 0) / most
            low -= tall
            parts.append(
                h.rect(
                    x=round(at * wide, 2),
                    y=round(low, 2),
                    width=round(wide * 0.8, 2),
                    height=round(tall, 2),
                    class_=f"part-{part.lower()}",
                )
            )
        bars.append(h.g(parts))
    key = h.p([h.span(told, class_=f"key part-{part.lower()}") for part, told in _PARTS], class_="note keys")
    drawn = h.svg(
        bars,
        viewBox="0 0 100 60",
        preserveAspectRatio="none",
        class_="chart",
        role="img",
        aria_label="Tokens by day; the table below says the same",
    )
    ends = h.p(h.span(name(rows[0]["name"])), h.span(name(rows[-1]["name"])), class_="note ends")
    return h.figure(drawn, ends, key)


def _table(rows: list[Raw], total: Raw, title: str) -> Html:
    heads = [title, "Answers", "Input", "Output", "Cache read", "Cache written", "Cost"]
    body = [_row(each) for each in (reversed(rows) if title == "Day" else rows)]
    return h.div(
        h.table(
            h.thead(h.tr([h.th(each, scope="col") for each in heads])),
            h.tbody(body),
            h.tfoot(_row({**total, "name": "All"})),
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label="Usage",
    )


def _row(row: Raw) -> Html:
    cost = row.get("cost")
    cells = [
        str(row.get("answers", 0)),
        *(figures.scaled(int(row.get(key) or 0)) for key in ("input", "output", "cacheRead", "cacheWrite")),
        f"${cost:.2f}" if isinstance(cost, int | float) else "–",
    ]
    return h.tr(h.th(name(row["name"]), scope="row"), [h.td(each) for each in cells])
