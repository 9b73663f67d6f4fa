"""Features, their task graph and their tasks, as the app keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from dagentd.model.documents import Document

_COMPLETE = {"completed", "done", "merged"}
_IN_PROGRESS = {
    "in_progress", "in_dev", "in_qa", "dev", "qa", "running", "merging", "developing", "verifying",
    "ready_for_qa", "ready_for_merge",
}  # fmt: skip
_FAR = 1e6  # nobody places a task farther out, nor at no number at all


# What people write for `description`, and for `nodes`.
_GOALS = ("goal", "featureGoal", "summary", "objective")
_NODES = "tasks"


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

    @property
    def goal(self) -> str:
        """Its description, or what stands there in its place."""
        texts = (self.description, *(self.raw().get(name) for name in _GOALS))
        return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")

    @classmethod
    def misnamed(cls, raw: dict[str, Any]) -> dict[str, str]:
        given = [name for name in _GOALS if isinstance(raw.get(name), str)]
        return {} if raw.get("description") else dict.fromkeys(given[:1], "description")


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

    @classmethod
    def parse(cls, raw: Any) -> Self:
        given = dict(raw, nodes=raw[_NODES]) if cls.misnamed(raw) else raw
        return super().parse(given)

    @classmethod
    def misnamed(cls, raw: Any) -> dict[str, str]:
        is_list = isinstance(raw, dict) and "nodes" not in raw and isinstance(raw.get(_NODES), list)
        return {_NODES: "nodes"} if is_list else {}

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

    def tasks(self, places: Mapping[str, tuple[float, float]]) -> list[dict[str, Any]]:
        """Each as it is drawn: how far it is, what it depends on, and where it stands if somebody placed it."""
        return [
            {"id": node.id, "title": node.title if isinstance(node.title, str) else node.id, "status": node.status,
             "stage": stage(node.status), "dependencies": self.dependencies(node.id)}
            | ({"x": places[node.id][0], "y": places[node.id][1]} if node.id in places else {})
            for node in self.nodes if isinstance(node.id, str)
        ]  # fmt: skip


class Task(Document):
    """`task.json`: which sessions belong to which state of a task."""

    id: Any = None
    states: dict[str, Any] = Field(default_factory=dict)
    current_state: Any = None
    status: Any = None


def places(layout: Any) -> dict[str, tuple[float, float]]:
    """Where `layout.json` has the tasks: by their ids, or as a list with ids; alone, or under a name."""
    raw = layout if isinstance(layout, dict) else {}
    held = next((raw[key] for key in ("positions", "nodes", "nodePositions") if key in raw), raw)
    if isinstance(held, list):
        held = {each["id"]: each for each in held if isinstance(each, dict) and isinstance(each.get("id"), str)}
    found = {key: _point(value) for key, value in held.items()} if isinstance(held, dict) else {}
    return {key: point for key, point in found.items() if point is not None}


def _point(raw: Any) -> tuple[float, float] | None:
    held = raw.get("position", raw) if isinstance(raw, dict) else None
    pair: list[Any] = [held.get("x"), held.get("y")] if isinstance(held, dict) else []
    if not pair or any(isinstance(one, bool) or not isinstance(one, int | float) or abs(one) > _FAR for one in pair):
        return None
    return float(pair[0]), float(pair[1])


def stage(status: object) -> str:
    if not isinstance(status, str):
        return "pending"
    if status in _COMPLETE:
        return "complete"
    return "in progress" if status in _IN_PROGRESS or status.endswith("_paused") else "pending"


def _texts(values: list[Any]) -> list[str]:
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))
