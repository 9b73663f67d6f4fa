"""A stand-in for the desktop app: reads, pushes and writes by plain open and write, and knows nothing of a journal.
Run as a program it keeps adding to one chat file, and says at the end which messages it had whole on disk."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

STAMP = "2026-01-17T12:00:00.000Z"
LISTS = ("completed", "inProgress", "pending", "blockers", "decisions")


class App:
    """The documents of one session, as the app handles them. `paths` are chat, checkpoint and session."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths

    def read(self, name: str = "chat") -> dict[str, Any]:
        raw: dict[str, Any] = json.loads(self.paths[name].read_bytes())
        return raw

    def write(self, raw: dict[str, Any], name: str = "chat") -> None:
        """Truncate and write, as Node's writeFile does."""
        with self.paths[name].open("w", encoding="utf-8") as file:
            file.write(json.dumps(raw, indent=2))

    def push(self, *messages: dict[str, Any]) -> None:
        """It adds to the object that it parsed, so `dagentd` stays in it."""
        raw = self.read()
        raw["messages"].extend(messages)
        self.write(raw)

    def clear(self) -> None:
        """It builds a new object, so `dagentd` is not in it."""
        self.write(self.chat_of([]))

    def new_checkpoint(self, version: int, newest: str, **summary: list[str]) -> dict[str, Any]:
        lists = {name: summary.get(name, []) for name in LISTS}
        info = {"messagesCompacted": 2, "oldestMessageTimestamp": STAMP, "newestMessageTimestamp": newest}
        return {"version": version, "createdAt": STAMP, "updatedAt": STAMP, "summary": lists, "compactionInfo": info}

    def recreate(self, created: str = "2030-01-01T00:00:00.000Z") -> None:
        """It took the session for missing: every document anew, with nothing in it."""
        old = self.read("session")
        kept = {key: old[key] for key in ("id", "type", "agentType", "featureId")}
        stats = {"totalMessages": 0, "totalTokens": 0, "totalCompactions": 0}
        self.write(kept | {"createdAt": created, "updatedAt": created, "status": "active", "stats": stats}, "session")
        self.write(self.chat_of([]))
        self.write(self.new_checkpoint(1, created), "checkpoint")

    @staticmethod
    def chat_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
        stamps = [message.get("timestamp") for message in messages] or [STAMP]
        return {
            "messages": messages,
            "totalMessages": len(messages),
            "oldestMessageTimestamp": stamps[0],
            "newestMessageTimestamp": stamps[-1],
        }


def said(message_id: str | None, content: str = "", timestamp: str = STAMP, **more: Any) -> dict[str, Any]:
    """One message as the app writes it."""
    head = {"id": message_id} if message_id is not None else {}
    return head | {"role": "user", "content": content or f"text of {message_id}", "timestamp": timestamp} | more


# --- as a program -----------------------------------------------------------------------------------------------


def _saves(path: Path, data: bytes, how: str, dice: random.Random) -> None:
    if how == "rename":
        temp = path.with_name(f"{path.name}.swp")
        temp.write_bytes(data)
        temp.replace(path)
    elif how == "pieces":
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(data), len(data) // 3 + 1):
                file.write(data[start : start + len(data) // 3 + 1])
                time.sleep(dice.random() / 200)
    else:
        with path.open("wb", buffering=0) as file:
            file.write(data)


def _main(path: Path, count: int, how: str, seed: int) -> None:
    """Add `count` messages, some at a time. Reports each write that has ended on a line of its own: how many
    messages are whole on disk by then. What it counts is in `content`, so messages may go without ids."""
    dice = random.Random(seed)
    done = 0
    while done < count:
        try:
            raw = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            continue
        more = min(count - done, dice.randint(1, 8))
        for number in range(done, done + more):
            message = said(None if how == "anonymous" else f"app-{number}", f"app says {number}")
            raw["messages"].append(message)
        _saves(path, json.dumps(raw).encode(), how, dice)
        done += more
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
