"""Crashes of what is done to a session: what was there before, and what must be there after."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import git
from tests.store.place import DEV, FEATURE, NESTED, PM, PM_NESTED, TASK, Place
from tests.torture import reader
from tests.torture.explorer import Case
from tests.torture.explorer_operations import SECRET, SEEDED
from tests.torture.explorer_power import How
from tests.torture.explorer_wire import Job, Lane
from tests.torture.reader import Files

HALF = b'{"version": '
TORN = b'{"t": "message", "at": "2026'
THEIRS = {"branch": "theirs"}
BESIDE_ANOTHER = (
    "take in late",
    "add glued",
    "add overwritten",
)  # done once more, another program would write once more


class SessionCase(Case):
    def __init__(self, op: str, folder: Path, how: How, prepare: Prepare, check: Check) -> None:
        super().__init__(op, folder, how)
        self.place = Place(self.root)
        self._prepare, self._check = prepare, check

    def prepare(self, lane: Lane) -> None:
        self._prepare(self.place, lane)

    def crashed(self, acked: list[str]) -> None:
        """Documents that can be made again are not synced each time: of those, a power failure may leave nothing."""
        self._check(self.place, acked, False)
        mine = {path for files in self._sessions() for path in (*files.projections(), files.context)}
        for path in [*self.place.flat.rglob("*.json"), *self.place.nested.rglob("*.json")]:
            if not (path in mine and (self.how != "kill" or path.read_bytes() == HALF)):
                reader.whole(path)

    def restarted(self, lane: Lane, acked: list[str]) -> None:
        again = lane.done(self.job(op="open" if self.op in BESIDE_ANOTHER else self.op))
        if self.op == "scrub":
            lane.done(self.job(op="open"))  # documents name records by their hash
        self._check(self.place, [*dict.fromkeys([*acked, *again.acked])], True)
        assert reader.temps(self.root) == []
        for files in self._sessions():
            if files.journal.exists():
                reader.agree(files)
                assert files.journal.stat().st_nlink == 2, "kept once"

    def _sessions(self) -> list[Files]:
        restored = Files(self.place.nested / "sessions" / PM, PM)
        return [self.place.pm, self.place.pm_nested, self.place.dev, restored]


class SlowWriter(SessionCase):
    """Beside a program that truncated the chat and pauses: it writes when nobody lives to see it."""

    def __init__(self, folder: Path, how: How) -> None:
        super().__init__("open", folder, how, seeded, self._taken_in)
        self.given_up = 0

    @contextmanager
    def beside(self) -> Iterator[None]:
        chat = reader.whole(self.place.pm.chat)
        chat["messages"].append({"id": "slow", "role": "user", "content": "slow", "timestamp": "2026-01-01"})
        with self.place.pm.chat.open("w") as file:
            yield
            file.write(json.dumps(chat))
        path = self.place.pm.chat
        apart = [each for each in self.place.pm.beside(path, "corrupt") if not each.samefile(path)]
        self._hoped = not apart or bool(reader.temps(self.root))

    def _taken_in(self, place: Place, acked: list[str], again: bool) -> None:
        """Unless the process had waited for long enough: then it is in the file that was set aside."""
        reader.once(reader.read_journal(place.pm.journal), {*SEEDED, *(["slow"] if again and self._hoped else [])})
        assert self._hoped or any(b"slow" in path.read_bytes() for path in place.pm.beside(place.pm.chat, "corrupt"))
        self.given_up += not (again or self._hoped)
        assert self.given_up <= 1, "only when all is done"


# --- before -------------------------------------------------------------------------------------------------------

Prepare = Callable[[Place, Lane], None]


def fresh(place: Place, lane: Lane) -> None:
    place.make()


def seeded(place: Place, lane: Lane) -> None:
    place.make()
    _do(place, lane, "seed")


def compacted(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    _do(place, lane, "compact")


def compacted_twice(place: Place, lane: Lane) -> None:
    compacted(place, lane)
    _do(place, lane, "add", "compact")


def compacted_late(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    _do(place, lane, "compact late")


def archived(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    _do(place, lane, "archive")


def ended(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    path = place.flat / "feature.json"
    at = "2027-01-01T00:00:00.000Z"
    path.write_text(json.dumps(reader.whole(path) | {"status": "completed", "completedAt": at}))


def without_journal(place: Place, lane: Lane) -> None:
    place.make()
    place.pm.folder.mkdir()
    documents: dict[Path, Any] = {
        place.pm.session: {"id": PM, "type": "feature", "createdAt": "2026-01-01T00:00:00.000Z", "theirs": {"a": 1}},
        place.pm.chat: {"messages": [{"id": name, "role": "user", "content": name} for name in SEEDED], "theirs": 2},
        place.pm.checkpoint: {"version": 3, "summary": {"decisions": ["d"]}, "theirs": 3},
    }
    for path, raw in documents.items():
        path.write_text(json.dumps(raw))


def changed_by_the_app(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    chat = reader.whole(place.pm.chat)
    chat["messages"].append({"id": "app-1", "role": "assistant", "content": "from the app", "timestamp": "2026-01-01"})
    place.pm.chat.write_text(json.dumps(chat))


def damaged(place: Place, lane: Lane) -> None:
    """What a crash and a careless writer leave: a torn journal, a temp file with news, an unreadable checkpoint."""
    changed_by_the_app(place, lane)
    place.pm.chat.rename(place.pm.folder / f".{place.pm.chat.name}.1-1.dagentd-tmp")
    with place.pm.journal.open("ab") as file:
        file.write(TORN)
    place.pm.checkpoint.write_bytes(HALF)


def overwritten(place: Place, lane: Lane) -> None:
    """A backup was copied over the journal: what came since is only in the parts that were sealed."""
    seeded(place, lane)
    backup = place.pm.journal.read_bytes()
    _do(place, lane, "add", "clear")
    place.pm.journal.write_bytes(backup)


def lossy(place: Place, lane: Lane) -> None:
    """The index knows a message that is in no file any more."""
    seeded(place, lane)
    data = place.pm.journal.read_bytes()
    (place.root / "backup").write_bytes(data)
    (line,) = [line for line in data.splitlines(keepends=True) if SECRET in line]
    place.pm.journal.write_bytes(data.replace(line, b"\0" * (len(line) - 1) + b"\n"))
    for path in [place.pm.chat, *place.kept.glob("*.z")]:
        path.unlink()


def listed(place: Place, lane: Lane) -> None:
    """It was told so; and somebody found a backup."""
    lossy(place, lane)
    _do(place, lane, "open")
    place.pm.journal.write_bytes((place.root / "backup").read_bytes())


def in_git(place: Place, lane: Lane) -> None:
    """With a commit since its context was made, and with fields of others in that."""
    place.root.mkdir()
    git(place.root, "init", "-q", "--template=", ".")
    git(place.root, "commit", "-q", "--allow-empty", "-m", "Start")
    worktree = place.flat.parent
    git(place.root, "worktree", "add", "-q", "-b", "work", str(worktree))
    place.make()
    _do(place, lane, "seed", "context")
    place.pm.context.write_text(json.dumps(reader.whole(place.pm.context) | THEIRS | {"theirs": [1]}))
    git(worktree, "commit", "-q", "--allow-empty", "-m", "More")


def gone(place: Place, lane: Lane) -> None:
    seeded(place, lane)
    _do(place, lane, "clear", "add")
    shutil.rmtree(place.flat.parent)


def _do(place: Place, lane: Lane, *ops: str) -> None:
    for op in ops:
        lane.done(Job(op, str(place.root)))


# --- after --------------------------------------------------------------------------------------------------------

# what was acknowledged; whether it was started again since
Check = Callable[[Place, list[str], bool], None]


def made(place: Place, acked: list[str], again: bool) -> None:
    for sid, files, linked in (
        (PM, place.pm, place.flat / "feature.json"),
        (PM_NESTED, place.pm_nested, place.nested / "feature.json"),
    ):
        if sid in acked:
            told = reader.read_journal(files.journal)
            assert told.session["status"] == "active" and told.checkpoint and told.checkpoint["version"] == 1
            assert reader.whole(linked)["sessionId"] == sid
            assert reader.whole(files.agent)["agentType"] == "pm"
        assert reader.whole(linked)["theirs"] == [1]
    if DEV in acked:
        task = reader.whole(place.flat / "nodes" / TASK / "task.json")
        assert task["states"]["in_dev"]["sessionIds"] == [DEV] and task["currentState"] == "in_dev"
        assert reader.read_journal(place.dev.journal).session["taskId"] == TASK


def held(place: Place, acked: list[str], again: bool) -> None:
    """What was there stays, what was acknowledged is there, of a group all or none."""
    told = reader.read_journal(place.pm.journal)
    names = {"one", "two", "three"} & {*acked}
    if again:  # what the app wrote is on disk somewhere, and is taken in at the next start
        names |= {"app-1"} & {*acked}
    reader.once(told, {*SEEDED, *names})
    assert ("two" in told.arrived) == ("three" in told.arrived)
    assert told.chat == [] if "cleared" in acked else set(SEEDED) <= set(told.chat) or not told.chat
    assert "archived" not in acked or told.session["status"] == "archived"
    assert "pinned" not in acked or told.session["pinnedMessages"] == ["m1"]
    assert "updated" not in acked or (told.checkpoint and told.checkpoint["summary"]["completed"] == ["done"])


def in_order(place: Place, acked: list[str], again: bool) -> None:
    """As `held`; and what was answered as one group stands in its order."""
    held(place, acked, again)
    if not again:
        ours = [one for one in reader.read_journal(place.pm.journal).order if one in acked]
        assert ours == acked


def all_or_none(place: Place, acked: list[str], again: bool) -> None:
    """Every message is in history once; all that a compaction took are in chat, or behind its checkpoint."""
    told = reader.read_journal(place.pm.journal)
    every = {*SEEDED, *(("one", "two", "three") if "one" in told.arrived else ())}
    reader.once(told, every)
    backend = (told.checkpoint or {}).get("backend")
    assert set(told.chat) == (set() if backend else every)
    assert "compacted" not in acked or backend == "local"
    assert "undone" not in acked or not backend
    assert {"again", "late"}.isdisjoint(acked) or backend == "anthropic"
    assert "stood in" not in acked or backend
    if again and place.pm.checkpoint.exists():
        assert reader.whole(place.pm.checkpoint).get("backend") == backend


def adopted(place: Place, acked: list[str], again: bool) -> None:
    if not place.pm.journal.exists():
        assert not acked
    if acked:
        held(place, acked, again)
        told = reader.read_journal(place.pm.journal)
        assert told.checkpoint == {"version": 3, "summary": {"decisions": ["d"]}, "theirs": 3}
        assert told.session["theirs"] == {"a": 1}
    if again:
        assert reader.whole(place.pm.chat)["theirs"] == 2


def mended(place: Place, acked: list[str], again: bool) -> None:
    told = reader.read_journal(place.pm.journal)
    reader.once(told, {*SEEDED, *(["app-1"] if again else [])})
    if again:
        assert [path.read_bytes() for path in place.pm.beside(place.pm.checkpoint, "corrupt")] == [HALF]
        assert [path.read_bytes() for path in place.pm.beside(place.pm.journal, "torn")] == [TORN]


def put_back(place: Place, acked: list[str], again: bool) -> None:
    """All of what was lacking is there or none; and after a start all of it, none of it in chat."""
    told = reader.read_journal(place.pm.journal)
    reader.once(told, {*SEEDED, *(("one", "two", "three") if again or "one" in told.arrived else ())})
    assert not (again and told.chat)


def counted(place: Place, acked: list[str], again: bool) -> None:
    """Neither is a message in the journal twice, nor one lost and not in the list."""
    told = reader.read_journal(place.pm.journal)
    reader.once(told, {"m0", "m2"})
    if again:
        assert _lost(place) == {"m1"} - {*told.arrived}


def found_again(place: Place, acked: list[str], again: bool) -> None:
    """The list is there until the message is."""
    reader.once(reader.read_journal(place.pm.journal), {*SEEDED})
    assert _lost(place) == set() if again else _lost(place) <= {"m1"}


def _lost(place: Place) -> set[str]:
    found = place.pm.beside(place.pm.journal, "lost")
    return {json.loads(line)["id"] for path in found for line in path.read_bytes().splitlines()}


def scrubbed(place: Place, acked: list[str], again: bool) -> None:
    """No message is lost by it; once it was said, no file has the text."""
    reader.once(reader.read_journal(place.pm.journal), {*SEEDED})
    if "scrubbed" in acked or again:
        parts = [zlib.decompress(path.read_bytes()) for path in place.kept.glob("*.z")]
        whole = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
        assert not [data for data in [*parts, *whole] if SECRET in data]


def remembered(place: Place, acked: list[str], again: bool) -> None:
    """What was acknowledged counts; a line that was cut is no record."""
    memory = place.root / ".git" / "dagentd" / "memory.jsonl"
    records = [_record(line) for line in memory.read_bytes().splitlines()] if memory.exists() else []
    held = [record for record in records if record]
    said = [(record.get("by"), record.get("text")) for record in held]
    assert "noted" not in acked or ("agent", "a note") in said
    assert "decided" not in acked or ("user", "a decision") in said
    assert "confirmed" not in acked or any("confirms" in record for record in held)
    assert "withdrawn" not in acked or any("withdraws" in record for record in held)


def _record(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return found


def paused(place: Place, acked: list[str], again: bool) -> None:
    """As it was last said, or as is being said."""
    path = place.root / ".git" / "dagentd" / "paused.json"
    told = reader.whole(path) if path.exists() else {}
    stages = ["session paused", "project paused", "session resumed", "project resumed"]
    now = ("project" in told) * 1 + (PM in told.get("sessions", {})) * 2
    done = 0 if again else max((stages.index(one) + 1 for one in acked), default=0)
    assert now in ([0] if again else [0, 2, 3, 1, 0][done : done + 2]), (told, acked)


def glanced(place: Place, acked: list[str], again: bool) -> None:
    """At once, and not only after a start."""
    reader.once(reader.read_journal(place.pm.journal), {*SEEDED, *acked})


def in_context(place: Place, acked: list[str], again: bool) -> None:
    """It is of before or after, with what others keep in it; and after a start it is of after."""
    held(place, acked, again)
    if again:
        context = reader.whole(place.pm.context)
        assert context["recentCommits"][0].endswith(" - More")
        assert context["theirs"] == [1] and context["branch"] == "theirs"


def restored(place: Place, acked: list[str], again: bool) -> None:
    """Nothing of it is lost, wherever it is; once acknowledged it is in the other feature, as the very file."""
    (kept,) = [path for path in place.kept.glob(f"{PM}.*.jsonl") if path.stat().st_size]
    told = reader.read_journal(kept)
    reader.once(told, {*SEEDED, "one", "two", "three"})
    assert set(told.chat) == {"one", "two", "three"}
    if "restored" in acked:
        files = Files(place.nested / "sessions" / PM, PM)
        assert files.journal.samefile(kept) and told.session["featureId"] == NESTED
        assert reader.whole(place.nested / "feature.json")["sessionId"] == PM
        assert reader.whole(place.nested / "feature.json")["theirs"] == [1]


def forgotten(place: Place, acked: list[str], again: bool) -> None:
    """Not a word of it is left once that was said; before, the next one who asks finishes it."""
    if "forgotten" in acked or again:
        holding = [path for path in place.root.rglob("*") if path.is_file() and b"said in m" in path.read_bytes()]
        named = list(place.root.rglob(f"*{PM}*"))
        assert holding == named == []
        feature = reader.whole(place.flat / "feature.json")
        assert "sessionId" not in feature and feature["theirs"] == [1] and feature["id"] == FEATURE


CASES: list[tuple[str, Prepare, Check]] = [
    ("create flat", fresh, made),
    ("create nested", fresh, made),
    ("create task", fresh, made),
    ("adopt", without_journal, adopted),
    ("add", seeded, held),
    ("add", archived, held),
    ("add glued", seeded, in_order),
    ("clear", seeded, held),
    ("compact", seeded, all_or_none),
    ("undo", compacted, all_or_none),
    ("compact again", compacted_twice, all_or_none),
    ("compact late", seeded, all_or_none),
    ("undo", compacted_late, all_or_none),
    ("archive", seeded, held),
    ("archive ended", ended, held),
    ("checkpoint", seeded, held),
    ("pin", seeded, held),
    ("context", in_git, in_context),
    ("restore", gone, restored),
    ("forget", seeded, forgotten),
    ("scrub", seeded, scrubbed),
    ("scrub", compacted, scrubbed),
    ("remember", seeded, remembered),
    ("pause", seeded, paused),
    ("take in", changed_by_the_app, held),
    ("take in late", seeded, held),
    ("glance", changed_by_the_app, glanced),
    ("add overwritten", seeded, in_order),
    ("open", overwritten, put_back),
    ("open", damaged, mended),
    ("open", lossy, counted),
    ("open", listed, found_again),
]
