"""Features, their task graph and their tasks, as the app keeps them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from dagentd.model.documents import Document

_COMPLETE = {"completed", "done", "merged"}
_IN_PROGRESS = {
    "in_progress", "in_dev", "in_qa", "dev", "qa", "running", "merging", "developing", "verifying",
    "ready_for_qa", "ready_for_merge",
}  # fmt: skip


class Feature(Document):
    id: Any = None
    name: Any = None
    status: Any = None
    branch_name: Any = None
    description: Any = None
    attachments: Any = None
    session_id: Any = None

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "archived")


class Node(Document):
    id: Any = None
    title: Any = None
    description: Any = None
    status: Any = None
    dependencies: list[Any] = Field(default_factory=list)


class Connection(Document):
    source: Any = Field(default=None, alias="from")
    target: Any = Field(default=None, alias="to")


class Dag(Document):
    """`target` of a connection depends on its `source`; a node may also list what it depends on."""

    nodes: list[Node] = Field(default_factory=list)
    connections: list[Connection] = Field(default_factory=list)

    def node(self, task: str) -> Node | None:
        return next((node for node in self.nodes if node.id == task), None)

    def dependencies(self, task: str) -> list[str]:
        node = self.node(task)
        listed = node.dependencies if node else []
        return _texts([*(c.source for c in self.connections if c.target == task), *listed])

    def dependents(self, task: str) -> list[str]:
        listed = [node.id for node in self.nodes if task in node.dependencies]
        return _texts([*(c.target for c in self.connections if c.source == task), *listed])

    def summary(self) -> str:
        """`5 tasks: 2 complete, 1 in progress, 2 pending`."""
        stages = [stage(node.status) for node in self.nodes]
        counts = ((name, stages.count(name)) for name in ("complete", "in progress", "pending"))
        parts = ", ".join(f"{count} {name}" for name, count in counts)
        return f"{len(stages)} task{'' if len(stages) == 1 else 's'}: {parts}"


class Task(Document):
    """`task.json`: which sessions belong to which state of a task."""

    id: Any = None
    states: dict[str, Any] = Field(default_factory=dict)
    current_state: Any = None
    status: Any = None


def stage(status: object) -> str:
    if not isinstance(status, str):
        return "pending"
    if status in _COMPLETE:
        return "complete"
    return "in progress" if status in _IN_PROGRESS or status.endswith("_paused") else "pending"


def _texts(values: list[Any]) -> list[str]:
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))
