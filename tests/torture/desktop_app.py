"""A stand-in for the desktop app, in both its versions: what it writes, in which order, and what it remembers.

It knows nothing of a journal. Each document is read whole, changed and written by truncating; the session document is
written back from memory, however old that is. A document that cannot be read counts as missing. The newest version has
a memory with three lists where the other has a checkpoint with five.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FIVE = ("completed", "inProgress", "pending", "blockers", "decisions")
THREE = ("critical", "important", "minor")

Raw = dict[str, Any]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class DesktopApp:
    """One feature of it, served from its folder. `newest` is the version with the memory."""

    def __init__(self, feature: Path, feature_id: str, *, newest: bool = False) -> None:
        self.feature, self.id, self.newest = feature, feature_id, newest
        self._sessions: dict[str, Raw] = {}

    # --- sessions -----------------------------------------------------------------------------------------

    def session(self, agent: str = "pm", task: str | None = None, state: str | None = None) -> str:
        """The id of a session, which is made if it cannot be read."""
        parts = [agent, "task" if task else "feature", self.id, *([task] if task else []), *([state] if state else [])]
        sid = "-".join(parts)
        if sid not in self._sessions:
            self._sessions[sid] = self._read(self._path("session", sid)) or self._made(sid, agent, task, state)
        return sid

    def forget(self) -> None:
        """It was closed and started again."""
        self._sessions = {}

    def _made(self, sid: str, agent: str, task: str | None, state: str | None) -> Raw:
        at, lists = now(), THREE if self.newest else FIVE
        summary = "memory" if self.newest else "checkpoint"
        about = {"taskId": task, "taskState": state} if task else {}
        session: Raw = {
            "id": sid, "type": "task" if task else "feature", "agentType": agent, "featureId": self.id, **about,
            "createdAt": at, "updatedAt": at, "status": "active",
            "files": {name: f"{file}_{sid}.json" for name, file in (
                ("chat", "chat"), (summary, summary), ("context", "context"), ("agentDescription", "agent-description"),
            )},
            "stats": {"totalMessages": 0, "totalTokens": 0, "totalCompactions": 0},
        }  # fmt: skip
        info = {"messagesCompacted": 0, "oldestMessageTimestamp": at, "newestMessageTimestamp": at, "compactedAt": at}
        stats = {"totalCompactions": 0, "totalMessages": 0, "totalTokens": 0}
        kept = {"version": 1, "createdAt": at, "updatedAt": at, "summary": {name: [] for name in lists}}
        self._write(self._path("session", sid), session)
        self._write(self._path("chat", sid), {"messages": [], "totalMessages": 0})
        self._write(self._path(summary, sid), {**kept, "compactionInfo": info, "stats": stats})
        return session

    def remake(self, sid: str) -> None:
        """It could not read the session, and takes it for missing."""
        known = self._sessions[sid]
        self._sessions[sid] = self._made(sid, known["agentType"], known.get("taskId"), known.get("taskState"))

    def start_from_backlog(self, worktree: Path) -> DesktopApp:
        """A feature begins: what it has moves to a worktree, its sessions do not; they are made again, empty, under
        the same ids, when somebody asks."""
        there = worktree / ".dagent" / "features" / self.id
        there.mkdir(parents=True)
        for each in self.feature.iterdir():
            if each.name != "sessions":
                shutil.move(each, there / each.name)
        shutil.rmtree(self.feature)
        return DesktopApp(there, self.id, newest=self.newest)

    # --- messages -----------------------------------------------------------------------------------------

    def chat(self, sid: str) -> list[Raw]:
        return list((self._read(self._named(sid, "chat")) or {"messages": []})["messages"])

    def add(self, sid: str, content: str, role: str = "user", metadata: Raw | None = None) -> Raw | None:
        """What it says it added; None where it says that there is no chat. The newest version makes one then."""
        said: Raw = {"role": role, "content": content, "id": str(uuid.uuid4()), "timestamp": now()}
        said |= {"metadata": metadata} if metadata is not None else {}
        path, session = self._named(sid, "chat"), self._sessions[sid]
        chat = self._read(path)
        if chat is None:
            if not self.newest:
                return None
            chat = {
                "messages": [],
                "totalMessages": 0,
                "oldestMessageTimestamp": now(),
                "newestMessageTimestamp": now(),
            }
            self._write(path, chat)
        chat["messages"].append(said)
        chat["totalMessages"] += 1
        chat["newestMessageTimestamp"] = said["timestamp"]
        chat["oldestMessageTimestamp"] = chat.get("oldestMessageTimestamp") or said["timestamp"]
        session["stats"]["totalMessages"] += 1
        session["updatedAt"] = now()
        self._write(path, chat)
        self._write(self._path("session", sid), session)
        return said

    def clear(self, sid: str) -> None:
        session = self._sessions[sid]
        session["stats"] |= {"totalMessages": 0, "totalTokens": 0}
        session["updatedAt"] = now()
        self._write(self._named(sid, "chat"), {"messages": [], "totalMessages": 0})
        self._write(self._path("session", sid), session)

    def compact(self, sid: str, **summary: list[str]) -> list[Raw]:
        """All that is in chat becomes this summary, in whatever words; the messages that it read. Summary, chat and
        session are written in this order."""
        path, kept = self._named(sid, "chat"), self._named(sid, "memory" if self.newest else "checkpoint")
        chat, before, session = self._read(path), self._read(kept) or {}, self._sessions[sid]
        if chat is None or not chat["messages"]:
            return []
        at, said, stats = now(), chat["messages"], before.get("stats") or {}
        after = {
            "version": before.get("version", 0) + 1, "createdAt": before.get("createdAt", at), "updatedAt": at,
            "summary": {name: summary.get(name, []) for name in (THREE if self.newest else FIVE)},
            "compactionInfo": {
                "messagesCompacted": len(said), "compactedAt": at,
                "oldestMessageTimestamp": chat.get("oldestMessageTimestamp") or said[0]["timestamp"],
                "newestMessageTimestamp": chat.get("newestMessageTimestamp") or said[-1]["timestamp"],
            },
            "stats": {
                "totalCompactions": stats.get("totalCompactions", 0) + 1,
                "totalMessages": stats.get("totalMessages", 0) + len(said),
                "totalTokens": stats.get("totalTokens", 0),
            },
        }  # fmt: skip
        session["stats"]["totalCompactions"] += 1
        session["stats"]["lastCompactionAt"] = session["updatedAt"] = at
        self._write(kept, after)
        self._write(path, {"messages": [], "totalMessages": chat["totalMessages"]})
        self._write(self._path("session", sid), session)
        return list(said)

    # --- older files --------------------------------------------------------------------------------------

    def migrate_chat(self) -> Iterator[Raw]:
        """The feature's old chat, one message after the other, if its session has none. The file stays."""
        path = self.feature / "chat.json"
        said = (self._read(path) or {}).get("entries")
        if said and not self.chat(self.session()):
            shutil.copyfile(path, f"{path}.backup")
            for each in said:
                role = "user" if each.get("role") == "user" else "assistant"
                yield from self._migrated(self.session(), role, each, {"migratedFrom": "chat.json"})

    def migrate_task(self, task: str) -> Iterator[Raw]:
        """What a task's agent and the harness told each other, likewise."""
        path, sid = self.feature / "nodes" / task / "session.json", self.session("dev", task, "in_dev")
        said = (self._read(path) or {}).get("messages")
        if said and not self.chat(sid):
            shutil.copyfile(path, f"{path}.backup")
            for each in said:
                role = "assistant" if each.get("direction") == "task_to_harness" else "user"
                more = {"originalType": each.get("type"), "internal": True}
                yield from self._migrated(sid, role, each, {"migratedFrom": "session.json"}, more)

    def _migrated(self, sid: str, role: str, each: Raw, source: Raw, more: Raw | None = None) -> Iterator[Raw]:
        metadata = {**source, "originalTimestamp": each.get("timestamp"), **(more or {})}
        if (said := self.add(sid, each["content"], role, metadata)) is not None:
            yield said

    # --- files --------------------------------------------------------------------------------------------

    def _path(self, name: str, sid: str) -> Path:
        return self.feature / "sessions" / f"{name}_{sid}.json"

    def _named(self, sid: str, name: str) -> Path:
        """By what the session document said when it was read; the newest version fails where that is nothing."""
        return self.feature / "sessions" / str(self._sessions[sid]["files"][name])

    @staticmethod
    def _read(path: Path) -> Raw | None:
        try:
            raw: Raw = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return raw

    @staticmethod
    def _write(path: Path, raw: Raw) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.write(json.dumps(raw, indent=2, ensure_ascii=False))
