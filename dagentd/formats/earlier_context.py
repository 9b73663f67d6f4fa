"""A context of the earlier shape, nested by project, feature and task, in today's flat one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def canonical(raw: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    """What has a name today gets it; the rest stays where it was. The daemon builds a newer one anyway."""
    parts = {name: dict(raw[name]) for name in ("project", "feature", "task") if isinstance(raw.get(name), dict)}
    flat: dict[str, Any] = {key: session[key] for key in ("featureId", "taskId", "taskState") if key in session}
    for old, new in _ABOUT.items():
        if (about := _objects(parts.get("task", {}).get(old))) is not None:
            flat[new] = about
    for (part, old), (new, read) in _NAMES.items():
        value = read(parts.get(part, {}).get(old))
        if value is not None and new not in raw:
            del parts[part][old]
            flat[new] = value
    others = {key: value for key, value in raw.items() if key not in parts}
    if isinstance(raw.get("tokens"), (int, float)):
        others["tokens"] = {"total": raw["tokens"]}
    return {**others, **flat, **{name: rest for name, rest in parts.items() if rest}}


def _objects(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) and value and all(isinstance(each, dict) for each in value) else None


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def _lines(value: Any) -> list[str] | None:
    """Objects as the one text that today's lists have; None if any has none."""
    lines = [_line(item) for item in value] if isinstance(value, list) else [None]
    return [line for line in lines if line is not None] if None not in lines else None


def _line(item: Any) -> str | None:
    """A commit as `abc1234 - subject`, a task as its id."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else None
    commit, subject = item.get("hash"), item.get("message", item.get("subject"))
    if isinstance(commit, str) and isinstance(subject, str):
        return f"{commit[:7]} - {subject.split(chr(10), 1)[0]}"
    task = item.get("id", item.get("taskId"))
    return task if isinstance(task, str) else None


_ABOUT = {"dependencies": "dependencyInfo", "dependents": "dependentInfo"}  # of which the lists keep only the ids
_NAMES: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("project", "structure"): ("projectStructure", _text),
    ("project", "claudeMd"): ("claudeMd", _text),
    ("project", "projectMd"): ("projectMd", _text),
    ("project", "recentCommits"): ("recentCommits", _lines),
    ("feature", "name"): ("featureName", _text),
    ("feature", "spec"): ("spec", _text),
    ("feature", "tasks"): ("tasks", _objects),
    ("task", "title"): ("taskTitle", _text),
    ("task", "description"): ("taskDescription", _text),
    ("task", "dependencies"): ("dependencies", _lines),
    ("task", "dependents"): ("dependents", _lines),
}
