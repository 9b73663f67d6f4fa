"""`session.search`: full text over what was said, in chat and since it left, with an excerpt of each hit."""

from __future__ import annotations

import contextlib
from collections.abc import Sized
from typing import Any

from dagentd.errors import DagentdError, NotFound
from dagentd.model import conversation
from dagentd.model.project import SessionFolder
from dagentd.model.query import Excerpt, Query, snippet
from dagentd.store import session_search as searching
from dagentd.store.search_index import SearchIndex
from dagentd.store.session_search import Message
from dagentd.store.store import Store
from dagentd.waiting import right_of_way

MOST = 1000  # hits
_ALL = 1 << 60

Hits = list[dict[str, Any]]
Said = tuple[SessionFolder, Message]


def search(
    stores: list[Store], text: str, session_id: str | None, limit: int, excerpt: Excerpt = snippet
) -> tuple[Hits, list[DagentdError]]:
    """By the index beside dagentd's own, else, for one who may not write there, by reading everything; and why some of
    it could not be read."""
    if len(stores) == 1 and stores[0].search_file is None:
        return by_reading(stores[0], text, session_id, limit, excerpt)
    return by_index(stores, text, session_id, limit, excerpt), []


def by_index(stores: list[Store], text: str, session_id: str | None, limit: int, excerpt: Excerpt = snippet) -> Hits:
    """In the sessions that are on disk now and in what was kept of others, from their journals and the index beside
    dagentd's own."""
    query = Query(text)
    with right_of_way:
        sessions = {folder.journal: folder for store in stores for folder in _folders(store, session_id)}
        _check_found(sessions, session_id)
        index = stores[0].search_file if stores else None
        found = searching.in_journals(index, query, sessions, min(limit, MOST))
        return [_hit(sessions[journal], message, query, excerpt) for journal, message in found]


def by_reading(
    store: Store, text: str, session_id: str | None, limit: int, excerpt: Excerpt = snippet
) -> tuple[Hits, list[DagentdError]]:
    """In sessions as one who may not write sees them, with an index that ends with the search; and why some of them
    could not be read."""
    query, folders = Query(text), _folders(store, session_id)
    _check_found(folders, session_id)
    errors: list[DagentdError] = []
    held: list[Said] = []
    with contextlib.closing(SearchIndex(None)) as texts:
        for folder in folders:
            try:
                _read(store, folder, texts, held)
            except DagentdError as error:
                errors.append(error)
        keys = [texts.journal(folder.journal).key for folder in folders]
        found = searching.matches(texts, query, keys, lambda row: held[row.start][1], min(limit, MOST))
    return [_hit(held[row.start][0], message, query, excerpt) for row, message in found], errors


def _read(store: Store, folder: SessionFolder, texts: SearchIndex, held: list[Said]) -> None:
    with store.sessions.use(folder) as session:
        messages = session.history(limit=_ALL)[0]
    known, begin = texts.journal(folder.journal), len(held)
    texts.add(known, [searching.text_of(raw, number, number, "") for number, raw in enumerate(messages, begin)])
    held += [(folder, raw) for raw in messages]


def _folders(store: Store, session_id: str | None) -> list[SessionFolder]:
    return [folder for folder in store.catalogue.everything() if session_id in (None, folder.id)]


def _check_found(folders: Sized, session_id: str | None) -> None:
    if session_id is not None and not folders:
        raise NotFound(f"no session {session_id!a}", hint="dagentd sessions")


def _hit(folder: SessionFolder, message: Message, query: Query, excerpt: Excerpt) -> dict[str, Any]:
    said = excerpt(conversation.text(message.get("content")), query)
    kept = {"role": message.get("role"), "timestamp": message.get("timestamp")}
    gone = {"gone": True} if folder.gone else {}
    return {"sessionId": folder.id, "messageId": message["id"], **kept, "snippet": said, **gone}
