"""A picture of a chaos run, as SVG: memory and the time of answers, with what went wrong when."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from xml.sax.saxutils import escape

from tests.torture.chaos.samples import Samples

WIDTH, PANEL, LEFT, TOP, GAP = 1200, 240, 70, 70, 60
HEIGHT = TOP + 2 * PANEL + GAP + 50
_LEAST, _MOST = 0.1, 100_000.0  # milliseconds
_BUCKET = 0.5  # seconds whose answers are one point
_COLOURS = {
    "disk full": "#f4b183", "locked files": "#c5b0e6", "descriptors": "#a9d3a0", "no socket": "#f0e08a",
    "kill": "#d62728", "stop": "#7f7f7f", "calm": "#2ca02c",
}  # fmt: skip


def svg(samples: Samples, title: str) -> str:
    length = samples.now()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 22, title, "start", 15),
        *_legend(),
        *_troubles(samples, length),
        *_memory(samples, length),
        *_latency(samples, length),
        *(_text(_x(at, length), HEIGHT - 22, f"{at:.0f} s") for at in _ticks(length)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _troubles(samples: Samples, length: float) -> Iterable[str]:
    """Behind everything else, over both panels."""
    bottom = TOP + 2 * PANEL + GAP
    for name, start, end in samples.spans:
        x, width = _x(start, length), max(1.0, _x(end, length) - _x(start, length))
        area = f'x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{bottom - TOP}"'
        yield f'<rect {area} fill="{_COLOURS[name]}" opacity="0.55"/>'
    for name, at in samples.marks:
        x, dash = _x(at, length), "" if name == "kill" else ' stroke-dasharray="4 3"'
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="{_COLOURS[name]}"{dash}/>'


def _memory(samples: Samples, length: float) -> Iterable[str]:
    most = 50.0 * math.ceil(max([1.0, *(each for _, _, each in samples.memory)]) / 50)
    yield from _frame(TOP, "memory of the daemon, MB", [(most * n / 5, f"{most * n / 5:.0f}") for n in range(6)], most)
    for pid in dict.fromkeys(pid for _, pid, _ in samples.memory):
        points = [(at, value) for at, each, value in samples.memory if each == pid]
        way = " ".join(f"{_x(at, length):.1f},{_y(TOP, value / most):.1f}" for at, value in points)
        yield f'<polyline points="{way}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>'


def _latency(samples: Samples, length: float) -> Iterable[str]:
    top = TOP + PANEL + GAP
    decades = [10.0**n for n in range(-1, 6)]
    shares = [(math.log10(value / _LEAST), f"{value:g}") for value in decades]
    name, most = "ms until a message was acknowledged: median and slowest", math.log10(_MOST / _LEAST)
    yield from _frame(top, name, shares, most)
    buckets: dict[int, list[float]] = {}
    for at, value in samples.latency:
        buckets.setdefault(int(at / _BUCKET), []).append(value)
    for number, values in sorted(buckets.items()):
        x = _x((number + 0.5) * _BUCKET, length)
        low, high = (_y(top, _share(each)) for each in (median(values), max(values)))
        yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="#9ecae1"/>'
        yield f'<circle cx="{x:.1f}" cy="{high:.1f}" r="2" fill="#08519c"/>'
        yield f'<circle cx="{x:.1f}" cy="{low:.1f}" r="2" fill="#fd8d3c"/>'


def _share(milliseconds: float) -> float:
    return math.log10(min(max(milliseconds, _LEAST), _MOST) / _LEAST) / math.log10(_MOST / _LEAST)


def _frame(top: int, name: str, marks: list[tuple[float, str]], most: float) -> Iterable[str]:
    yield _text(LEFT, top - 8, name, "start")
    for value, told in marks:
        y = _y(top, value / most)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - 20}" stroke="#ddd"/>'
        yield _text(LEFT - 8, y + 4, told, "end")


def _legend() -> Iterable[str]:
    for number, (name, colour) in enumerate(_COLOURS.items()):
        x = LEFT + number * 130
        yield f'<rect x="{x}" y="32" width="14" height="12" fill="{colour}"/>'
        yield _text(x + 20, 43, {"kill": "kill -9"}.get(name, name), "start")


def _ticks(length: float) -> list[float]:
    step = max(10.0, 10 * math.ceil(length / 120))
    return [step * n for n in range(int(length / step) + 1)]


def _x(at: float, length: float) -> float:
    return LEFT + (WIDTH - 20 - LEFT) * at / length


def _y(top: int, share: float) -> float:
    return top + PANEL * (1 - share)


def _text(x: float, y: float, told: str, anchor: str = "middle", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(told)}</text>'
