"""The context document: which of its fields are ours, when it has changed, and how large each part is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dagentd.model.feature import Dag, Node

# In the order in which they are written. All other fields are somebody else's and stay as they are.
FIELDS = (
    "projectRoot", "worktree", "featureId", "featureName", "featureGoal", "taskId", "taskTitle",
    "taskDescription", "taskState", "dagSummary", "tasks", "dependencies", "dependencyInfo", "dependents",
    "dependentInfo", "plan", "projectStructure", "claudeMd", "agentsMd", "projectMd", "spec",
    "attachments", "remembered", "recentCommits", "gitBranch", "gitCommit", "notes",
)  # fmt: skip
# What a task graph says, of the feature and then of a task.
OF_FEATURE = ("dagSummary", "tasks")
OF_TASK = ("taskTitle", "dependencies", "dependencyInfo", "dependents", "dependentInfo")
OF_GRAPH = (*OF_FEATURE, *OF_TASK)
_DERIVED = ("updatedAt", "tokens")  # they change with the others and never alone
_COUNTED = tuple(name for name in FIELDS if name != "notes")  # which no agent is shown
_LISTED = 200  # tasks before or after another
_TITLE = 300  # characters

Fields = Mapping[str, Any]


def of_task(task: str, state: object, dag: Dag | None) -> dict[str, Any]:
    """The fields that a session of a task has beside those of the feature."""
    graph = dag or Dag()
    node = graph.node(task)
    before, after = graph.dependencies(task)[:_LISTED], graph.dependents(task)[:_LISTED]
    return {
        "taskId": task,
        "taskTitle": one_line(node.title if node else None),
        "taskState": one_line(state),
        "dependencies": before,
        "dependencyInfo": [_about(each) for one in before if (each := graph.node(one))] or None,
        "dependents": after,
        "dependentInfo": [_about(each) for one in after if (each := graph.node(one))] or None,
    }


def tasks(dag: Dag) -> list[dict[str, str]] | None:
    """All of a feature, for who plans them."""
    return [_about(node) for node in dag.nodes[:_LISTED]] or None


def _about(node: Node) -> dict[str, str]:
    told = {"id": one_line(node.id), "title": one_line(node.title), "status": one_line(node.status)}
    return {name: value for name, value in told.items() if value}


def one_line(value: object) -> str | None:
    """A title of somebody else's; None for what is none."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return (text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…") or None


def is_current(before: Fields, ours: Fields) -> bool:
    """Whether a document says what we would write, leaving aside when and how large."""
    return all(name in before and before[name] == ours[name] if name in ours else name not in before for name in FIELDS)


def renewed(before: Fields, ours: Fields, at: str, count: Callable[[str], int]) -> dict[str, Any]:
    """The document with our fields as they are now, and those of others as they were; and with the tokens of each part
    that has any, and of all of them."""
    others = {name: value for name, value in before.items() if name not in FIELDS and name not in _DERIVED}
    ordered = {name: ours[name] for name in FIELDS if name in ours}
    sizes = {name: count(_text(ours[name])) for name in _COUNTED if ours.get(name)}
    return {**ordered, "updatedAt": at, "tokens": {**sizes, "total": sum(sizes.values())}, **others}


def holds_more(document: Fields) -> bool:
    """Whether others keep fields in it: those cannot be made again."""
    return not document.keys() <= {*FIELDS, *_DERIVED}


def _text(value: Any) -> str:
    """All that a value says."""
    if isinstance(value, dict):
        value = [each for name, each in value.items() if name != "size"]
    return "\n".join(map(_text, value)) if isinstance(value, list) else str(value)
