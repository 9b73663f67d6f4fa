"""Numbers and times in words, the same wherever they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dagentd.model import times


def ago(moment: datetime | str | None, now: datetime | None = None) -> str:
    """`3 min ago`; after a month the date; nothing for what is no time."""
    then = times.parse(moment) if isinstance(moment, str) else moment
    if then is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if abs(seconds) < 60:
        return "just now"
    if not 0 < seconds < 30 * 86400:
        return then.date().isoformat()
    length, unit = next((n, u) for n, u in ((86400, "d"), (3600, "h"), (60, "min")) if seconds >= n)
    return f"{int(seconds // length)} {unit} ago"


def duration(seconds: float, units: int = 1) -> str:
    """`42 min`, or more exactly in two units, `1 h 30 min`."""
    rest, parts = max(0, int(seconds)), list[tuple[int, str]]()
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if parts or rest >= length or unit == "s":
            parts.append((rest // length, unit))
        rest %= length
    return " ".join(f"{count} {unit}" for place, (count, unit) in enumerate(parts[:units]) if count or not place)


def counted(count: int, thing: str) -> str:
    """`1 message`, `3 messages`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def share(part: float) -> str:
    """`42 %`; what is there is never nothing."""
    return "<1 %" if 0 < part < 0.01 else f"{part * 100:.0f} %"


def budget(found: Mapping[str, Any]) -> str:
    """The share of a budget; `~42 %` where it was estimated by the sizes of files, and not counted."""
    told = share(found["share"])
    return f"~{told}" if found.get("estimated") and told[0].isdigit() and told != "0 %" else told


def in_chat(messages: int, total: int | None) -> str:
    """`5`, or `5 of 9` where some have left the chat."""
    return str(messages) if total in (None, messages) else f"{messages} of {total}"


def size(count: int) -> str:
    """`4.1 kB`, `5 MB`: powers of 1000, as the settings count them."""
    return scaled(count, (" B", " kB", " MB", " GB", " TB"))


def tokens(count: int) -> str:
    """`812 tokens`, `12.3k tokens`."""
    return scaled(count) + (" token" if count == 1 else " tokens")


def scaled(count: int, units: Sequence[str] = ("", "k", "M", "G")) -> str:
    """`812`, `12.3k`."""
    value, unit = float(count), 0
    while value >= 999.95 and unit < len(units) - 1:
        value, unit = value / 1000, unit + 1
    return f"{count}{units[0]}" if unit == 0 else f"{value:.1f}".removesuffix(".0") + units[unit]
