"""A day of work with documents of the shape that agx-storage-format describes, written by another program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from tests.conftest import git
from tests.model.agx.seed import example
from tests.store.agx.agx import Store, home, read

MORNING = datetime(2031, 5, 6, 8, 0, tzinfo=UTC)
Raw = dict[str, Any]


def session(root: Path, name: str, variant: str, used: str) -> Raw:
    """As the example of the format, field for field, with another user's values."""
    raw = example("session")
    raw |= {"sessionId": name, "created": "2031-02-01T09:00:00Z", "lastAccessed": used, "lastModified": used}
    raw["project"] = {
        "name": "shop", "path": str(root), "workingDirectory": str(root / "src"), "gitBranch": variant,
        "gitCommit": git(root, "rev-parse", "HEAD")[:12], "gitRemote": "upstream/trunk",
    }  # fmt: skip
    window = {"name": "edit", "path": str(root), "command": None}
    raw["tmux"] |= {"sessionName": f"agx-shop-{name}", "windowCount": 1, "isActive": False, "lastAttached": used}
    raw["tmux"]["config"] = {"defaultWindow": window, "additionalWindows": [{**window, "name": "log", "command": "ls"}]}
    raw["claude"] |= {"sessionId": f"talk-{name}", "conversationId": f"conv-{name}", "lastInteraction": used}
    raw["metadata"] |= {"description": f"{name} of the shop", "tags": ["cart"], "variant": variant}
    raw["metadata"] |= {"isDefault": name == "main", "customData": {"ticket": 4711, "deep": {"er": [1, None]}}}
    raw["statistics"] |= {"sessionCount": 3, "totalDuration": "2h 6m", "averageSessionLength": "42m"}
    raw["lifecycle"] = {
        "state": "active" if name == "main" else "paused",
        "stateHistory": [{"state": "created", "timestamp": "2031-02-01T09:00:00Z", "reason": "by_hand"},
                         {"state": "active", "timestamp": "2031-02-01T09:05:00Z", "reason": "first_attachment"}],
        "autoCleanup": {"enabled": True, "inactiveThreshold": "14d", "lastCleanupCheck": "2031-05-05T00:00:00Z"},
    }  # fmt: skip
    return raw


def place(store: Store) -> dict[Path, Raw]:
    """All four kinds of documents; each by its file."""
    home().mkdir()
    (store.root / "src").mkdir()
    held = {
        "main": session(store.root, "main", "main", "2031-05-05T17:00:00Z"),
        "feature-auth": session(store.root, "feature-auth", "feature/auth", "2031-05-02T17:00:00Z"),
        "testing": session(store.root, "testing", "testing", "2031-03-01T17:00:00Z"),
    }
    found = {store.write(name, raw): raw for name, raw in held.items()}
    (store.folder.sessions / ".current").write_text("main")
    user, project, index = example("global-config"), example("project-config"), example("index")
    user["session"] |= {"backupCount": 9, "cleanupInactiveDays": 21}
    user["ui"] |= {"defaultEditor": "vi", "verboseLogging": True}
    project["project"] |= {"name": "shop", "workingDirectory": "src/"}
    project["session"] |= {"variants": ["main", "testing", "debug"], "autoCleanup": True}
    away = {**index["sessions"][0], "projectPath": "/not/here", "sessionFile": "/not/here/.agx/sessions/main.json"}
    own = {**index["sessions"][0], "projectPath": str(store.root),
           "sessionFile": str(store.folder.session_file("main"))}  # fmt: skip
    index |= {"syncInterval": "2m", "sessions": [away, own]}
    index["configuration"] |= {"maxIndexAge": "9d", "syncFailureRetries": 1}
    for path, raw in {home() / "config.json": user, store.folder.config_file: project, store.index_file: index}.items():
        path.write_text(json.dumps(raw))
        found[path] = raw
    return found


def fields(raw: Any, *at: str) -> Iterator[tuple[str, ...]]:
    for key, value in raw.items():
        yield (*at, key)
        if isinstance(value, dict):
            yield from fields(value, *at, key)


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def to(count: float) -> None:
        monkeypatch.setattr(clock, "now", lambda: MORNING + timedelta(hours=count))

    to(0)
    yield to


def work(store: Store, hour: Any) -> None:
    """Checkout, commit, switch, archive, restore, cleanup, with the checks of the daemon in between."""

    def beat(count: float) -> None:
        hour(count)
        store.agx.settle(store.root)
        store.agx.updated([store.root])
        store.agx.check(store.root)
        store.agx.check_all()

    beat(0)
    git(store.root, "checkout", "-q", "-b", "feature/auth")
    beat(0.5)
    git(store.root, "commit", "-q", "--allow-empty", "-m", "Login")
    beat(1.5)
    git(store.root, "checkout", "-q", "main")
    beat(2)
    git(store.root, "merge", "-q", "--no-ff", "-m", "Merge", "feature/auth")
    beat(2.5)
    store.agx.switch(store.root, "feature-auth")
    store.agx.archive(store.root, "feature-auth")
    store.agx.restore(store.root, "feature-auth")
    store.agx.cleanup(store.root)
    store.agx.restore(store.root, "testing")
    store.agx.switch(store.root, "main")
    beat(9)


def test_documents_of_another_program_are_served_and_lose_nothing_in_a_day(store: Store, hour: Any) -> None:
    before = place(store)
    listed = {each["sessionId"]: each["status"]["state"] for each in store.agx.listed(store.root)}
    assert listed == {"main": "active", "feature-auth": "paused", "testing": "paused"}
    assert store.agx.get(store.root)["metadata"]["customData"] == {"ticket": 4711, "deep": {"er": [1, None]}}
    work(store, hour)
    assert store.agx.problems() == [] and store.current == "main"
    after = {path: read(path) for path in before}
    lost = [(path.name, at) for path, raw in before.items() for at in fields(raw) if at not in set(fields(after[path]))]
    assert lost == []
    for path in (home() / "config.json", store.folder.config_file):
        assert after[path] == before[path]
    assert after[store.index_file]["configuration"] == before[store.index_file]["configuration"]
    assert [each["sessionId"] for each in after[store.index_file]["sessions"] if each["projectPath"] == "/not/here"]
    for name in ("main", "feature-auth", "testing"):
        was, now = before[store.folder.session_file(name)], store.session(name)
        for part in ("created", "version", "metadata"):
            assert now[part] == was[part], (name, part)
        assert now["claude"] == was["claude"] and now["tmux"] == was["tmux"]
        assert now["lifecycle"]["stateHistory"][:2] == was["lifecycle"]["stateHistory"]
        assert now["lifecycle"]["autoCleanup"]["inactiveThreshold"] == "14d"
        assert now["statistics"]["commandsExecuted"] == 156
    reasons = {name: [each["reason"] for each in store.session(name)["lifecycle"]["stateHistory"][2:]]
               for name in ("main", "feature-auth", "testing")}  # fmt: skip
    assert reasons["testing"] == ["inactive_65d", "restored"]
    assert reasons["feature-auth"] == ["branch_checkout", "branch_left", "branch_merged", "switched",
                                       "archived_by_user", "restored"]  # fmt: skip
    held = store.session("feature-auth")["statistics"]
    assert (held["sessionCount"], held["totalDuration"]) == (5, "3h 36m"), "an hour and a half more"
