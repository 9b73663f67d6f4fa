"""The index: which messages each journal holds and where, an entry for each. A cache, made again from the journals
when it is gone."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dagentd.adapters.files import disk
from dagentd.errors import Conflict, CorruptFile, LimitReached, NotFound
from dagentd.store.journal.entries import Entry

Broken = sqlite3.DatabaseError  # what a database raises that is damaged, full or in use

_VERSION = 5
_SCHEMA = """
create table journals (key integer primary key, path text unique, header text not null);
create table messages (
  journal integer, id text, rank integer, start integer, "end" integer, stamp text, core blob,
  versions blob, moves blob, here integer, moved integer, tokens integer,
  primary key (journal, id)) without rowid;
create unique index by_rank on messages (journal, rank);
create index by_here on messages (journal, rank) where here;
create index by_moved on messages (journal, moved);
"""
_VERSION_AT = struct.Struct("<q16s")  # packed: most of opening a long session was decoding these from JSON
_MOVE_AT = struct.Struct("<q?")
_COLUMNS = 'id, rank, start, "end", stamp, core, versions, moves, tokens'
_UPSERT = f"""insert into messages values ({",".join("?" * 12)})
on conflict (journal, id) do update set rank = excluded.rank, start = excluded.start, "end" = excluded."end",
  stamp = excluded.stamp, core = excluded.core, versions = excluded.versions, moves = excluded.moves,
  here = excluded.here, moved = excluded.moved, tokens = excluded.tokens"""


class Index:
    """One file per user, shared by all journals. Losing it costs one reading of each journal."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.RLock()
        self.path = path
        self.beginnings = 0  # how often it was begun anew: what was known of it before then is void
        self._closed = False
        self._db = connect(path, _SCHEMA, _VERSION)
        self.owners: weakref.WeakValueDictionary[int, JournalIndex] = weakref.WeakValueDictionary()

    def journal(self, path: Path) -> JournalIndex:
        """The index of a path, which belongs to whoever asked last: a worktree may be made again while the session of
        the former one is yet to close. Where the disk does not allow it, or the index was found damaged, in memory."""
        name = _text(str(path))
        try:
            with self.transaction() as db:
                db.execute("insert or ignore into journals (path, header) values (?, '')", (name,))
                row = db.execute("select key from journals where path = ?", (name,)).fetchone()
                if (before := self.owners.get(row[0])) is not None:
                    before.void = True
                owner = self.owners[row[0]] = JournalIndex(self, row[0], self.beginnings)
                return owner
        except (LimitReached, CorruptFile):
            return Index(None).journal(path)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, self._db:
                yield self._db
        except sqlite3.OperationalError as error:  # full, read-only, no descriptor, or another process is writing
            hint = "Free some space, and try again; nothing stored is lost."
            raise LimitReached(f"the index cannot be used now: {error}", path=self.path, hint=hint) from error
        except sqlite3.DatabaseError as error:
            self._begin_anew()
            hint = "Try again: it is a cache and was begun anew."
            raise CorruptFile(f"the index is damaged: {error}", path=self.path, hint=hint) from error

    def _begin_anew(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._db.close()
            if self.path:
                discard(self.path)
            self._db = connect(self.path, _SCHEMA, _VERSION)
            self.beginnings += 1
            for owner in list(self.owners.values()):
                owner.void = True

    def erase(self, chosen: Callable[[Path], bool]) -> None:
        """Leave nothing of these journals, not even in unused parts of the file."""
        with self.transaction() as db:
            rows = db.execute("select key, path from journals").fetchall()
            keys = [(key,) for key, path in rows if chosen(Path(_untext(path)))]
            db.executemany("delete from messages where journal = ?", keys)
            db.executemany("delete from journals where key = ?", keys)
        try:
            with self._lock:
                self._db.execute("vacuum")
                busy = self._db.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except sqlite3.OperationalError:
            busy = 1
        if busy:
            hint = "Run the command again; or stop dagentd and delete the file, it is a cache."
            raise Conflict("the index is in use, and old parts of it remain", path=self.path, hint=hint)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._db.close()


class JournalIndex:
    """The part of the index that belongs to one journal."""

    def __init__(self, index: Index, key: int, beginnings: int) -> None:
        self._index, self._key, self._beginnings = index, key, beginnings
        self.void = False  # what was saved is not there any more: the journal must be read again

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._index.transaction() as db:
            if self._index.beginnings != self._beginnings:
                raise CorruptFile("the index was begun anew", path=self._index.path, hint="Try again.")
            if self.void:
                raise NotFound("another session is in its place", hint="Ask for it again.")
            yield db

    def header(self) -> dict[str, Any] | None:
        with self._transaction() as db:
            row = db.execute("select header from journals where key = ?", (self._key,)).fetchone()
        return json.loads(row[0]) if row and row[0] else None

    def save(self, header: dict[str, Any], entries: Iterable[Entry]) -> bool:
        """All or nothing, so that the header's position speaks for every row. False if the disk does not allow it
        now."""
        try:
            with self._transaction() as db:
                db.executemany(_UPSERT, [self._row(entry) for entry in entries])
                db.execute("update journals set header = ? where key = ?", (json.dumps(header), self._key))
        except LimitReached:
            return False
        return True

    def forget(self) -> None:
        with self._transaction() as db:
            db.execute("delete from messages where journal = ?", (self._key,))
            db.execute("update journals set header = '' where key = ?", (self._key,))

    def find(self, message_id: str) -> Entry | None:
        return next(iter(self._select("id = ?", _text(message_id))), None)

    def in_chat(self) -> list[Entry]:
        return self._select("here order by rank")

    def before(self, rank: int | None, limit: int) -> list[Entry]:
        """The `limit` messages before a rank (None: the last ones), in order."""
        where = "rank < ? order by rank desc limit ?" if rank is not None else "? is null order by rank desc limit ?"
        return self._select(where, rank, limit)[::-1]

    def next_rank(self, rank: int) -> int | None:
        return self._rank("select min(rank) from messages where journal = ? and rank > ?", rank)

    def first_rank(self) -> int | None:
        return self._rank("select min(rank) from messages where journal = ?")

    def count(self) -> int:
        return self._rank("select count(*) from messages where journal = ?") or 0

    def _select(self, where: str, *values: Any) -> list[Entry]:
        with self._transaction() as db:
            sql = f"select {_COLUMNS} from messages where journal = ? and {where}"
            return [_entry(row) for row in db.execute(sql, (self._key, *values))]

    def _rank(self, sql: str, *values: int) -> int | None:
        with self._transaction() as db:
            found: int | None = db.execute(sql, (self._key, *values)).fetchone()[0]
        return found

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        moved, here = entry.moves[-1]
        return (
            self._key, _text(entry.id), entry.rank, entry.start, entry.end, entry.stamp, entry.core,
            _packed(_VERSION_AT, entry.versions), _packed(_MOVE_AT, entry.moves), here, moved, entry.tokens,
        )  # fmt: skip


def connect(path: Path | None, schema: str, version: int) -> sqlite3.Connection:
    """A database that is a cache: in memory where the disk does not allow a file."""
    if path is None:
        return _opened(":memory:", schema, version)
    try:
        return _in_file(path, schema, version)
    except sqlite3.OperationalError:  # full, read-only, no such folder, or long in use by another process
        return _opened(":memory:", schema, version)
    except sqlite3.DatabaseError:  # damaged, or of another version
        discard(path)
    try:
        return _in_file(path, schema, version)
    except sqlite3.Error:
        return _opened(":memory:", schema, version)


def header_of(file: Path, journal: Path) -> dict[str, Any] | None:
    """The header of a journal in the index in a file, for one who only reads; None where there is none, or none can be
    had just now."""
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as db:
            if db.execute("pragma user_version").fetchone()[0] != _VERSION:
                return None
            row = db.execute("select header from journals where path = ?", (_text(str(journal)),)).fetchone()
            return json.loads(row[0]) if row and row[0] else None
    except (sqlite3.Error, ValueError):
        return None


def damage(path: Path) -> str | None:
    """The damage of a database that nobody uses, in words; None if there is none. `immutable` has SQLite make no files
    beside it."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            found = db.execute("pragma quick_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else str(found)


def discard(path: Path) -> None:
    """It is a cache."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            disk.remove(Path(f"{path}{suffix}"))


def _in_file(path: Path, schema: str, wanted: int) -> sqlite3.Connection:
    """SQLite would make it for all to read; what it makes beside it is like it."""
    with contextlib.suppress(OSError):  # it is there, or cannot be: then SQLite says so
        os.close(disk.create(path))
    return _opened(str(path), schema, wanted)


def _opened(name: str, schema: str, wanted: int) -> sqlite3.Connection:
    db = sqlite3.connect(name, check_same_thread=False, timeout=5)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        version = db.execute("pragma user_version").fetchone()[0]
        if version not in (0, wanted):
            raise sqlite3.DatabaseError(f"index version {version}")
        if version == 0:
            db.executescript(f"begin; {schema} pragma user_version = {wanted}; commit;")
        db.execute("select count(*) from journals").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _entry(row: tuple[Any, ...]) -> Entry:
    message_id, rank, start, end, stamp, core, versions, moves, tokens = row
    held: list[tuple[int, bytes]] = list(_VERSION_AT.iter_unpack(versions))
    moved: list[tuple[int, bool]] = list(_MOVE_AT.iter_unpack(moves))
    return Entry(_untext(message_id), rank, start, end, stamp, core, held, moved, None, tokens)


def _packed(form: struct.Struct, pairs: Sequence[tuple[Any, Any]]) -> bytes:
    return form.pack(*pairs[0]) if len(pairs) == 1 else b"".join([form.pack(*pair) for pair in pairs])


def _text(message_id: str) -> str:
    """SQLite holds UTF-8 only, and an id may hold half an emoji: such a one is stored as JSON text."""
    try:
        message_id.encode()
    except UnicodeEncodeError:
        return json.dumps(message_id)
    return message_id if not message_id.startswith('"') else json.dumps(message_id)


def _untext(stored: str) -> str:
    text: str = json.loads(stored) if stored.startswith('"') else stored
    return text
