"""What is done to sessions while the system fails, and what must be true of them afterwards."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

from dagentd.adapters import git
from dagentd.errors import Conflict, DagentdError
from dagentd.jobs import context, migration
from dagentd.jobs.compaction import Compactor, How
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.jobs.migration import File
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.conftest import FEATURE, SampleProject
from tests.jobs import legacy_files
from tests.store.app import said as app_said
from tests.store.place import DEV, PM, TASK, said
from tests.torture import reader
from tests.torture.explorer_operations import ALL_LEAVES
from tests.torture.reader import Files

HELD = ("m0", "m1", "m2")  # said before anything fails


@dataclass
class Bench:
    """A store on a sample project, opened and closed as a daemon does; `sure` is what must be in the journal."""

    project: SampleProject
    sure: set[str] = field(default_factory=set)
    store: Store = field(init=False)

    def open(self) -> None:
        self._index = Index(None)
        self.store = Store(git.project_at(self.project.root), self._index, settle=0.002)

    def close(self) -> None:
        self.store.close()
        self._index.close()

    @property
    def session(self) -> Session:
        return self.store.session(PM)

    @property
    def files(self) -> Files:
        return Files(self.project.dagent / "sessions", PM)

    @property
    def dev(self) -> Files:
        return Files(self.project.dagent / "sessions", DEV)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.project.root / "ledger.jsonl")

    def seed(self) -> None:
        session = self.store.maker.get_or_create("feature", "pm", FEATURE)
        session.add(said(*HELD))
        session.reconcile()


Step = Callable[[Bench], object]


@dataclass(frozen=True)
class Operation:
    """`prepare` is done once, with a store that is open. `sure` are ids that are there once `act` has returned."""

    name: str
    act: Step
    prepare: Step = lambda bench: None
    sure: tuple[str, ...] = ()
    always_again: bool = False  # what fails within it costs a part of what it makes, and nobody is told of an error
    check: Callable[[Bench], None] = lambda bench: None


def _compact(bench: Bench) -> None:
    Compactor(bench.ledger).compact(bench.session, ALL_LEAVES, How(seconds=0))


def _undo(bench: Bench) -> None:
    with contextlib.suppress(Conflict):  # it was undone before the error was told
        Compactor(bench.ledger).undo(bench.session)


def _create(bench: Bench) -> None:
    bench.store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").add(said("d"))


def _app_adds(bench: Bench) -> None:
    chat = reader.whole(bench.files.chat)
    chat["messages"].append(app_said("app-1"))
    bench.files.chat.write_text(json.dumps(chat))


def _older_files(bench: Bench) -> None:
    legacy_files.write(bench.project.dagent / "chat.json", legacy_files.chat("a", "b"))
    legacy_files.write(bench.project.dagent / "nodes" / TASK / "session.json", legacy_files.task_session("x", "y"))
    for name, raw in legacy_files.lone_documents("hello", "there").items():
        legacy_files.write(bench.project.dagent / "sessions" / f"{name}_{legacy_files.LONE_ID}.json", raw)


def _migrate(bench: Bench) -> None:
    _all_well(
        [file for each in bench.store.catalogue.features() for file in migration.run(bench.store, each, Settings())]
    )


def _migrated(bench: Bench) -> None:
    _older_files(bench)
    _migrate(bench)


def _roll_back(bench: Bench) -> None:
    _all_well([file for each in bench.store.catalogue.features() for file in migration.rollback(bench.store, each)])


def _all_well(files: list[File]) -> None:
    """One that fails does not stop the others: here the first is raised."""
    for file in files:
        if file.error:
            raise DagentdError(file.error, path=file.path, hint=file.hint)


def _renew(bench: Bench) -> None:
    context.rebuild_one(bench.store, bench.session.folder, Settings(), Checkouts())


def _change_head(bench: Bench) -> None:
    _renew(bench)
    (bench.project.worktree / "CLAUDE.md").write_text("Be brief.")


def _lose(bench: Bench) -> None:
    """Its documents and its journal vanish, as with a worktree; what was kept of it stays."""
    shutil.rmtree(bench.files.folder)


def _restore(bench: Bench) -> None:
    if not bench.files.journal.exists():
        bench.store.maker.restore(PM, FEATURE)


def _summary(bench: Bench) -> list[str]:
    return list((reader.read_journal(bench.files.journal).checkpoint or {})["summary"]["decisions"])


def _is_empty(bench: Bench) -> None:
    assert reader.read_journal(bench.files.journal).chat == []


def _is_full(bench: Bench) -> None:
    assert reader.read_journal(bench.files.journal).chat == list(HELD)


def _is_made(bench: Bench) -> None:
    reader.once(reader.agree(bench.dev), {"d"})
    task = reader.whole(bench.project.dagent / "nodes" / TASK / "task.json")
    assert task["states"]["in_dev"]["sessionIds"] == [DEV]


def _is_imported(bench: Bench) -> None:
    for sid, texts in ((PM, {"a", "b"}), (legacy_files.LONE_ID, {"hello", "there"}), (DEV, {"x", "y"})):
        told = reader.agree(Files(bench.files.folder, sid))
        assert texts <= {str(one["content"]) for one in told.content.values()}, sid
        reader.once(told, set())


def _is_taken_back(bench: Bench) -> None:
    shown = {one["content"] for one in reader.whole(bench.files.chat)["messages"]}
    assert not shown & {"a", "b"} and reader.whole(bench.project.dagent / "chat.json") == legacy_files.chat("a", "b")


def _is_brief(bench: Bench) -> None:
    assert "Be brief." in str(reader.whole(bench.files.folder / f"context_{PM}.json"))


def _is_archived(bench: Bench) -> None:
    assert reader.read_journal(bench.files.journal).session["status"] == "archived"


def _is_decided(bench: Bench) -> None:
    assert _summary(bench) == ["one"]


OPERATIONS = [
    Operation("add", lambda bench: bench.session.add(said("new")), sure=("new",)),
    Operation("add a group", lambda bench: bench.session.add(said("g1", "g2", "g3")), sure=("g1", "g2", "g3")),
    Operation("clear", lambda bench: bench.session.clear(), check=_is_empty),
    Operation("archive", lambda bench: bench.session.archive(), check=_is_archived),
    Operation("pin", lambda bench: bench.session.pin(message="m1")),
    Operation(
        "update the checkpoint",
        lambda bench: bench.session.update_checkpoint({"summary": {"decisions": ["one"]}}),
        check=_is_decided,
    ),
    Operation("compact", _compact, check=_is_empty),
    Operation("undo", _undo, _compact, check=_is_full),
    Operation("create", _create, check=_is_made),
    Operation("take in", lambda bench: bench.session.reconcile(), _app_adds, sure=("app-1",)),
    # In a folder that may not be looked into nothing is found; that it is closed is told in status, not by these.
    Operation("migrate", _migrate, _older_files, always_again=True, check=_is_imported),
    Operation("roll back", _roll_back, _migrated, always_again=True, check=_is_taken_back),
    Operation("renew the context", _renew, _change_head, always_again=True, check=_is_brief),
    Operation("restore", _restore, _lose),
]


def check_meanwhile(bench: Bench, fault: object) -> None:
    """Whatever failed: what was acknowledged is in a journal, and no document was replaced by nothing."""
    kept = [*bench.project.root.glob(f".git/dagentd/kept/{PM}.*.jsonl")]
    for path in {bench.files.journal, *kept}:
        if path.exists():
            told = reader.read_journal(path)
            twice = [one for one, count in told.arrived.items() if count > 1]
            assert not twice, f"{fault}: {twice} in {path}"
            assert bench.sure <= set(told.arrived), f"{fault}: {bench.sure - set(told.arrived)} is not in {path}"
    for path in bench.project.dagent.rglob("*.json"):
        reader.whole(path)


def check_afterwards(bench: Bench, operation: Operation) -> None:
    told = reader.agree(bench.files)
    reader.once(told, bench.sure)
    operation.check(bench)
    if reader.temps(bench.project.root):  # where even removing failed, the next start does it
        bench.open()
        bench.close()
    assert reader.temps(bench.project.root) == []
