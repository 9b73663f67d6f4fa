"""Lines of what `dagentd top` knows, for a screen of any size: pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.cells import cell_len, set_cell_size

from dagentd.cli import output, status_text
from dagentd.cli.bars import bar, colour
from dagentd.cli.top.state import Row, State
from dagentd.model import times

_HELP = "j/k select  c compact  u undo  a archive  enter show  q quit"
_HELP_SHOWN = "j/k scroll  q back"
_HELP_SHORT = "j/k  c compact  u undo  a archive  q quit"
_MARGINS = 10  # columns of a session's line that are neither name nor bar: the mark, the share, blanks
_COLUMN = 14
_SNAPSHOT = 100  # columns, where nobody knows how many there are
_LEAST_EVENTS = 12  # lines of a screen that has room for events


@dataclass(frozen=True)
class Span:
    text: str = ""
    style: str = ""  # a name of `output.styled`, or `reverse`


@dataclass(frozen=True)
class Line:
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans).rstrip()

    def fitted(self, width: int) -> Line:
        """Cut where the screen ends; wide characters count as two."""
        spans, left = [], width
        for span in self.spans:
            wide = cell_len(span.text)
            spans.append(span if wide <= left else Span(set_cell_size(span.text, left), span.style))
            left = max(0, left - wide)
        return Line(tuple(span for span in spans if span.text))


def _line(text: object = "", style: str = "") -> Line:
    return Line((Span(" ".join(output.clean(str(text)).split("\n")), style),))


def screen(state: State, width: int, height: int, *, plain: bool = False, now: datetime | None = None) -> list[Line]:
    """Exactly `height` lines, none wider than `width`."""
    when = now or datetime.now(UTC)
    head = [*_head(state), _line()] if height > _LEAST_EVENTS else _head(state)[:1]
    foot = [_foot(state, width)]
    room = max(0, height - len(head) - len(foot))
    if state.shown is not None:
        first = max(0, len(state.shown) - room - state.scrolled)
        body = [_line(text) for text in state.shown[first : first + room]]
    else:
        body = _body(state, width, room, plain, when)
    body += [_line()] * (room - len(body))
    return [line.fitted(width) for line in [*head, *body, *foot]][:height]


def snapshot(state: State, *, plain: bool = False, now: datetime | None = None) -> list[Line]:
    """All there is to see at this moment, for who has no screen."""
    when = now or datetime.now(UTC)
    return [*_head(state), _line(), *(line for _, line in _list(state, _SNAPSHOT, plain, when))]


# --- the daemon -------------------------------------------------------------------------------------------------


def _head(state: State) -> list[Line]:
    found = state.status
    health = "is away; it is looked for" if state.away else str(found.get("health", "unknown"))
    style = "green" if health == "ok" else "red"
    rest = [
        f"up {output.duration(found.get('uptime', 0))}",
        output.counted(len(found.get("projects", ())), "project"),
        status_text.work(found.get("queues", {})),
        status_text.spend(found.get("spend", {})),
    ]
    more = f"  {state.away}" if state.away else "  " + "  ".join(rest)
    return [Line((Span("dagentd ", "bold"), Span(health, style), *_line(more).spans)), *_problems(found)]


def _problems(found: Mapping[str, Any]) -> list[Line]:
    problems = [*found.get("problems", ()), *found.get("queues", {}).get("failing", ())]
    if not problems:
        return []
    first = problems[0]
    more = f" (and {len(problems) - 1} more: dagentd status)" if len(problems) > 1 else ""
    path = f"{first['path']}: " if first.get("path") else ""
    return [_line(f"! {path}{first.get('message', '')}{more}", "yellow")]


# --- sessions and events ----------------------------------------------------------------------------------------


def _body(state: State, width: int, room: int, plain: bool, now: datetime) -> list[Line]:
    events = min(len(state.events), max(1, room // 3)) if room >= _LEAST_EVENTS // 2 else 0
    space = room - events - (1 if events and room > _LEAST_EVENTS else 0)
    listed = list(_list(state, width, plain, now))
    start = _first(listed, state.selected, space)
    body = [line for _, line in listed[start : start + space]]
    if not events:
        return body
    body += [_line()] * (room - events - len(body))
    return body + [_event(event) for event in state.events[-events:]]


def _first(listed: list[tuple[object, Line]], selected: object, space: int) -> int:
    """The first line to show, so that the selected one is among them, with the name of its project if it can be."""
    at = next((number for number, (key, _) in enumerate(listed) if key is not None and key == selected), 0)
    return max(0, min(at - space // 2, len(listed) - space)) if len(listed) > space else 0


def _list(state: State, width: int, plain: bool, now: datetime) -> Iterator[tuple[object, Line]]:
    """Lines with the key of the session in them."""
    roots = [str(each.get("root")) for each in state.status.get("projects", ())]
    for root in [*roots, *sorted({row.project for row in state.rows} - set(roots))]:
        rows = [row for row in state.rows if row.project == root]
        yield None, Line((*_line(root, "cyan").spans, Span(f"  {output.counted(len(rows), 'session')}", "dim")))
        widest = max((cell_len(row.id) for row in rows), default=0)
        for row in rows:
            yield row.key, _session(row, state, width, widest, plain, now)
    if not roots and not state.rows and not state.away:
        yield None, _line("No projects: add one with `dagentd init PATH`.")


def _session(row: Row, state: State, width: int, widest: int, plain: bool, now: datetime) -> Line:
    """The line of a session. From its right goes what does not fit, but for the beginning of the name and the share."""
    chosen, drawn = row.key == state.selected, 20 if width >= 80 else 10 if width >= 60 else 0
    name = min(widest, max(12, width - drawn - _MARGINS))
    left = width - name - drawn - _MARGINS
    budget = (Span(f" {row.budget:>6} "), Span(bar(row.share, drawn, plain=plain), colour(row.share)))
    if not row.budget:
        budget, left = (Span(), Span()), left + drawn + _MARGINS - 2
    return Line((
        Span("> " if chosen else "  ", "bold"),
        Span(set_cell_size(_line(row.id).text, name), "reverse" if chosen else ""),
        *budget,
        *_line(_about(row, state, now, left), "dim" if row.status == "archived" else "").spans,
    ))  # fmt: skip


def _about(row: Row, state: State, now: datetime, width: int) -> str:
    """Whole columns, as many as there is room for."""
    messages = output.counted(row.messages, "message") if row.messages is not None else ""
    note = "" if row.status == "active" else row.problem or row.status
    told = [messages, output.ago(row.updated, now), "compacting" if row.id in state.compacting else note]
    return "".join(f"  {each:<{_COLUMN - 2}}" for each in told[: width // _COLUMN]).rstrip()


def _event(event: Mapping[str, Any]) -> Line:
    at = times.parse(str(event.get("at", "")))
    clock = at.astimezone().strftime("%H:%M:%S") if at else "        "
    told = _told(event)
    return Line((Span(f"{clock} ", "dim"), *_line(f"{event.get('type', '')}  {told}").spans))


def _told(event: Mapping[str, Any]) -> str:
    about = event.get("sessionId") or event.get("project") or ""
    parts = [event[key] for key in ("action", "message", "error") if isinstance(event.get(key), str)]
    if isinstance(event.get("share"), float):
        parts.append(output.share(event["share"]))
    if isinstance(event.get("tokensReclaimed"), int):
        parts.append(f"{output.tokens(event['tokensReclaimed'])} less")
    return "  ".join([*_strings(parts), str(about)]).strip()


def _strings(parts: Iterable[object]) -> list[str]:
    return [str(part).replace("_", " ") for part in parts]


# --- below all of it --------------------------------------------------------------------------------------------


def _foot(state: State, width: int) -> Line:
    if state.question is not None:
        what, row = state.question
        return _line(f"{what.capitalize()} {row.id}? y/n", "bold")
    if state.notice:
        return _line(state.notice, "bold")
    listed = _HELP if width >= len(_HELP) else _HELP_SHORT
    return _line(listed if state.shown is None else _HELP_SHOWN, "dim")
