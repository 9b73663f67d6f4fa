"""An agent's folder with transcripts in it, and ours that follows them: real files, and a format of three words."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dagentd.agents.conversation import Agent, Attachment, Event, Facts, Message, Transcript
from dagentd.agents.following import Following
from dagentd.agents.keeping import Part
from dagentd.agents.known import Known
from dagentd.model.project import Project, Registered
from dagentd.settings.tables import Agents

ID = "11111111-2222-4333-8444-555555555555"


class _Reader:
    def __init__(self, state: Mapping[str, Any] | None) -> None:
        self._count = int(state["count"]) if state else 0

    def feed(self, line: bytes) -> list[Event]:
        try:
            raw = json.loads(line)
        except ValueError:
            return []
        self._count += 1
        facts: list[Event] = [Facts(cwd=raw["cwd"])] if "cwd" in raw else []
        return [*facts, Message(f"m{self._count}", "user", "", raw["say"])] if "say" in raw else facts

    def state(self) -> dict[str, Any]:
        return {"count": self._count}


def _place(path: Path) -> Transcript | Attachment | None:
    """As Claude Code has it: FOLDER/ID.jsonl, FOLDER/ID/subagents/agent-X.jsonl, FOLDER/ID/tool-results/NAME."""
    match path.parts:
        case (_, name) if name.endswith((".jsonl", ".jsonl.zst")):
            return Transcript(name.partition(".")[0], None, name.endswith(".zst"))
        case (_, uuid, "subagents", name) if name.endswith(".jsonl"):
            return Transcript(uuid, name[:-6].removeprefix("agent-"))
        case (_, uuid, "tool-results", name):
            return Attachment(uuid, f"tool-results/{name}")
    return None


TALK = Agent(
    name="claude-code", prefix="claude", title="Talk", version=1, roots=lambda environ, home: [home / "talk"],
    place=_place, reader=lambda _, state: _Reader(state), resume=lambda uuid: ("talk", uuid),
)  # fmt: skip


def line(cwd: Path | str | None = None, **more: Any) -> bytes:
    where = {} if cwd is None else {"cwd": str(cwd)}
    return json.dumps({**where, **more}).encode() + b"\n"


@dataclass
class Desk:
    """`home` has the agent's folder, `state` is ours, `root` a registered project."""

    home: Path
    state: Path
    root: Path
    settings: Agents = field(default_factory=Agents)
    registered: bool = True
    known: Known = field(init=False)
    following: Following = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self, *, forgetful: bool = False) -> None:
        """As after a restart; the cache may be gone."""
        self.state.mkdir(exist_ok=True, parents=True)
        if forgetful:
            (self.state / "agents.sqlite3").unlink(missing_ok=True)
        self.known = Known(self.state / "agents.sqlite3")
        self.following = Following(self.state / "agents", self.known, lambda: self.settings, self._projects, (TALK,))

    def stop(self) -> None:
        self.known.close()

    def _projects(self) -> list[Registered]:
        project = Project(self.root, self.root / ".git")
        return [Registered("p1", project, "")] if self.registered else []

    def set(self, **changed: Any) -> None:
        self.settings = replace(self.settings, **changed)

    def path(self, folder: str = "one", uuid: str = ID, suffix: str = ".jsonl") -> Path:
        path = self.home / "talk" / folder / f"{uuid}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def look(self) -> int:
        """Everything that is due is taken in; how many files were opened for it."""
        due = self.following.survey().due
        for found in due:
            while (gained := self.following.take(found)) is not None and gained.more:
                continue
        return len(due)

    def parts(self, key: str = ID) -> list[Part]:
        return self.following.keep(TALK).parts(key)

    def kept(self, key: str = ID) -> list[bytes]:
        found = []
        for part in self.parts(key):
            with closing(part.opened()) as stream:
                found.append(stream.read())
        return found


def grow(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def long_ago(path: Path) -> None:
    os.utime(path, (1_700_000_000, 1_700_000_000))
