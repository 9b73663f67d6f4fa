"""`dagentd search`: messages by what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import by_any_part
from dagentd.cli.output import Column
from dagentd.cli.project import how_to_begin, json_option, project_option
from dagentd.cli.verbs import ask, asking

_PATIENCE = 600.0  # seconds: the first search of all indexes every message
_NOTHING = "Nothing found. All words must occur in one message: try fewer, or others."


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@project_option
@json_option
@by_any_part
def search(query: tuple[str, ...], session: str | None, limit: int, where: Path, as_json: bool) -> int:
    """Find messages by what they say, also those that left chat.

    All words of QUERY must occur, in any order; '"words in quotes"' side by side. Case and accents do not count. What
    was found is shown in «guillemets».
    """
    asked = {"query": " ".join(query), "sessionId": session, "limit": limit}
    found = ask(where, "session.search", _PATIENCE, **asked)
    unread = found.pop("unread", [])
    if as_json:
        output.print_json(found)
    else:
        _print(found["hits"], "" if found["hits"] else _nothing(where))
    for each in unread:
        output.error(f"{each['path']}: {each['message']}" if each["path"] else each["message"], each["hint"])
    return 1 if unread else 0


def _nothing(where: Path) -> str:
    with asking(where) as verbs:
        if any(verbs.call("session.list", status=each)["sessions"] for each in (None, "gone")):
            return _NOTHING
        return f"There is nothing to search yet. {how_to_begin(where, verbs.call)}"


def _print(found: list[dict[str, Any]], none: str) -> None:
    columns = [Column("session", style="cyan"), Column("role"), Column("when"), Column("", wrap=True)]
    rows = ((_session(hit), hit["role"], _when(hit["timestamp"]), hit["snippet"]) for hit in found)
    output.table(columns, rows, empty=none)


def _session(hit: dict[str, Any]) -> str:
    return f"{hit['sessionId']} (gone)" if hit.get("gone") else str(hit["sessionId"])


def _when(timestamp: object) -> str:
    return output.ago(timestamp) if isinstance(timestamp, str) else ""
