"""Where things are: a project, its trees, features and session folders, as names and paths only."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

Style = Literal["prefixed", "folder"]
Shape = Literal["flat", "nested"]

DOCUMENTS = ("session", "chat", "checkpoint", "context", "agent-description")


@dataclass(frozen=True)
class Project:
    """A git repository whose root the user gave us."""

    root: Path
    common_dir: Path  # of git: where locks, kept journals and the spool are

    @property
    def own_dir(self) -> Path:
        return self.common_dir / "dagentd"

    @property
    def lock_file(self) -> Path:
        return self.own_dir / "lock"

    @property
    def kept_dir(self) -> Path:
        return self.own_dir / "kept"

    @property
    def paused_file(self) -> Path:
        return self.own_dir / "paused.json"

    @property
    def memory_file(self) -> Path:
        return self.own_dir / "memory.jsonl"

    @property
    def temp_dir(self) -> Path:
        return self.own_dir / "temp"

    @property
    def spool_dir(self) -> Path:
        """Where git hooks leave word; without the folder they leave none."""
        return self.own_dir / "spool"


@dataclass(frozen=True)
class Registered:
    """A repository that the user gave to the daemon. `id` is also in its git folder: by it one that was moved is known
    again."""

    id: str
    project: Project
    added_at: str

    def raw(self) -> dict[str, Any]:
        where = {"root": str(self.project.root), "commonDir": str(self.project.common_dir)}
        return {"id": self.id, **where, "addedAt": self.added_at}


@dataclass(frozen=True)
class Tree:
    """One `.dagent` folder: a worktree's, or the project's own."""

    path: Path
    worktree: Path

    @property
    def name(self) -> str:
        return self.worktree.name


@dataclass(frozen=True)
class FeatureFolder:
    id: str
    path: Path
    tree: Tree
    shape: Shape
    named: bool = field(default=False, compare=False)  # it had a feature.json when it was found

    @property
    def signs(self) -> list[Path]:
        """The files that go first where a feature is moved or removed: whoever makes something in it looks for them."""
        return [self.path / "feature.json"] if self.named else []

    @property
    def sessions_dir(self) -> Path:
        return self.path / "sessions"

    def task_dir(self, task: str) -> Path:
        return self.path / "nodes" / task


@dataclass(frozen=True)
class SessionFolder:
    """The names of one session's files. `names` has those that session.json gave and that exist. It is `gone` if its
    worktree is."""

    gone: ClassVar[bool] = False

    id: str
    path: Path
    style: Style
    feature: FeatureFolder
    task_id: str | None = None
    names: dict[str, str] = field(default_factory=dict)

    def conventional(self, document: str, suffix: str = ".json") -> Path:
        return self.path / self.usual_name(document, suffix)

    def usual_name(self, document: str, suffix: str = ".json") -> str:
        return f"{document}{suffix}" if self.style == "folder" else f"{document}_{self.id}{suffix}"

    def document(self, name: str) -> Path:
        return self.path / (self.names.get(name) or self.usual_name(name))

    @cached_property  # asked for several times with each message, and making a path is slow
    def journal(self) -> Path:
        return self.path / self.usual_name("history", ".jsonl")

    @cached_property
    def of_the_app(self) -> tuple[Path, Path]:
        """The files that the app has first where it makes the same session in its own style."""
        sessions = self.feature.sessions_dir
        return sessions / f"session_{self.id}.json", sessions / f"history_{self.id}.jsonl"

    def about(self, project: Project, task: object) -> dict[str, str | None]:
        """The fields by which an event says which session it is of."""
        task_id = task if isinstance(task, str) else None
        return {
            "project": str(project.root), "feature_id": self.feature.id, "session_id": self.id, "task_id": task_id
        }  # fmt: skip

    def within_feature(self, path: Path) -> str:
        """How a source is named in derived message ids: equal on every machine."""
        return path.relative_to(self.feature.path).as_posix()


@dataclass(frozen=True)
class GoneFolder(SessionFolder):
    """A session whose worktree is gone: nothing is left of it but its journal, where that was kept."""

    gone: ClassVar[bool] = True
    kept: Path = Path()

    @cached_property
    def journal(self) -> Path:
        return self.kept
