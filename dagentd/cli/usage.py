"""`dagentd usage`: what the agents took, as they say it themselves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.bars import bar
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option
from dagentd.cli.verbs import ask, ask_of_all
from dagentd.model import oneline
from dagentd.model.figures import scaled

_BAR = 24  # characters of the longest
_NOTHING = "No conversation of an agent has told of tokens yet. `dagentd agents` says whose are followed."
_TITLE = 40  # characters


@click.command()
@click.option("--by", type=click.Choice(["day", "model", "worktree", "session", "agent"]), default="day",
              show_default=True, help="What a row stands for.")  # fmt: skip
@click.option("--since", metavar="TIME", help="Not before this moment, as 2026-11-01.")
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@project_option
@json_option
def usage(by: str, since: str | None, everywhere: bool, where: Path, as_json: bool) -> None:
    """Show the tokens that Claude Code and Codex took here, from their own transcripts.

    One answer counts once, also where a fork or a resumed conversation has it again. Dollars are shown where the agent
    itself says them; nothing is estimated.
    """
    call = ask_of_all if everywhere else partial(ask, where)
    found = call("usage.report", by=by, since=since)
    if as_json:
        output.print_json(found)
        return
    listed = call("session.list")["sessions"] if by == "session" else []
    _print(found, {each["id"]: output.clean(each.get("title") or "") for each in listed})


def _print(found: dict[str, Any], titles: dict[str, str]) -> None:
    """Beside a session its title, beside all else a bar."""
    rows, total = found["rows"], found["total"]
    most = max((_tokens(row) for row in rows), default=0)
    numbers = [
        Column(name, right=True) for name in ("answers", "tokens in", "out", "cache read", "cache written", "cost")
    ]
    last = Column("title", wrap=True) if titles else Column("")
    columns = [Column(found["by"], style="cyan", wrap=True), *numbers, last]
    plain = not output.is_utf8()
    shown = [
        (
            _name(row["name"], found["by"]),
            *_numbers(row),
            oneline.cut(titles.get(row["name"], ""), _TITLE)
            if titles
            else bar(_tokens(row) / (most or 1), _BAR, plain=plain),
        )
        for row in rows
    ]
    if len(rows) > 1:
        shown.append(("total", *_numbers(total), ""))
    output.table(columns, shown, empty=_NOTHING)


def _numbers(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (scaled(row[name]) for name in ("input", "output", "cacheRead", "cacheWrite"))
    return (str(row["answers"]), *counts, "" if row["cost"] is None else f"${row['cost']:.2f}")


def _tokens(row: dict[str, Any]) -> int:
    return sum(int(row[name]) for name in ("input", "output", "cacheRead", "cacheWrite"))


def _name(name: str, by: str) -> str:
    return (Path(name).name if by == "worktree" else name) or "(not said)"
