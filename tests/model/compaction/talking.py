"""Small conversations for tests: who said what, which tools were used, and what `local` makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from dagentd.model.compaction import local
from dagentd.model.compaction.items import Record
from dagentd.model.compaction.turns import turn

Raw = dict[str, Any]
_calls = count(1)


def user(text: Any, **metadata: Any) -> list[Raw]:
    return [{"role": "user", "content": text, "metadata": metadata}]


def agent(text: Any, **metadata: Any) -> list[Raw]:
    return [{"role": "assistant", "content": text, "metadata": metadata}]


def tool(name: str, given: Raw, result: str = "ok", failed: bool = False) -> list[Raw]:
    """A call and its result, as the Messages API has them."""
    id = f"t{next(_calls)}"
    call = {"type": "tool_use", "id": id, "name": name, "input": given}
    answer = {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}
    return [*agent([call]), *user([answer])]


def ran(command: str, result: str = "", failed: bool = False) -> list[Raw]:
    return tool("Bash", {"command": command}, result, failed)


def edit(path: str) -> list[Raw]:
    return tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, f"{path} has been updated")


def record(
    *said: Sequence[Raw], before: Record | None = None, room: int = 8000, count: Callable[[str], int] | None = None
) -> Record:
    """After one compaction of all of it. A token is four characters."""
    raws = [{**raw, "id": f"m{at}"} for at, raw in enumerate((one for part in said for one in part), 1)]
    turns = [turn(raw) for raw in raws]
    return local.compacted(before or Record(), turns, room, count or (lambda text: len(text) // 4), "now")[0]


def listed(found: Record, name: str) -> list[str]:
    return [item.text for item in found.items if item.list == name]


def everything(found: Record) -> str:
    return "\n".join([found.goal, found.next, *(item.text for item in found.items)])
