"""How a session whose worktree is gone is shown."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from dagentd.cli import output
from dagentd.cli.output import Column


def tell_gone(answer: dict[str, Any], session: str = "") -> None:
    """Of a session that was answered, or of the one that an answer is about."""
    if answer.get("gone"):
        name = session or answer["id"]
        output.line(f"(gone with its worktree; `dagentd restore {name}` brings it back)\n")


def print_list(found: list[dict[str, Any]]) -> None:
    columns = [Column("session", style="cyan"), Column("feature"), Column("total", right=True), Column("updated"),
               Column("days left", right=True)]  # fmt: skip
    seen = Counter(each["id"] for each in found)
    names = [each["id"] if seen[each["id"]] == 1 else Path(each["kept"]).stem for each in found]
    rows = [(name, *_row(each)) for name, each in zip(names, found, strict=True)]
    output.table(columns, rows, empty="No session is gone. `dagentd sessions` lists those that are here.")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    said = each.get("total", "unreadable")
    return each.get("featureId"), said, output.ago(each.get("updatedAt")), _kept(each["daysLeft"])


def _kept(days_left: int | None) -> str:
    return "for good" if days_left is None else str(days_left)
