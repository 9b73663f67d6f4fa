"""The backend without a model: a conversation's structure as a record, equal for equal input.

A conversation is a sequence of exchanges: what a user asked, what was done, how it ended. What tools and git show is
taken as it is; of prose only a user's orders and an assistant's last statement. What a tool, a file or an assistant
says decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.local import orders
from dagentd.model.compaction.local.exchanges import exchanges
from dagentd.model.compaction.local.orders import Order as Order
from dagentd.model.compaction.local.room import fitted
from dagentd.model.compaction.local.writing import written
from dagentd.model.compaction.turns import Turn

Commit = tuple[str, str]  # short hash and subject


def compacted(
    record: Record,
    turns: Sequence[Turn],
    limit: int,
    count: Callable[[str], int],
    at: str,
    commits: Sequence[Commit] = (),
) -> tuple[Record, int]:
    """The record after these messages, within `limit` tokens, and how many items left it. `commits` are those that git
    has of that time."""
    return fitted(written(record, exchanges(turns), at, commits), limit, count)


def uncovered_orders(items: Sequence[Item], turns: Sequence[Turn]) -> list[Order]:
    """The orders that no item covers, by its text, its quote or its sources; the oldest first, ten at most."""
    return orders.uncovered([one for each in exchanges(turns) for one in each.orders], items)
