"""The cache of transcripts, in SQLite: where they were and how far they are read, and what was made of their lines. It
is made again from the kept transcripts when it is gone."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd.agents.conversation import Usage
from dagentd.errors import CorruptFile, LimitReached
from dagentd.store.journal.index import Broken, connect, discard

_VERSION = 2
_SCHEMA = """
create table sources (
  path blob primary key, agent text, name text, part integer, dev integer, ino integer, size integer, mtime integer,
  ctime integer, cwd text) without rowid;
create index by_name on sources (agent, name);
create table journals (
  key integer primary key, agent text, name text, part integer, version text, pos integer, state text, facts text,
  unique (agent, name, part));
create table messages (
  journal integer, seq integer, id blob, start integer, primary key (journal, seq)) without rowid;
create unique index by_id on messages (journal, id);
create table marks (
  journal integer, pos integer, seq integer, state text, primary key (journal, pos)) without rowid;
create table usage (
  id blob primary key, journal integer, at text, model text, input integer, output integer, cache_read integer,
  cache_write integer, reasoning integer, cost real, by_fork integer) without rowid;
create index by_journal on usage (journal);
"""
_LARGER = ", ".join(f"{name} = max({name}, excluded.{name})"
                    for name in ("input", "output", "cache_read", "cache_write", "reasoning"))  # fmt: skip
_ORIGINS = (
    "journal = iif(by_fork > excluded.by_fork, excluded.journal, journal), by_fork = min(by_fork, excluded.by_fork)"
)

Mark = tuple[int, int, int, int, int]


def mark_of(status: os.stat_result) -> Mark:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextlib.contextmanager
def explained(path: Path | None, begin_anew: Callable[[], None]) -> Iterator[None]:
    """A cache that is damaged is begun anew; one that is full, or long in use by another process, is not."""
    try:
        yield
    except Broken as error:
        if type(error).__name__ == "OperationalError":
            hint = "Free some space, and try again; nothing stored is lost."
            raise LimitReached(f"the index cannot be used now: {error}", path=path, hint=hint) from error
        begin_anew()
        raise CorruptFile(f"the index is damaged: {error}", path=path, hint="Try again.") from error


@dataclass(frozen=True)
class Seen:
    """A file of an agent as it was when all of it was read. `part` is where it is kept, None if it is not ours."""

    path: Path
    mark: Mark
    part: int | None
    cwd: str | None = None


@dataclass
class Read:
    """How far the lines of one part were read, by which version of ours, and what they told."""

    key: int
    name: str
    part: int
    version: str
    pos: int
    state: dict[str, Any] | None
    facts: dict[str, Any] = field(default_factory=dict)


class Known:
    """Any thread may ask. Where the disk allows no file, it is in memory, and the next start reads again."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, threading.RLock()
        self._db = connect(path, _SCHEMA, _VERSION)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        with explained(self._path, self._begin_anew), self._lock, self._db:
            yield self._db

    def _begin_anew(self) -> None:
        with self._lock:
            self._db.close()
            if self._path is not None:
                discard(self._path)
            self._db = connect(self._path, _SCHEMA, _VERSION)

    # --- files of agents ----------------------------------------------------------------------------------------

    def seen(self, agent: str) -> dict[Path, Seen]:
        with self.transaction() as db:
            rows = db.execute(
                "select path, part, dev, ino, size, mtime, ctime, cwd from sources where agent = ?", (agent,)
            ).fetchall()
        return {(path := Path(os.fsdecode(row[0]))): Seen(path, tuple(row[2:7]), row[1], row[7]) for row in rows}

    def seen_of(self, agent: str, name: str) -> list[Seen]:
        """The files that one conversation was read from."""
        with self.transaction() as db:
            rows = db.execute(
                "select path, part, dev, ino, size, mtime, ctime, cwd from sources where agent = ? and name = ?",
                (agent, name),
            ).fetchall()
        return [Seen(Path(os.fsdecode(row[0])), tuple(row[2:7]), row[1], row[7]) for row in rows]

    def saw(self, agent: str, name: str, seen: Seen) -> None:
        row = (os.fsencode(seen.path), agent, name, seen.part, *seen.mark, _text(seen.cwd))
        with self.transaction() as db:
            db.execute(f"insert or replace into sources values ({','.join('?' * 10)})", row)

    # --- lines --------------------------------------------------------------------------------------------------

    def read(self, agent: str, name: str, part: int) -> Read:
        """Made known with this, if it is not: who only reads waits for nobody who writes."""
        sql = (
            "select key, name, part, version, pos, state, facts from journals where agent = ? and name = ? and part = ?"
        )
        with self.transaction() as db:
            row = db.execute(sql, (agent, name, part)).fetchone()
            if row is None:
                db.execute("insert or ignore into journals values (null, ?, ?, ?, '', 0, '', '')", (agent, name, part))
                row = db.execute(sql, (agent, name, part)).fetchone()
        return _read(row)

    def all_read(self, agent: str) -> list[Read]:
        with self.transaction() as db:
            rows = db.execute(
                "select key, name, part, version, pos, '', facts from journals where agent = ? order by name, part",
                (agent,),
            ).fetchall()
        return [_read(row) for row in rows]

    def add(self, read: Read, start: int, messages: list[tuple[str, int]], usages: list[Usage], mark: bool) -> bool:
        """Add what some more lines from `start` on told: all or nothing, so that the position speaks for every row. An
        answer counts once, in whatever files it is, by its largest numbers. False, and nothing, if another process has
        read these lines meanwhile."""
        count = int(read.facts.get("messages", 0))
        state = json.dumps(read.state)
        read.facts["messages"] = count + len(messages)
        with self.transaction() as db:
            sql = "update journals set version = ?, pos = ?, state = ?, facts = ? where key = ? and pos = ?"
            done = db.execute(sql, (read.version, read.pos, state, json.dumps(read.facts), read.key, start))
            if not done.rowcount:
                return False
            for seq, (message_id, line) in enumerate(messages, count):
                db.execute("insert into messages values (?, ?, ?, ?)", (read.key, seq, _bytes(message_id), line))
            db.executemany(
                f"insert into usage values ({','.join('?' * 11)}) on conflict (id) do update set {_LARGER}, {_ORIGINS}",
                [(_bytes(use.key), read.key, use.at, use.model, use.input, use.output, use.cache_read, use.cache_write,
                  use.reasoning, use.cost, use.by_fork) for use in usages],
            )  # fmt: skip
            if mark:
                db.execute("insert or replace into marks values (?, ?, ?, ?)",
                           (read.key, read.pos, read.facts["messages"], state))  # fmt: skip
        return True

    def has(self, read: Read, message_id: str) -> bool:
        with self.transaction() as db:
            sql = "select 1 from messages where journal = ? and id = ?"
            return db.execute(sql, (read.key, _bytes(message_id))).fetchone() is not None

    @property
    def has_messages(self) -> bool:
        with self.transaction() as db:
            return db.execute("select 1 from messages limit 1").fetchone() is not None

    def forget(self, agent: str, name: str, part: int | None = None) -> None:
        """Forget what was made of a conversation's lines, of all parts or of one."""
        with self.transaction() as db:
            rows = db.execute("select key, part from journals where agent = ? and name = ?", (agent, name)).fetchall()
            for key, number in rows:
                if part in (None, number):
                    for table in ("messages", "marks", "usage"):
                        db.execute(f"delete from {table} where journal = ?", (key,))
                    db.execute("delete from journals where key = ?", (key,))
            if part is None:
                db.execute("delete from sources where agent = ? and name = ?", (agent, name))

    def forget_all(self) -> None:
        """All that was made of lines; nothing of it is left in unused parts of the file."""
        with self.transaction() as db:
            for table in ("messages", "marks", "usage", "journals"):
                db.execute(f"delete from {table}")
        with self._lock, contextlib.suppress(Broken):  # another process reads: its next start does it
            self._db.execute("vacuum")
            self._db.execute("pragma wal_checkpoint(truncate)").fetchone()

    def mark_before(self, read: Read, seq: int) -> tuple[int, int, dict[str, Any] | None]:
        """The last place before a message from which its part can be read: position, messages before it, state."""
        with self.transaction() as db:
            sql = "select pos, seq, state from marks where journal = ? and seq <= ? order by pos desc limit 1"
            row = db.execute(sql, (read.key, seq)).fetchone()
        return (row[0], row[1], json.loads(row[2])) if row else (0, 0, None)

    def seq_of(self, read: Read, message_id: str) -> int | None:
        with self.transaction() as db:
            sql = "select seq from messages where journal = ? and id = ?"
            row = db.execute(sql, (read.key, _bytes(message_id))).fetchone()
        return row[0] if row else None

    def start_of(self, read: Read, message_id: str) -> int | None:
        """Where the first line of a message begins."""
        with self.transaction() as db:
            sql = "select start from messages where journal = ? and id = ?"
            row = db.execute(sql, (read.key, _bytes(message_id))).fetchone()
        return row[0] if row else None

    def count(self, keys: list[int]) -> int:
        """The messages of these parts, each once."""
        with self.transaction() as db:
            sql = "select count(distinct id) from messages where journal in (select value from json_each(?))"
            found: int = db.execute(sql, (json.dumps(keys),)).fetchone()[0]
        return found

    def usages(self, agent: str) -> list[tuple[str, Usage]]:
        """Each answer, with the conversation that it was given in, or else first seen."""
        with self.transaction() as db:
            rows = db.execute(
                "select name, id, at, model, input, output, cache_read, cache_write, reasoning, cost "
                "from usage join journals on journals.key = usage.journal where agent = ?", (agent,)
            ).fetchall()  # fmt: skip
        return [(name, Usage(key.decode("utf-8", "surrogatepass"), *rest)) for name, key, *rest in rows]


def _read(row: tuple[Any, ...]) -> Read:
    key, name, part, version, pos, state, facts = row
    return Read(key, name, part, version, pos, json.loads(state or "null"), json.loads(facts or "{}"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(cwd: str | None) -> str | None:
    """SQLite holds UTF-8 only."""
    return None if cwd is None else cwd.encode("utf-8", "replace").decode()
