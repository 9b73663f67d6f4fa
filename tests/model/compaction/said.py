"""Short conversations for tests, and what `local` makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from dagentd.model.compaction.items import Item, summary_of
from dagentd.model.compaction.local import operations
from dagentd.model.compaction.operations import perform
from dagentd.model.compaction.turns import Turn, turn

Raw = dict[str, Any]


def user(content: Any, **metadata: Any) -> Raw:
    return {"role": "user", "content": content, "metadata": metadata}


def assistant(content: Any, **metadata: Any) -> Raw:
    return {"role": "assistant", "content": content, "metadata": metadata}


def used(name: str, result: Any = "ok", failed: bool = False, **given: Any) -> Raw:
    """A call with its result, as our own metadata has it."""
    return assistant("", toolUse={"name": name, "input": given, "result": result, "isError": failed})


def turns(*messages: Raw, first: int = 0) -> list[Turn]:
    return [turn({"id": f"m{at}", **raw}) for at, raw in zip(count(first), messages, strict=False)]


def items_after(*messages: Raw, items: Sequence[Item] = (), first: int = 0) -> list[Item]:
    told = turns(*messages, first=first)
    return perform(items, operations(items, told), "")[0]


def after(*messages: Raw, items: Sequence[Item] = ()) -> dict[str, list[Any]]:
    """The five lists; what was only asked last is left out, it has tests of its own."""
    lists = summary_of(items_after(*messages, items=items, first=1000))
    return lists | {"inProgress": [one for one in lists["inProgress"] if not str(one).startswith("Last asked: ")]}


def decisions(*messages: Raw, items: Sequence[Item] = ()) -> list[Any]:
    return after(*messages, items=items)["decisions"]
