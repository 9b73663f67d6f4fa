"""Drawing a graph of tasks: where each box stands, and the lines between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_GAP_X, _GAP_Y, _MARGIN = 56.0, 18.0, 4.0


@dataclass(frozen=True)
class Task:
    """`x` and `y` where somebody placed it."""

    id: str
    needs: tuple[str, ...] = ()
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Box:
    """The top left corner; `number` is the place among the tasks."""

    id: str
    number: int
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    boxes: tuple[Box, ...]
    edges: tuple[str, ...]
    wide: float
    tall: float


def draw(tasks: Sequence[Task], wide: float, tall: float) -> Drawing:
    """As they were placed if all were, else in columns from left to right: each to the right of what it needs."""
    placed = bool(tasks) and all(each.x is not None and each.y is not None for each in tasks)
    corners = _as_placed(tasks) if placed else _in_columns(tasks, wide, tall)
    boxes = tuple(
        Box(each.id, at, round(x, 1), round(y, 1)) for at, (each, (x, y)) in enumerate(zip(tasks, corners, strict=True))
    )
    known = {box.id: box for box in boxes}
    edges = tuple(
        _curve(known[need], known[each.id], wide, tall) for each in tasks for need in each.needs if need in known
    )
    far_x, far_y = (max((corner[axis] for corner in corners), default=0) for axis in (0, 1))
    return Drawing(boxes, edges, far_x + wide + _MARGIN, far_y + tall + _MARGIN)


def _as_placed(tasks: Sequence[Task]) -> list[tuple[float, float]]:
    """Moved so that the picture begins at its corner."""
    corners = [(each.x or 0.0, each.y or 0.0) for each in tasks]
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    return [(x - left + _MARGIN, y - top + _MARGIN) for x, y in corners]


def _in_columns(tasks: Sequence[Task], wide: float, tall: float) -> list[tuple[float, float]]:
    columns = _columns(tasks)
    filled: dict[int, int] = {}
    corners = []
    for each in tasks:
        column = columns[each.id]
        at = filled.get(column, 0)
        filled[column] = at + 1
        corners.append((_MARGIN + column * (wide + _GAP_X), _MARGIN + at * (tall + _GAP_Y)))
    return corners


def _columns(tasks: Sequence[Task]) -> dict[str, int]:
    """By the longest way to each. What needs itself, over whatever way, stops growing at the number of tasks."""
    columns = {each.id: 0 for each in tasks}
    for _ in tasks:
        changed = False
        for each in tasks:
            wanted = max((columns[need] + 1 for need in each.needs if need in columns), default=0)
            if columns[each.id] < wanted < len(tasks):
                columns[each.id], changed = wanted, True
        if not changed:
            break
    return columns


def _curve(start: Box, end: Box, wide: float, tall: float) -> str:
    x1, y1, x2, y2 = start.x + wide, start.y + tall / 2, end.x, end.y + tall / 2
    bend = max(24.0, abs(x2 - x1) / 2)
    return f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
