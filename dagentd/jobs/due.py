"""Everything that is due, once: for a feature, as the daemon does it in the feature's turn, or for a whole project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from dagentd import paths
from dagentd.errors import DagentdError
from dagentd.jobs import context, migration
from dagentd.jobs.archive import archive_ended, ends_of
from dagentd.jobs.context import Checkouts
from dagentd.jobs.migration import File, Seen
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder
from dagentd.model.report import Line, Report
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.ledger import ledger
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from dagentd.waiting import apart, pause


@dataclass(frozen=True)
class Done:
    """`sources` are the files elsewhere in the worktree that the contexts are made from; `files` those of older
    formats, None if nobody looked for them."""

    lines: list[Line]
    problems: list[Problem]
    sources: frozenset[Path]
    files: list[File] | None = None


def all_of(
    store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts, seen: Seen, *, everything: bool = True
) -> Done:
    """Files of older formats become sessions; each session gets its journal, its documents and its context, and is
    archived if its time has come. Without `everything` only those are opened whose files are not as they were when
    last looked at."""
    files = migration.automatic(store, feature, settings, seen)
    lines = reconcile(store, feature, everything=everything)
    renewed = Done([], [], frozenset())
    with apart():
        renewed = renewal_of(store, feature, settings, shared)
    return replace(renewed, lines=_merged([*_migrated(files, feature), *lines, *renewed.lines]), files=files)


def reconcile(store: Store, feature: FeatureFolder, *, everything: bool = True) -> list[Line]:
    """Each session gets its journal and its documents, and what others wrote is taken in."""
    journals = {folder.journal for folder in layout.sessions(feature) if folder.journal.exists()}
    turns = store.reconciler.in_turn(feature, everything=everything)
    return [_line(session, session.folder.journal in journals) for session in turns]


def _line(session: Session, had_journal: bool) -> Line:
    taken = session.take_news()
    done = [] if had_journal else ["journal made"]
    if had_journal and taken:
        done.append(f"{taken} outside change{'' if taken == 1 else 's'} taken in")
    worktree, status = session.folder.feature.tree.name, session.fields.get("status")
    return Line(session.id, worktree, status, session.in_chat, ", ".join(done), session.problems)


def migrations_of(store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts, seen: Seen) -> Done:
    """The first of these alone, and what follows from it for the sessions that it made."""
    files = migration.automatic(store, feature, settings, seen)
    if not (lines := _migrated(files, feature)):
        return Done([], [], frozenset(), files)
    renewed = Done([], [], frozenset())
    with apart():
        renewed = renewal_of(store, feature, settings, shared)
    return replace(renewed, lines=_merged([*lines, *renewed.lines]), files=files)


def together(done: list[Done]) -> Done:
    """For one feature that was looked at again because some of it had to wait."""
    return replace(done[-1], lines=_merged([line for each in done for line in each.lines]))


def _migrated(files: list[File], feature: FeatureFolder) -> list[Line]:
    done = [file for file in files if file.action in migration.DUE and file.added is not None]
    told = [(str(file.session_id), f"{_counted(file.added or 0)} from {_name(file.path, feature)}") for file in done]
    return [Line(session_id, feature.tree.name, None, 0, said, []) for session_id, said in told]


def _counted(messages: int) -> str:
    return f"{messages} message{'' if messages == 1 else 's'}"


def _name(path: str, feature: FeatureFolder) -> str:
    return Path(path).relative_to(feature.path).as_posix()


def _merged(lines: list[Line]) -> list[Line]:
    """One for each session: the last that tells most of it, with all that was done."""
    found: dict[str, Line] = {}
    for line in lines:
        known = found.get(line.session_id)
        more = line if known is None or line.status is not None else known
        found[line.session_id] = replace(more, done=_joined(known.done if known else "", line.done))
    return list(found.values())


def renewal_of(store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts) -> Done:
    """Renew what follows from the feature and its worktree: contexts, and the end of sessions."""
    rebuilt = context.rebuild(store, feature, settings, shared)
    done = {folder.id: "context written" for folder in rebuilt.written}
    ends = partial(shared.read_once, read=ends_of)
    for session_id in archive_ended(store, feature, settings, ends):
        done[session_id] = _joined(done.get(session_id, ""), "archived")
    lines = [Line(session_id, feature.tree.name, None, 0, told, []) for session_id, told in done.items()]
    return Done(lines, rebuilt.problems(), rebuilt.sources)


def in_project(store: Store, settings: Settings) -> Report:
    store.reconciler.look_around()
    shared = Checkouts()
    done = [each for feature in store.catalogue.features() for each in _to_the_end(store, feature, settings, shared)]
    compacted = list(_compacted(store, settings))
    found = report(store, done)
    return replace(found, lines=_merged([*found.lines, *compacted]))


def _compacted(store: Store, settings: Settings) -> Iterator[Line]:
    """Compact the sessions that are over their budget, and say what came of it."""
    from dagentd.jobs.compaction import Compactor, How  # the daemon has its own way to it, and starts without
    from dagentd.jobs.scales import room

    compactor = Compactor(ledger(paths.ledger_file()))
    for folder in store.catalogue.folders():
        if store.pauses.on(folder.id) or room(folder, settings) > 0:
            continue
        with store.sessions.use(folder) as session:
            if not compactor.scales.fullness(session, settings).due:
                continue
            try:
                done = compactor.compact(session, settings, How())
                told = f"{done['messagesCompacted']} messages compacted by {done['method']}"
            except DagentdError as error:
                told = f"not compacted: {error.message}"
            yield Line(folder.id, folder.feature.tree.name, None, 0, told, [])


def _to_the_end(store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts) -> Iterator[Done]:
    """Also what must wait for a moment: nobody comes again."""
    yield all_of(store, feature, settings, shared, Seen())
    while (seconds := store.contexts.due(feature.path)) is not None:
        pause(seconds)
        yield renewal_of(store, feature, settings, shared)


def report(store: Store, done: list[Done]) -> Report:
    lines = [line for each in done for line in each.lines]
    own = [problem for line in lines for problem in line.problems]
    others = [problem for each in done for problem in (*each.problems, *migration.problems(each.files or []))]
    return Report(lines, [*store.problems, *own, *others])


def _joined(*done: str) -> str:
    return ", ".join(filter(None, done))
