"""The documents that the seeds describe, in their shapes: served, used for a day, and nothing of them is lost.

Each has fields that we do not know (`theirs`). What a day changes by design is named in `_MOVES`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.git import project_at
from dagentd.jobs import due, requests, retention
from dagentd.jobs.compaction import Compactor, How
from dagentd.jobs.context import Checkouts
from dagentd.jobs.migration import Seen
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.ledger import Ledger
from dagentd.store.store import Store
from tests.conftest import FEATURE, SampleProject, git

TASK, PLANNED = "task-7", "checkout"
PM, DEV = f"pm-feature-{FEATURE}", f"dev-task-{FEATURE}-{TASK}-in_dev"
NESTED = f"pm-feature-{PLANNED}"
LONE, SINGLE = "0a4e2f66-1c7b-4d0e-9a57-1f2b3c4d5e6f", f"qa-task-{FEATURE}-{TASK}"
T = "2026-02-03T08:{:02}:00.000Z"
THEIRS = {"theirs": {"colour": "green", "list": [1, None]}}
_MOVES = {
    "updatedAt", "stats", "files", "version", "compactionInfo", "tokens", "messages", "totalMessages",
    "oldestMessageTimestamp", "newestMessageTimestamp",
}  # fmt: skip

Documents = dict[str, dict[str, Any]]


def canonical(session_id: str, feature: str, **task: str) -> Documents:
    """file-structure and session-architecture: the five documents of today."""
    role = session_id.split("-")[0]
    said = [
        {"id": f"{session_id}-1", "role": "user", "content": "Plan the basket", "timestamp": T.format(25), **THEIRS},
        {
            "id": f"{session_id}-2", "role": "assistant", "content": "Two tasks.", "timestamp": T.format(26),
            "metadata": {"agentType": role, "tokens": {"input": 300, "output": 90}, **THEIRS},
        },
    ]  # fmt: skip
    names = {key: f"{name}_{session_id}.json" for key, name in _FILES.items()}
    stats = {"totalMessages": 31, "totalTokens": 9000, "totalCompactions": 3, "lastCompactionAt": T.format(20)}
    lists = {
        "completed": ["Read the brief"], "inProgress": ["Basket"], "pending": ["Payment"], "blockers": ["No key"],
        "decisions": ["Prices are integers in cents"],
    }  # fmt: skip
    info = {
        "messagesCompacted": 29, "oldestMessageTimestamp": T.format(0), "newestMessageTimestamp": T.format(19),
        "compactedAt": T.format(20), **THEIRS,
    }  # fmt: skip
    return {
        "session": {
            "id": session_id, "type": "task" if task else "feature", "agentType": role, "featureId": feature, **task,
            "createdAt": T.format(0), "updatedAt": T.format(26), "status": "active", "files": names,
            "stats": {**stats, **THEIRS}, **THEIRS,
        },
        "chat": {
            "messages": said, "totalMessages": 31, "oldestMessageTimestamp": T.format(25),
            "newestMessageTimestamp": T.format(26), **THEIRS,
        },
        "checkpoint": {
            "version": 4, "createdAt": T.format(0), "updatedAt": T.format(20), "summary": {**lists, **THEIRS},
            "compactionInfo": info, **THEIRS,
            "stats": {"totalCompactions": 3, "totalMessages": 29, "totalTokens": 7000},
        },
        "context": {
            "projectRoot": "/elsewhere", "featureId": feature, "featureName": "Old name", "featureGoal": "Old goal",
            "taskId": "task-8", "taskTitle": "Basket", "taskState": "in_dev", "dependencies": ["task-1"],
            "dependents": ["task-9"], **task,
            "dagSummary": "3 tasks: 1 complete, 1 in progress, 1 pending", "projectStructure": "src/",
            "claudeMd": "# Old", "recentCommits": ["abc123 - Old"], **THEIRS,
        },
        "agent-description": {
            "agentType": role, "roleInstructions": "You plan the shop.", "toolInstructions": "Tools: Read.",
            "createdAt": T.format(0), **THEIRS,
        },
    }  # fmt: skip


def lone() -> Documents:
    """session-checkpoint-architecture: four documents and no session document; task.json lists it."""
    said = [{"id": "l-1", "timestamp": T.format(3), "role": "user", "content": "Iteration 1", "tokens": 4, **THEIRS}]
    counts = {"createdAt": T.format(2), "updatedAt": T.format(3), "messageCount": 1, "tokenCount": 4}
    lists = {"completedItems": ["Build"], "pendingItems": ["Tests"], "decisions": ["No mocks"], "blockers": ["CI"]}
    loop = {"currentIteration": 2, "passedChecks": ["build"], "failedChecks": ["test"], "lastError": "E1"}
    return {
        "chat": {"sessionId": LONE, "messages": said, "metadata": counts, **THEIRS},
        "checkpoint": {
            "sessionId": LONE, "version": 2, "createdAt": T.format(2), "updatedAt": T.format(3), "summary": lists,
            "ralphLoop": loop, "tokens": {"checkpoint": 20, "lastCompactionInput": 90, "totalSaved": 70}, **THEIRS,
        },
        "context": {
            "sessionId": LONE, "type": "dev-task", "featureId": FEATURE, "taskId": TASK,
            "project": {"structure": "src/", "claudeMd": "# Old", "projectMd": "Shop", "recentCommits": []},
            "feature": {"name": "Old", "spec": "Old spec", "tasks": [{"id": TASK, "title": "Basket"}]},
            "task": {
                "title": "Basket", "description": "Hold the goods", "dependents": [],
                "dependencies": [{"id": "task-1", "title": "Types"}],
            },
            "updatedAt": T.format(3), "tokens": 60, **THEIRS,
        },
        "agent-description": {
            "sessionId": LONE, "agentType": "dev", "role": "You develop.", "instructions": ["Test it."],
            "allowedTools": ["Read"], "toolInstructions": "Carefully.", "createdAt": T.format(2), "tokens": 9, **THEIRS,
        },
    }  # fmt: skip


def single() -> dict[str, Any]:
    """conversation-architecture: a whole session in one file."""
    tool = {"name": "Bash", "input": {"command": "make test"}, "result": "ok"}
    metadata = {
        "agentType": "qa",
        "taskId": TASK,
        "featureId": FEATURE,
        "iteration": 2,
        "toolUse": tool,
        "internal": False,
    }
    said = {"id": "s-1", "timestamp": T.format(5), "role": "assistant", "content": "It passes", "metadata": metadata}
    about = {"id": SINGLE, "type": "qa-task", "featureId": FEATURE, "taskId": TASK, "createdAt": T.format(4)}
    stats = {"totalMessages": 1, "totalTokens": 640}
    return {
        **about,
        "updatedAt": T.format(5),
        "status": "active",
        "messages": [{**said, **THEIRS}],
        "stats": stats,
        **THEIRS,
    }


OLD_CHAT = {"entries": [{"type": "user", "text": "A shop", "timestamp": T.format(0), **THEIRS}]}
OLD_SESSION = {
    "taskId": TASK, "agentId": "dev-abc", "status": "active",
    "messages": [
        {"direction": "outgoing", "type": "progress", "content": "Begun", "timestamp": 1770105600000, **THEIRS},
    ],
}  # fmt: skip
_FILES = {"chat": "chat", "checkpoint": "checkpoint", "context": "context", "agentDescription": "agent-description"}


def put(path: Path, raw: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw, indent=2))
    return path


@pytest.fixture
def dropped(project: SampleProject) -> dict[Path, dict[str, Any]]:
    """What is on disk before dagentd comes, by file."""
    flat, nested = project.dagent, project.root / ".dagent" / "features" / PLANNED
    task = {"taskId": TASK, "taskState": "in_dev"}
    found: dict[Path, dict[str, Any]] = {
        flat / "feature.json": {"id": FEATURE, "name": "Shop", "description": "Sell", "sessionId": PM, **THEIRS},
        flat / "nodes" / TASK / "task.json": {
            "id": TASK, "states": {"planning": {"sessionIds": []}, "in_dev": {"sessionIds": [LONE, DEV]}},
            "currentState": "in_qa", **THEIRS,
        },
        flat / "chat.json": OLD_CHAT,
        flat / "nodes" / TASK / "session.json": OLD_SESSION,
        flat / "sessions" / f"{SINGLE}.json": single(),
        nested / "feature.json": {"id": PLANNED, "name": "Checkout"},
    }  # fmt: skip
    for session_id, documents in ((PM, canonical(PM, FEATURE)), (DEV, canonical(DEV, FEATURE, **task))):
        found |= {flat / "sessions" / f"{name}_{session_id}.json": raw for name, raw in documents.items()}
    found |= {nested / "sessions" / NESTED / f"{name}.json": raw for name, raw in canonical(NESTED, PLANNED).items()}
    found |= {flat / "nodes" / TASK / "sessions" / f"{name}_{LONE}.json": raw for name, raw in lone().items()}
    for path, raw in found.items():
        put(path, raw)
    return found


class Day:
    """What the daemon does in a day, in its own order."""

    def __init__(self, project: SampleProject, ledger: Path) -> None:
        self.project, self.compactor = project, Compactor(Ledger(ledger))
        self._index = Index(None)
        self.store = Store(project_at(project.root), self._index, settle=0.01)
        self._shared, self._seen = Checkouts(), Seen()

    def look(self) -> None:
        for feature in self.store.catalogue.features():
            done = due.all_of(self.store, feature, Settings(), self._shared, self._seen)
            assert [each.message for each in done.problems] == []
            assert [file.error for file in done.files or [] if file.error] == []

    def work_on(self, session_id: str) -> None:
        with self.store.sessions.using(session_id) as session:
            session.add(
                [{"role": "user", "content": "We use PostgreSQL 16."}, {"role": "assistant", "content": "Done."}]
            )
            assert self.compactor.compact(session, Settings(), How(forced=True, seconds=0))["messagesCompacted"]
            self.compactor.undo(session)
            session.add([{"role": "user", "content": "Go on"}])
            assert b'"totalTokens": 0' not in requests.build(self.store, session, "Next", Settings()).data

    def close(self) -> None:
        self.store.close()
        self._index.close()


@pytest.fixture
def day(project: SampleProject, dropped: object, tmp_path: Path) -> Iterator[Day]:
    made = Day(project, tmp_path / "ledger.jsonl")
    yield made
    made.close()


def lost(before: object, after: object, path: str = "", moves: bool = False) -> Iterator[str]:
    """The fields of a document that are gone or say something else; those that a day `moves` need only be there, and
    what is in them."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            if name not in after:
                yield f"{path}.{name}"
            else:
                yield from lost(value, after[name], f"{path}.{name}", name != "theirs" and (moves or name in _MOVES))
    elif before != after and not moves:
        yield f"{path}: {before!r} became {after!r}"


def test_a_day_of_work_loses_no_field(project: SampleProject, dropped: dict[Path, dict[str, Any]], day: Day) -> None:
    day.look()
    sessions = {folder.id for folder in day.store.catalogue.folders()}
    assert sessions == {PM, DEV, NESTED, LONE, f"{SINGLE}-in_qa"}, "each is served"
    for session_id in sorted(sessions):
        day.work_on(session_id)
    git(project.worktree, "switch", "-q", "-c", "other")
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Go on")
    day.look()
    retention.remove_expired(day.store, 1)
    day.look()
    messages = {one: day.store.session(one).history(limit=100)[0] for one in sessions}
    day.close()
    now = {path: json.loads(path.read_text()) for path in dropped}
    missing = {
        path.name: found for path, raw in dropped.items() if (found := list(lost(*_comparable(path, raw, now[path]))))
    }
    assert missing == {}
    told = {raw["id"]: raw for said in messages.values() for raw in said}
    for raw in (raw for path, document in dropped.items() for raw in document.get("messages", []) if "id" in raw):
        assert list(lost(raw, told[raw["id"]])) == [], raw["id"]
    texts = [raw["content"] for raw in told.values()]
    assert {"A shop", "Begun", "It passes", "Iteration 1"} <= set(texts)


def _comparable(path: Path, before: dict[str, Any], after: dict[str, Any]) -> tuple[object, object]:
    """A context says what is so now, of what it is made from; the older shapes have other names for the same. All
    that they hold besides is to be there."""
    if path.name.startswith("context"):
        ours = {*_OURS, *(("project", "feature", "task") if LONE in path.name else ())}
        return {name: value for name, value in before.items() if name not in ours}, after
    if LONE in path.name:
        known = _OF_LONE[path.name.split("_")[0]]
        return {name: value for name, value in before.items() if name not in known}, after
    if path.name == "task.json":  # a session of another state was linked, and nothing else is other
        assert after["states"].pop("in_qa") == {"sessionIds": [f"{SINGLE}-in_qa"]}
    return before, after


_OURS = (
    "projectRoot", "featureName", "featureGoal", "projectStructure", "claudeMd", "recentCommits",
)  # fmt: skip
_OF_LONE = {
    "chat": {"metadata"},
    "checkpoint": {"summary"},
    "agent-description": {"role", "instructions", "toolInstructions"},
}


def test_the_older_shape_is_all_there_under_todays_names(project: SampleProject, dropped: object, day: Day) -> None:
    day.look()
    with day.store.sessions.using(LONE) as session:
        assert {key: session.fields[key] for key in ("type", "agentType", "taskId", "taskState", "createdAt")} == {
            "type": "task", "agentType": "dev", "taskId": TASK, "taskState": "in_dev", "createdAt": T.format(2),
        }  # fmt: skip
        checkpoint, context = session.checkpoint() or {}, session.read("context") or {}
        description = session.read("agent-description") or {}
    assert checkpoint["summary"] == {
        "completed": ["Build"], "inProgress": [], "pending": ["Tests"], "blockers": ["CI"], "decisions": ["No mocks"],
    }  # fmt: skip
    assert (context["taskTitle"], context["taskDescription"]) == ("Basket", "Hold the goods")
    assert context["dependencyInfo"] == [{"id": "task-1", "title": "Types"}] and context["dependencies"] == ["task-1"]
    assert "Carefully." in description["toolInstructions"]
    assert "You develop." in description["roleInstructions"] and "Test it." in description["roleInstructions"]


def test_statistics_go_on_and_agree(day: Day) -> None:
    day.look()
    day.work_on(PM)
    with day.store.sessions.using(PM) as session:
        stats, checkpoint = session.document()["stats"], session.checkpoint() or {}
    assert (stats["totalMessages"], stats["totalTokens"], stats["totalCompactions"]) == (31 + 1 + 3, 9000, 3)
    assert checkpoint["stats"]["totalCompactions"] == 3 and stats["theirs"] == THEIRS["theirs"]
