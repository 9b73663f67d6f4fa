"""`dagentd call` and `dagentd events`: the socket from the command line."""

from __future__ import annotations

import json

import click

from dagentd.cli import output
from dagentd.rpc.client import Client

_EXAMPLE = """For example: '{"sessionId": "pm-feature-login"}'"""


@click.command()
@click.argument("method")
@click.argument("params", metavar="[JSON]", default="{}")
def call(method: str, params: str) -> None:
    """Call a method of the daemon and print its result.

    JSON is an object with the parameters; `dagentd call rpc.discover` lists the methods.
    """
    try:
        given = json.loads(params)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"The parameters are not JSON: {error}. {_EXAMPLE}") from None
    if not isinstance(given, dict):
        raise click.UsageError(f"The parameters are an object. {_EXAMPLE}")
    with Client() as daemon:
        output.print_json(daemon.call(method, **given))


@click.command()
@click.option("--type", "types", multiple=True, help="Only events of this type; may be given several times.")
@click.option("--session", help="Only events of this session.")
@click.option("--since", type=int, help="Also those after this number that the daemon still holds.")
def events(types: tuple[str, ...], session: str | None, since: int | None) -> None:
    """Print events as they come, one JSON object a line, until Ctrl-C."""
    given = {"types": list(types) or None, "sessionId": session, "since": since}
    filters = {key: value for key, value in given.items() if value is not None}
    with Client() as daemon, daemon.subscribe(**filters) as subscription:
        for event in subscription:
            output.json_line(event)
