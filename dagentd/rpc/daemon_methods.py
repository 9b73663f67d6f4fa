"""`daemon.*`, `events.*` and `rpc.discover`."""

from __future__ import annotations

from typing import Any

from dagentd.errors import InvalidInput
from dagentd.rpc import params
from dagentd.rpc.service import Caller, store_at


def ping(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """Answers at once."""
    return {}


def status(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """The state of the daemon: what is served, what is queued, what is wrong."""
    return caller.service.status()


def shutdown(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """Finish what is under way, then end."""
    caller.service.shut_down()
    return {}


def subscribe(caller: Caller, given: params.Subscribe) -> dict[str, Any]:
    """Events from now on, or from `since`, as notifications `event`."""
    project = None if given.project is None else str(store_at(caller.service, given.project).project.root)
    made = caller.service.events.subscribe(
        caller.deliver, types=given.types, project=project, session_id=given.session_id, since=given.since
    )
    caller.subscriptions.add(made.id)
    return {"subscription": made.id, "seq": made.seq, "continuous": made.continuous}


def unsubscribe(caller: Caller, given: params.Unsubscribe) -> dict[str, Any]:
    """No more events for this subscription."""
    if given.subscription not in caller.subscriptions:
        hint = "`events.subscribe` answers with its id; it counts on the same connection."
        raise InvalidInput(f"no subscription {given.subscription[:60]!a}", hint=hint)
    caller.subscriptions.remove(given.subscription)
    caller.service.events.unsubscribe(given.subscription)
    return {}


def discover(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """This description, made from the table of methods."""
    from dagentd.rpc.discovery import openrpc_document

    return openrpc_document()
