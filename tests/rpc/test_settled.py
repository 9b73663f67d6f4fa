"""A session read off its documents answers as one that is opened does, or says that it must be opened."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import tokens
from dagentd.rpc.params import OfSession
from dagentd.rpc.settled import SettledProject, Unsettled
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.layout import rolled_back
from dagentd.store.pauses import Pauses
from dagentd.store.store import Store
from tests.store.conftest import served as served
from tests.store.conftest import wait as wait
from tests.store.served import Served

FACTS = {"summary": {"decisions": ["Keep it small."], "pending": ["Write the test."]}}


@pytest.fixture
def settled(served: Served) -> Served:
    """As a daemon leaves it that is stopped."""
    served.add("m1", "m2", "m3")
    served.session.add([{"id": "m4", "role": "assistant", "content": "Thinking.", "metadata": {"internal": True}}])
    served.session.update_checkpoint(FACTS)
    served.session.set(status="idle")
    served.flush()
    served.close()
    return served


def off_documents(bench: Served) -> dict[str, Any]:
    with project_of(bench).session(OfSession(sessionId=bench.folder.id)) as (_, session):
        return answers(session)


def project_of(bench: Served) -> SettledProject:
    assert bench.index_file is not None
    return SettledProject(bench.project, Settings(), bench.index_file)


def opened(bench: Served) -> dict[str, Any]:
    store = Store(bench.project, Index(None), read_only=True)
    try:
        return answers(store.sessions.take(bench.folder.id))
    finally:
        store.close()


def answers(session: Any) -> dict[str, Any]:
    return {
        "document": session.document(),
        "checkpoint": session.checkpoint(),
        "last": session.messages(2, False),
        "none": session.messages(0, False),
        "all": session.messages(10, True),
        "tokens": session.tokens(tokens.count),
        "undoable": session.undoable,
        "agent": session.read("agent-description"),
        "problems": session.problems,
    }


def test_it_answers_as_if_it_was_opened(settled: Served) -> None:
    found = off_documents(settled)
    assert found == opened(settled)
    assert [each["id"] for each in found["all"][0]] == ["m1", "m2", "m3", "m4"] and found["last"][1] == 3


def test_so_it_does_after_a_compaction(settled: Served) -> None:
    settled.open()
    start = settled.session.snapshot()
    settled.session.compact(start, ["m1", "m2"], {"summary": {"completed": ["Greeted."]}, "compactionInfo": {}})
    settled.flush()
    settled.close()
    found = off_documents(settled)
    assert found == opened(settled) and found["undoable"] == 1


def test_nothing_is_written(settled: Served) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        every = [*settled.project.root.rglob("*"), *settled.index_file.parent.glob("index*")]  # type: ignore[union-attr]
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in every if path.is_file()}

    before = state()
    off_documents(settled)
    assert state() == before


def _other_status(bench: Served) -> None:
    bench.app.write({**bench.app.read("session"), "status": "archived"}, "session")


def _other_name(bench: Served) -> None:
    bench.app.write({**bench.app.read("session"), "title": "Mine"}, "session")


def _other_checkpoint(bench: Served) -> None:
    held = bench.app.read("checkpoint")
    bench.app.write({**held, "summary": {**held["summary"], "pending": []}}, "checkpoint")


def _another_line_of_the_journal(bench: Served) -> None:
    with bench.journal.open("a") as file:
        file.write(
            json.dumps({"t": "message", "at": "", "message": {"id": "m5", "role": "user", "content": "x"}}) + "\n"
        )


def _half_a_line_of_the_journal(bench: Served) -> None:
    with bench.journal.open("a") as file:
        file.write('{"t": "mess')


def _journal_overwritten_at_the_same_time(bench: Served) -> None:
    """With the size and the time that it had."""
    before, data = bench.journal.stat(), bench.journal.read_bytes()
    last = data[:-1].rfind(b"\n") + 1
    bench.journal.write_bytes(data[:last] + data[last:].replace(b"idle", b"lied"))
    os.utime(bench.journal, ns=(before.st_atime_ns, before.st_mtime_ns))


def _journal_copied(bench: Served) -> None:
    shutil.copy2(bench.journal, bench.journal.with_name("copy"))
    os.replace(bench.journal.with_name("copy"), bench.journal)


def _twin(bench: Served) -> None:
    folder = bench.folder.feature.sessions_dir / bench.folder.id
    folder.mkdir()
    (folder / "session.json").write_text("{}")


def _memory(bench: Served) -> None:
    (bench.folder.feature.sessions_dir / f"memory_{bench.folder.id}.json").write_text("{}")


def _paused(bench: Served) -> None:
    Pauses(bench.project).begin(None, 60)


def _taken_back(bench: Served) -> None:
    """A crash left its documents, one of which says so already."""
    bench.open()
    bench.session.set(status=rolled_back.STATUS)
    bench.flush()
    bench.close()


def _no_index(bench: Served) -> None:
    os.remove(str(bench.index_file))


def _damaged_index(bench: Served) -> None:
    Path(str(bench.index_file)).write_bytes(b"no database" * 100)


def _removed(name: str) -> Callable[[Served], None]:
    return lambda bench: bench.app.paths[name].unlink()


def _emptied(name: str) -> Callable[[Served], None]:
    return lambda bench: os.truncate(bench.app.paths[name], 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda bench: bench.app.push({"id": "m5", "role": "user", "content": "From the app."}),
        lambda bench: bench.app.clear(),
        _other_status,
        _other_name,
        _other_checkpoint,
        _another_line_of_the_journal,
        _half_a_line_of_the_journal,
        _journal_overwritten_at_the_same_time,
        _journal_copied,
        _twin,
        _memory,
        _paused,
        _taken_back,
        _no_index,
        _damaged_index,
        *(make(name) for make in (_removed, _emptied) for name in ("chat", "checkpoint", "session")),
    ],
)
def test_it_must_be_opened_where_others_wrote(settled: Served, change: Callable[[Served], None]) -> None:
    off_documents(settled)
    change(settled)
    with pytest.raises(Unsettled):
        off_documents(settled)


def test_it_must_be_opened_after_a_crash(settled: Served) -> None:
    """What came last is in the journal alone."""
    settled.open()
    settled.session.add([{"id": "m5", "role": "user", "content": "Late."}])
    with pytest.raises(Unsettled):
        off_documents(settled)


def test_nor_is_it_told_which_of_two_is_meant(settled: Served) -> None:
    name = settled.folder.id
    for asked in (
        {"sessionId": "unknown"},
        {"sessionId": name, "worktree": "w"},
        {"sessionId": name, "featureId": "f"},
    ):
        with pytest.raises(Unsettled), project_of(settled).session(OfSession.model_validate(asked)):
            raise AssertionError("one was taken")
