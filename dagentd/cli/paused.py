"""How a pause is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dagentd.cli import output
from dagentd.model import times


def in_brief(paused: dict[str, Any] | None) -> str:
    """`paused` or `paused, 42 min left`; nothing for what is not."""
    return "" if paused is None else f"paused{_left(paused)}"


def in_full(paused: dict[str, Any], session_id: str) -> str:
    """Of a session: since when, and the command that ends it."""
    whose, command = "", f"dagentd resume {session_id}"
    if paused["of"] == "project":
        whose, command = "with its project, ", "dagentd resume"
    return f"{whose}since {_when(paused)}{_left(paused)}; `{command}` ends it"


def _when(paused: dict[str, Any]) -> str:
    told = output.ago(paused["since"])
    return "now" if told == "just now" else told


def _left(paused: dict[str, Any]) -> str:
    until = times.parse(paused.get("until"))
    return "" if until is None else f", {output.duration((until - datetime.now(UTC)).total_seconds(), 2)} left"
