"""`dagentd search`: messages by what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option, reading
from dagentd.errors import DagentdError, NotFound, NotRunning
from dagentd.jobs.search import Hits, by_reading
from dagentd.rpc.client import Client, RpcError

_PATIENCE = 600.0  # seconds: the first search of all indexes every message


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@project_option
@json_option
def search(query: tuple[str, ...], session: str | None, limit: int, where: Path, as_json: bool) -> int:
    """Find messages by what they say, also those that left chat.

    All words of QUERY must occur, in any order; '"words in quotes"' side by side. Case and accents do not count. What
    was found is shown in «guillemets».
    """
    found, errors = _search(" ".join(query), session, limit, where)
    if as_json:
        output.print_json({"hits": found})
    else:
        _print(found)
    for error in errors:
        output.error(str(error), error.hint)
    return 1 if errors else 0


def _search(query: str, session: str | None, limit: int, where: Path) -> tuple[Hits, list[DagentdError]]:
    """Through the daemon if it serves the project, for its index; else by reading everything."""
    try:
        return _through_daemon(query, session, limit, git.project_at(where).root), []
    except NotRunning:
        pass
    except RpcError as error:
        if error.code != NotFound.code:
            raise
    with reading(where) as store:
        return by_reading(store, query, session, limit)


def _through_daemon(query: str, session: str | None, limit: int, root: Path) -> Hits:
    given: dict[str, Any] = {"query": query, "project": str(root), "limit": limit}
    if session is not None:
        given["sessionId"] = session
    with Client(timeout=_PATIENCE) as daemon:
        return list(daemon.call("session.search", **given)["hits"])


def _print(found: Hits) -> None:
    columns = [Column("session", style="cyan"), Column("role"), Column("when"), Column("", wrap=True)]
    rows = ((_session(hit), hit["role"], _when(hit["timestamp"]), hit["snippet"]) for hit in found)
    output.table(columns, rows, empty="Nothing found.")


def _session(hit: dict[str, Any]) -> str:
    return f"{hit['sessionId']} (gone)" if hit.get("gone") else str(hit["sessionId"])


def _when(timestamp: object) -> str:
    return output.ago(timestamp) if isinstance(timestamp, str) else ""
