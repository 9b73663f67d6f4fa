"""The words of all messages, in SQLite's FTS5: a cache, made again from the journals when it is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.files import marks
from dagentd.model.query import TOKENS
from dagentd.store.journal.index import connect

_VERSION = 1
# Without content: the text is in the journals, and a copy of it would make this file four times as large. SQLite can
# then delete no words; those of a message that was edited or forgotten lead nowhere, because its key is gone.
_SCHEMA = f"""
create table journals (key integer primary key, path blob unique, pos integer, sum text, seen text);
create table messages (
  key integer primary key autoincrement, journal integer, id blob, start integer, "end" integer, at integer);
create unique index by_id on messages (journal, id);
create index by_time on messages (at, key);
create virtual table words using fts5 (text, content = '', tokenize = "{TOKENS}");
"""
_FOUND = """select messages.journal, id, start, "end" from words join messages on messages.key = words.rowid
where words match ? and journal in (select value from json_each(?)) order by words.rank, at desc, key desc limit ?"""
_NEWEST = """select journal, id, start, "end" from messages
where journal in (select value from json_each(?)) order by at desc, key desc"""
_SPARE = 10_000  # dead words that are not worth a new beginning


@dataclass(frozen=True, slots=True)
class Text:
    """A message to be indexed: where its record is, when it was written, its words."""

    id: bytes
    start: int
    end: int
    at: int
    words: str
    edit: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    journal: int
    id: bytes
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Known:
    """How far a journal is indexed: its position as in `State`, and the file's identity when it was last read."""

    key: int
    pos: int = 0
    sum: str = ""
    seen: str = ""


class SearchIndex:
    """Open only while it is used, and a little longer: an idle daemon holds nothing of it."""

    def __init__(self, path: Path | None) -> None:
        self._db = connect(path, _SCHEMA, _VERSION)
        self._name: str = self._db.execute("pragma database_list").fetchone()[2]  # empty: it is in memory
        self._file = (marks.of(self._name) or ())[:2]

    @property
    def in_place(self) -> bool:
        """Whether it is a file, and the one that has its name now."""
        return bool(self._name and self._file) and (marks.of(self._name) or ())[:2] == self._file

    @property
    def is_empty(self) -> bool:
        return self._db.execute("select 1 from journals limit 1").fetchone() is None

    def close(self) -> None:
        self._db.close()

    def journal(self, path: Path) -> Known:
        """Made known with this, if it is not."""
        if (known := self.known(path)) is not None:
            return known
        with self._db as db:
            db.execute("insert into journals values (null, ?, 0, '', '')", (os.fsencode(path),))
        return self.journal(path)

    def known(self, path: Path) -> Known | None:
        sql = "select key, pos, sum, seen from journals where path = ?"
        row = self._db.execute(sql, (os.fsencode(path),)).fetchone()
        return None if row is None else Known(*row)

    def add(self, reached: Known, texts: Iterable[Text]) -> None:
        """All or nothing. A message that is known stays as it is, unless this is its edit."""
        with self._db as db:
            new = self._new(reached.key, texts)
            row = db.execute("select seq from sqlite_sequence where name = 'messages'").fetchone()
            keyed = list(enumerate(new.values(), (row[0] if row else 0) + 1))
            db.executemany(
                "insert or replace into messages values (?, ?, ?, ?, ?, ?)",
                [(key, reached.key, text.id, text.start, text.end, text.at) for key, text in keyed],
            )
            db.executemany("insert into words (rowid, text) values (?, ?)", [(key, text.words) for key, text in keyed])
            db.execute("update journals set pos = ?, sum = ?, seen = ? where key = ?",
                       (reached.pos, reached.sum, reached.seen, reached.key))  # fmt: skip

    def _new(self, journal: int, texts: Iterable[Text]) -> dict[bytes, Text]:
        new: dict[bytes, Text] = {}
        for text in texts:
            if text.edit or not (text.id in new or self._has(journal, text.id)):
                new[text.id] = text
        return new

    def _has(self, journal: int, message_id: bytes) -> bool:
        sql = "select 1 from messages where journal = ? and id = ?"
        return self._db.execute(sql, (journal, message_id)).fetchone() is not None

    def forget(self, journal: int) -> None:
        with self._db as db:
            db.execute("delete from messages where journal = ?", (journal,))
            db.execute("update journals set pos = 0, sum = '', seen = '' where key = ?", (journal,))

    def tidy(self) -> bool:
        """Forget journals that are gone. True if by then most words led nowhere and everything was forgotten."""
        for key in self._gone():
            self.forget(key)
        if not self._mostly_dead():
            return False
        with self._db as db:
            db.execute("insert into words (words) values ('delete-all')")
            for table in ("messages", "journals", "sqlite_sequence"):
                db.execute(f"delete from {table}")
        return True

    @property
    def untidy(self) -> bool:
        """Whether there is something to tidy; whoever only asks waits for nobody who writes."""
        return bool(self._gone()) or self._mostly_dead()

    def _gone(self) -> list[int]:
        rows = self._db.execute("select key, path from journals where pos").fetchall()
        return [key for key, path in rows if not os.path.lexists(path)]

    def _mostly_dead(self) -> bool:
        used = self._db.execute("select max(seq) from sqlite_sequence").fetchone()[0] or 0
        return used > _SPARE and used > 2 * self._db.execute("select count(*) from messages").fetchone()[0] + _SPARE

    def match(self, expression: str, journals: Iterable[int], limit: int) -> list[Row]:
        """The best by bm25; of equally good ones the newest."""
        return [Row(*row) for row in self._db.execute(_FOUND, (expression, json.dumps(list(journals)), limit))]

    def newest(self, journals: Iterable[int]) -> Iterator[Row]:
        return (Row(*row) for row in self._db.execute(_NEWEST, (json.dumps(list(journals)),)))
