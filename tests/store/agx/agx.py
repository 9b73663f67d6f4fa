"""AGX in a project of a test's own, and what is on disk of it, read without dagentd's own code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dagentd.agents.resumable import Resumable
from dagentd.agx.agx import Agx
from dagentd.agx.folder import AgxFolder
from dagentd.settings import Settings


class Store:
    """`agx` is as a process has it; `again` is another process."""

    def __init__(self, *roots: Path, settings: Settings | None = None) -> None:
        self.roots, self.settings = [*roots], settings or Settings()
        self.agx = self.again()

    def again(self) -> Agx:
        return Agx(lambda: self.settings.agx, lambda: self.roots, lambda: Resumable(list))

    @property
    def root(self) -> Path:
        return self.roots[0]

    @property
    def folder(self) -> AgxFolder:
        return AgxFolder(self.root)

    @property
    def current(self) -> str:
        return (self.folder.sessions / ".current").read_text()

    def session(self, name: str) -> dict[str, Any]:
        return read(self.folder.sessions / f"{name}.json")

    def write(self, name: str, raw: dict[str, Any]) -> Path:
        """As another program does."""
        path = self.folder.sessions / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        temp = path.with_suffix(".new")
        temp.write_text(json.dumps(raw))
        temp.rename(path)
        return path

    @property
    def index_file(self) -> Path:
        return home() / "index.json"

    @property
    def index(self) -> dict[str, Any]:
        return read(self.index_file)

    def indexed(self) -> dict[str, str]:
        """The state of each session that is in the index, by its name."""
        return {each["sessionId"]: each["status"]["state"] for each in self.index["sessions"]}


def home() -> Path:
    return Path(os.environ["HOME"], ".agx")


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
