"""A context of the earlier shape, nested by project, feature and task, in today's flat one."""

from __future__ import annotations

from typing import Any

_TEXTS = {
    ("project", "structure"): "projectStructure",
    ("project", "claudeMd"): "claudeMd",
    ("project", "projectMd"): "projectMd",
    ("feature", "name"): "featureName",
    ("feature", "spec"): "spec",
    ("task", "title"): "taskTitle",
}
_LISTS = {
    ("project", "recentCommits"): "recentCommits",
    ("task", "dependencies"): "dependencies",
    ("task", "dependents"): "dependents",
}


def canonical(raw: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    """What has a name today gets it; the rest stays where it was. The daemon builds a newer one anyway."""
    parts = {name: dict(raw[name]) for name in ("project", "feature", "task") if isinstance(raw.get(name), dict)}
    flat: dict[str, Any] = {key: session[key] for key in ("featureId", "taskId", "taskState") if key in session}
    for (part, old), new in _TEXTS.items():
        _move(parts.get(part, {}), old, flat, new, _text)
    for (part, old), new in _LISTS.items():
        _move(parts.get(part, {}), old, flat, new, _lines)
    others = {key: value for key, value in raw.items() if key not in parts}
    tokens = raw.get("tokens")
    if isinstance(tokens, (int, float)):
        others["tokens"] = {"total": tokens}
    return {**flat, **others, **{name: rest for name, rest in parts.items() if rest}}


def _move(part: dict[str, Any], old: str, flat: dict[str, Any], new: str, read: Any) -> None:
    value = read(part.get(old))
    if value is not None:
        del part[old]
        flat[new] = value


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
