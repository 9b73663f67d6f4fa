"""Sessions of a given length in a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dagentd.adapters.git import project_at
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store

TEXT = "The quick brown fox jumps over the lazy dog and writes a test for it. " * 14 + "x" * 44  # 1 KiB


def new_store(folder: Path, features: int) -> Store:
    root = folder / "repo"
    if not root.exists():
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    for number in range(features):
        tree = root / ".dagent-worktrees" / f"f{number}" / ".dagent"
        tree.mkdir(parents=True, exist_ok=True)
        (tree / "feature.json").write_text(f'{{"id": "f{number}"}}')
    return Store(project_at(root), Index(folder / "index.sqlite3"))


def filled(store: Store, feature: str, messages: int) -> Session:
    session = store.maker.get_or_create("feature", "pm", feature)
    held = session.messages(0)[1]
    for start in range(held, messages, 1000):
        count = min(1000, messages - start)
        session.add([{"role": "user", "content": TEXT} for _ in range(count)])
    return session
