"""Searching sessions: their words are indexed when somebody searches, from where the last search ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dagentd.adapters.files import beneath
from dagentd.errors import DagentdError
from dagentd.model import conversation, records, times
from dagentd.model.jsontext import Undecodable
from dagentd.model.query import Query, indexed
from dagentd.store.journal.index import Broken, discard
from dagentd.store.journal.journal import Journal, Line
from dagentd.store.search_index import Known, Row, SearchIndex, Text
from dagentd.waiting import right_of_way

Message = dict[str, Any]
Found = tuple[Path, Message]  # a journal and a message in it

_BATCH = 1 << 16  # bytes of journal that are indexed at a time
_SPARE_FOR = 10.0  # seconds
_queue, _turn = threading.Lock(), threading.Lock()


@contextlib.contextmanager
def _in_turn() -> Iterator[None]:
    """One thread at a time writes to the index, a batch each, and whoever waits comes before one who just had it: a
    search of one session does not wait for another search to index all that there is."""
    with _queue:
        _turn.acquire()
    try:
        yield
    finally:
        _turn.release()


class Altered(Exception):
    """A journal is not what was indexed."""

    def __init__(self, journal: int) -> None:
        self.journal = journal


def in_journals(index: Path | None, query: Query, journals: Iterable[Path], limit: int) -> list[Found]:
    """The best first. An index that is damaged is made again, and in memory where there can be no file."""
    paths = list(journals)
    for place in (index, index) if index else ():
        with contextlib.suppress(Broken), _spares.using(place) as texts:
            return _in_journals(texts, query, paths, limit)
        forget(place)
    with contextlib.closing(SearchIndex(None)) as texts:
        return _in_journals(texts, query, paths, limit)


class _Spares:
    """An index that was used stays open for a moment, one of each: SQLite syncs three times when the last one who has a
    file open closes it and the next one writes, and whoever searches for what was just said waited for that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, tuple[SearchIndex, threading.Timer]] = {}

    @contextlib.contextmanager
    def using(self, index: Path) -> Iterator[SearchIndex]:
        texts = self._taken(index)
        if texts is None:
            with _in_turn():
                texts = SearchIndex(index)
        try:
            yield texts
        except BaseException:
            texts.close()
            raise
        self._keep(index, texts)

    def _taken(self, index: Path) -> SearchIndex | None:
        with self._lock:
            texts, timer = self._held.pop(index, (None, None))
        if texts is None or timer is None:
            return None
        timer.cancel()
        if texts.in_place:
            return texts
        texts.close()
        return None

    def _keep(self, index: Path, texts: SearchIndex) -> None:
        timer = threading.Timer(_SPARE_FOR, self.close, (index, texts))
        timer.daemon = True
        with self._lock:
            kept = texts.in_place and self._held.setdefault(index, (texts, timer))[0] is texts
            if kept:
                timer.start()
        if not kept:
            texts.close()

    def close(self, index: Path, only: SearchIndex | None = None) -> None:
        with self._lock:
            texts, timer = self._held.get(index, (None, None))
            if texts is None or timer is None or only not in (None, texts):
                return
            del self._held[index]
        timer.cancel()
        texts.close()


_spares = _Spares()


def forget(index: Path) -> None:
    """Begin anew: words of what was forgotten are in no index that is made from now on."""
    _spares.close(index)
    with _in_turn():
        discard(index)


def _in_journals(texts: SearchIndex, query: Query, paths: list[Path], limit: int) -> list[Found]:
    """A journal that does not hold what was indexed is indexed again; one that goes on changing is left out."""
    again: set[Path] = set()
    while True:
        keys = _followed(texts, paths)
        try:
            pairs = matches(texts, query, keys, partial(_read, keys), limit)
            return [(keys[row.journal], message) for row, message in pairs]
        except Altered as error:
            with _in_turn():
                texts.forget(error.journal)
            path = keys[error.journal]
            paths = [each for each in paths if each != path or path not in again]
            again.add(path)


def _followed(texts: SearchIndex, paths: list[Path]) -> dict[int, Path]:
    """The journals that can be read, by their keys, with everything indexed that is in them."""
    found = {known.key: path for path in paths if (known := follow(texts, path)) is not None}
    if texts.untidy:
        with _in_turn():
            anew = texts.tidy()
        return _followed(texts, paths) if anew else found
    return found


def follow(texts: SearchIndex, path: Path) -> Known | None:
    """Index what a journal has gained. None if it cannot be read, which `status` tells."""
    try:
        while (known := _index(texts, path)) is None:
            continue
        return known
    except (OSError, DagentdError):
        return None


def _index(texts: SearchIndex, path: Path) -> Known | None:
    """From where it ends in the index. None if another search went on from there meanwhile: its work counts."""
    status = beneath.status(path)
    # A link changes ctime too, but nothing can change the content and leave it.
    seen = f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_ctime_ns}"
    known = texts.known(path) or _made_known(texts, path)
    if known.seen == seen:
        return known
    with contextlib.closing(Journal.open_read(path)) as journal:
        if known.pos and journal.checksum_at(known.pos) != known.sum:
            with _in_turn():
                texts.forget(known.key)
            known = Known(known.key)
        for batch in _batches(journal.groups(known.pos)):
            end = batch[-1].end  # of the last batch mostly that of the file, so that a short search takes one turn
            as_seen = seen if end == status.st_size else ""
            reached = replace(known, pos=end, sum=records.checksum(batch[-1].data), seen=as_seen)
            if not _add(texts, path, known, reached, list(filter(None, map(_text, right_of_way.behind(batch))))):
                return None
            known = reached
            right_of_way.leave()  # a second batch is of one who has much to index: others come first from now on
    if known.seen == seen:
        return known
    reached = replace(known, seen=seen)
    return reached if _add(texts, path, known, reached, []) else None


def _made_known(texts: SearchIndex, path: Path) -> Known:
    with _in_turn():
        return texts.journal(path)


def _add(texts: SearchIndex, path: Path, known: Known, reached: Known, found: list[Text]) -> bool:
    with _in_turn():
        if texts.journal(path) != known:
            return False
        texts.add(reached, found)
        return True


def _batches(groups: Iterator[list[Line]]) -> Iterator[list[Line]]:
    """Also parts of a group, which may be all of an import: it is whole, so that all of it counts."""
    batch: list[Line] = []
    for line in right_of_way.behind(chain.from_iterable(groups)):
        batch.append(line)
        if line.end - batch[0].start >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _text(line: Line) -> Text | None:
    raw = line.record.body.get("message")
    if line.record.t not in ("message", "edit") or not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        return None
    return text_of(raw, line.start, line.end, line.record.at, edit=line.record.t == "edit")


def text_of(raw: Message, start: int, end: int, at: str, edit: bool = False) -> Text:
    moment = times.parse(raw.get("timestamp")) or times.parse(at)
    when = int(moment.timestamp() * 1000) if moment else 0
    return Text(_name(raw), start, end, when, indexed(conversation.text(raw.get("content"))), edit)


def _name(raw: Message) -> bytes:
    return str(raw.get("id")).encode("utf-8", "surrogatepass")


def _read(paths: dict[int, Path], row: Row) -> Message:
    try:
        with contextlib.closing(Journal.open_read(paths[row.journal])) as journal:
            raw = journal.read_record(row.start, row.end).body.get("message")
    except (OSError, DagentdError, Undecodable) as error:
        raise Altered(row.journal) from error
    if not isinstance(raw, dict) or _name(raw) != row.id:
        raise Altered(row.journal)
    return raw


def matches(
    texts: SearchIndex, query: Query, journals: Iterable[int], read: Callable[[Row], Message], limit: int
) -> list[tuple[Row, Message]]:
    """By the words of the query; one that has no words is looked for in the text itself, the newest first."""
    if query.terms:
        return [(row, read(row)) for row in texts.match(query.expression, journals, limit)]
    pairs = ((row, read(row)) for row in texts.newest(journals) if query.literals)
    return list(islice(((row, raw) for row, raw in pairs if query.literally_in(_said(raw))), limit))


def _said(raw: Message) -> str:
    return conversation.text(raw.get("content"))
