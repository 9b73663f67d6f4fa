"""Where chaos happens: a small disk of its own, on it a home, a repository and its worktrees, and nothing shared."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import FOREIGN, GITCONFIG
from tests.store.app import App
from tests.torture.reader import Files

ROOM = 2 << 30  # bytes that the disk has while it is not full; they are memory only once they are used
STEADY, PASSING = ("f0", "f1"), ("f2", "f3")  # worktrees that stay, and those that git removes and makes again
TASK = "t1"


@dataclass
class Place:
    """A worktree with one feature. Whoever would disturb git, or be disturbed by it, holds `lock`; what the daemon
    does, it does without."""

    root: Path
    feature: str
    nested: bool
    lock: threading.RLock = field(default_factory=threading.RLock)
    life: int = 0  # how often it was made
    there: bool = False

    @property
    def worktree(self) -> Path:
        return self.root / ".dagent-worktrees" / self.feature

    @property
    def folder(self) -> Path:
        tree = self.worktree / ".dagent"
        return tree / "features" / self.feature if self.nested else tree

    @property
    def sessions(self) -> list[str]:
        return [f"pm-feature-{self.feature}", f"dev-task-{self.feature}-{TASK}-in_dev"]

    def files(self, sid: str) -> Files:
        below = self.folder / "sessions"
        return Files(below / sid if self.nested else below, sid)

    def app(self, sid: str) -> App:
        files = self.files(sid)
        return App({"chat": files.chat, "checkpoint": files.checkpoint, "session": files.session})

    def whose(self, sid: str) -> dict[str, str]:
        """What getOrCreate wants to know for it."""
        kind = {"type": "feature", "agentType": "pm"} if sid.startswith("pm") else {"type": "task", "agentType": "dev"}
        task = {} if sid.startswith("pm") else {"taskId": TASK, "taskState": "in_dev"}
        return {"project": str(self.root), "featureId": self.feature} | kind | task


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk, self.socket = folder / "disk", folder / "s"
        self.root, self.home = self.disk / "repo", self.disk / "home"
        self.places = [Place(self.root, name, nested=name in ("f1", "f3")) for name in (*STEADY, *PASSING)]
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)} | {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.disk / "state"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(folder),
            "TMPDIR": str(folder),
            "TMUX_TMPDIR": str(folder),
            "DAGENTD_SOCKET": str(self.socket),
            "DAGENTD_API_KEY": "a-key",
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def kept(self) -> Path:
        return self.root / ".git" / "dagentd" / "kept"

    @property
    def ledger(self) -> Path:
        return self.disk / "state" / "dagentd" / "ledger.jsonl"

    def sessions(self) -> list[tuple[Place, str]]:
        return [(place, sid) for place in self.places for sid in place.sessions]

    def make(self, settings: str) -> None:
        for each in (self.home, self.home / ".config" / "dagentd", self.disk / "state"):
            each.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.configure(settings)
        (self.home / ".gitconfig").write_text(GITCONFIG)
        self.git(self.disk, "init", "-q", str(self.root))
        (self.root / "README.md").write_text("# Chaos\n")
        (self.root / "CLAUDE.md").write_text("Be brief.\n")
        self.git(self.root, "add", ".")
        self.git(self.root, "commit", "-q", "-m", "Start")
        for place in self.places:
            self.add(place)

    def configure(self, settings: str) -> None:
        (self.home / ".config" / "dagentd" / "config.toml").write_text(settings)

    def add(self, place: Place) -> None:
        self.git(self.root, "worktree", "add", "-q", "-B", f"feature/{place.feature}", str(place.worktree))
        place.folder.mkdir(parents=True)
        (place.folder / "feature.json").write_text(json.dumps({"id": place.feature, "name": "F", "theirs": [1]}))
        place.life, place.there = place.life + 1, True

    def git(self, cwd: Path, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=cwd, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise GitFailed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()


class GitFailed(Exception):
    """What git said."""


@contextlib.contextmanager
def a_world() -> Iterator[World]:
    """Its disk is a file system of its own, where that is allowed; it can then really be full."""
    made = World(Path(tempfile.mkdtemp(prefix="dc-", dir="/tmp")))  # a socket's path must be short
    made.disk.mkdir()
    mounted = os.geteuid() == 0 and _ran("mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=700", "chaos", made.disk)
    try:
        yield made
    finally:
        if mounted:
            _ran("umount", "--lazy", made.disk)
        shutil.rmtree(made.folder, ignore_errors=True)


def has_own_disk(world: World) -> bool:
    return os.path.ismount(world.disk)


def resize(world: World, size: int) -> bool:
    """False if more than that is used just now."""
    return _ran("mount", "-o", f"remount,size={size}", world.disk)


def _ran(*command: str | Path) -> bool:
    try:
        return subprocess.run([*map(str, command)], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
