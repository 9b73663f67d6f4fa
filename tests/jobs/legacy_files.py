"""Files of older formats in a sample project, as the older apps left them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.store.place import FEATURE, TASK, Place

OLD_ID = f"dev-task-{FEATURE}-{TASK}"
LONE_ID = "5f0c1a52-7c1b-4a53-9a0e-3a1c2b7d9e10"
L4_SESSION = f"dev-task-{FEATURE}-{TASK}-in_dev"
L3_SESSION = f"pm-task-{FEATURE}-{TASK}-planning"


def at(minute: int) -> str:
    return f"2026-01-15T10:{minute:02}:00.000Z"


def chat(*texts: str, first: int = 0) -> dict[str, Any]:
    """L1, and in a task L3."""
    roles = ("user", "assistant")
    entries = [
        {"type": roles[number % 2], "text": text, "timestamp": at(first + number)} for number, text in enumerate(texts)
    ]
    return {"entries": entries}


def task_session(*texts: str) -> dict[str, Any]:
    """L2."""
    said = [
        {"direction": "outgoing", "type": "progress", "content": text, "timestamp": 1768471200000 + 1000 * number}
        for number, text in enumerate(texts)
    ]
    return {"taskId": TASK, "agentId": "dev-1", "status": "active", "messages": said}


def single_file(*texts: str) -> dict[str, Any]:
    """L4."""
    said = [
        {"id": f"old-{number}", "role": "user", "content": text, "timestamp": at(20 + number)}
        for number, text in enumerate(texts)
    ]
    about = {"id": OLD_ID, "type": "dev-task", "featureId": FEATURE, "taskId": TASK, "status": "active"}
    return {**about, "messages": said}


def lone_documents(*texts: str) -> dict[str, dict[str, Any]]:
    """L5, by document."""
    said = [
        {"id": f"lone-{number}", "role": "user", "content": text, "timestamp": at(number), "tokens": 3}
        for number, text in enumerate(texts)
    ]
    counted = {"createdAt": at(0), "updatedAt": at(1), "messageCount": len(said), "tokenCount": 3 * len(said)}
    summary = {"completedItems": ["began"], "pendingItems": ["rest"], "decisions": ["no cookies"], "blockers": []}
    return {
        "chat": {"sessionId": LONE_ID, "messages": said, "metadata": counted},
        "checkpoint": {"sessionId": LONE_ID, "version": 2, "createdAt": at(0), "updatedAt": at(1), "summary": summary},
        "context": {"sessionId": LONE_ID, "project": {"structure": "src/"}, "feature": {"name": "Login"}},
        "agent-description": {"sessionId": LONE_ID, "role": "Developer", "instructions": ["Test it."]},
    }


def write(path: Path, raw: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw))
    return path


def everywhere(place: Place) -> list[Path]:
    """One of each format, in both shapes of a feature; the files."""
    found = []
    for folder in (place.flat, place.nested):
        found.append(write(folder / "chat.json", chat("plan a login", "two tasks", "good")))
        found.append(write(folder / "nodes" / TASK / "chat.json", chat("plan the task", "done")))
        found.append(write(folder / "nodes" / TASK / "session.json", task_session("started", "tested")))
        found.append(write(folder / "sessions" / f"{OLD_ID}.json", single_file("go on", "why?")))
        for name, raw in lone_documents("hello", "there").items():
            found.append(write(folder / "sessions" / f"{name}_{LONE_ID}.json", raw))
    return found


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file of the trees but journals and backups."""
    every = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in every
        if ".backup" not in path.name and not path.name.endswith(".jsonl") and "index.sqlite" not in path.name
    }
