"""The global index: the entry that a session has in it, and what is counted over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dagentd.model import jsontext
from dagentd.model.agx import Raw, lifecycle, section, units
from dagentd.model.agx.versions import CURRENT

MISSING = "missingSince"  # in the status of an entry whose project is not there


def new() -> Raw:
    """All but the sessions is kept from then on as it is found."""
    return {
        "version": CURRENT,
        "lastSync": None,
        "syncInterval": "5m",
        "sessions": [],
        "statistics": {},
        "configuration": {
            "autoIndexing": True,
            "maxIndexAge": "7d",
            "syncFailureRetries": 3,
            "enableStatistics": True,
        },
    }


def entry(raw: Raw, file: Path, root: Path) -> Raw:
    """All of it from the session's own file: no git is asked."""
    project, tmux, claude, about = (section(raw, name) for name in ("project", "tmux", "claude", "metadata"))
    state = lifecycle.state_of(raw)
    return {
        "sessionId": raw["sessionId"],
        "projectName": project.get("name") or root.name,
        "projectPath": str(root),
        "sessionFile": str(file),
        "variant": about.get("variant"),
        "isDefault": about.get("isDefault") is True,
        "status": {"isActive": state == "active", "lastAccessed": raw.get("lastAccessed"), "state": state},
        "runtime": {
            "tmuxActive": tmux.get("isActive") is True,
            "claudeActive": claude.get("hasActiveContext") is True,
            "claudeSessionId": claude.get("sessionId"),
        },
        "git": {
            "branch": project.get("gitBranch"),
            "commit": project.get("gitCommit"),
            "dirty": project.get("gitDirty") is True,
        },
        "metadata": {
            "description": about.get("description"),
            "tags": about.get("tags") or [],
            "created": raw.get("created"),
        },
    }


def statistics(held: Raw, projects: int, states: Iterable[bool], sizes: Iterable[int]) -> Raw:
    active = list(states)
    counted: Raw = {"totalProjects": projects, "totalSessions": len(active), "activeSessionsCount": sum(active)}
    return {**held, **counted, "diskUsage": units.size(sum(sizes)), "lastCleanup": held.get("lastCleanup")}


def is_active(raw: Raw) -> bool:
    return section(raw, "status").get("isActive") is True


# --- as bytes -----------------------------------------------------------------------------------------------------


def encoded(raw: Raw) -> bytes:
    """An entry as it stands in the file: made once and joined many times."""
    return _indented(raw, b"    ")


def joined(entries: Iterable[bytes]) -> bytes:
    """All of them as they stand in the file."""
    return b",\n    ".join(entries)


def whole(head: Raw, entries: bytes) -> list[bytes]:
    """The file, from what stands beside the sessions and from their entries, joined."""
    parts = [b"{"]
    for number, (key, value) in enumerate(head.items()):
        parts.append((b",\n  " if number else b"\n  ") + json.dumps(key, ensure_ascii=False).encode() + b": ")
        parts += _list(entries) if key == "sessions" else [_indented(value, b"  ")]
    return [*parts, b"\n}\n"]


def _list(entries: bytes) -> list[bytes]:
    return [b"[\n    ", entries, b"\n  ]"] if entries else [b"[]"]


def _indented(value: Any, by: bytes) -> bytes:
    return jsontext.pretty(value).rstrip(b"\n").replace(b"\n", b"\n" + by)
