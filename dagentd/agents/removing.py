"""Putting a deleted transcript back, forgetting a conversation with all its traces, and removing a text from all."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.agents import finding, records
from dagentd.agents.conversation import Transcript
from dagentd.agents.following import Following
from dagentd.agents.keeping import Part
from dagentd.agents.reading import Reading
from dagentd.agents.sessions import Kept, Sessions
from dagentd.errors import Conflict, CorruptFile, DagentdError, NotAllowed
from dagentd.model.scrubbed_text import Trace, masked, spans, trace_of

_PIECE = 1 << 20


# --- restore ------------------------------------------------------------------------------------------------------


def restore(following: Following, sessions: Sessions, session_id: str) -> list[Path]:
    """Write a transcript that the agent has deleted where it looks for it, and what belongs to it; which files."""
    kept = sessions.find(session_id)
    if kept.parent is not None:
        raise NotAllowed(
            "a subagent's conversation comes back with its parent's", hint=f"dagentd restore {kept.parent}"
        )
    source = sessions.state(kept).source
    if source is None:
        raise NotAllowed("where the agent had it is not known", hint=f"dagentd export --raw {session_id}")
    _check_absent(following, kept)
    target, folder = Path(source.removesuffix(".zst")), following.keep(kept.agent).files_folder(kept.key)
    with _in_its_folders(kept, target):
        asides = [each for each in sessions.all() if each.parent == kept.id and sessions.state(each).source]
        parts = {Path(str(sessions.state(each).source)): each.parts[-1] for each in asides}
        held = [path for path in folder.rglob("*") if path.is_file()]
        files = {target.with_suffix("") / path.relative_to(folder): path for path in held}
        _check_unlinked([target, *parts, *files], session_id)
        written = [_put_back(kept.parts[-1], target)]
        written += [_put_back(part, path) for path, part in parts.items() if disk.is_missing(path)]
        for back, path in sorted(files.items()):
            if disk.is_missing(back):
                disk.make_folders(back.parent)
                atomic.put(back, fileio.read(path, fileio.CHAT_LIMIT))
                written.append(back)
    return written


def _check_absent(following: Following, kept: Kept) -> None:
    """An agent refuses to go on with a conversation that it has twice."""
    for found in finding.look([kept.agent]).files:
        if isinstance(found.what, Transcript) and (found.what.uuid, found.what.subagent) == (kept.key, None):
            raise Conflict(
                "the agent has this conversation", path=found.path, hint=" ".join(kept.agent.resume(kept.key))
            )


def _in_its_folders(kept: Kept, target: Path) -> contextlib.AbstractContextManager[None]:
    """Behind a link in them there could be anybody's files, and the agent's would not be found again by us."""
    roots = finding.roots(kept.agent)
    if not any(map(target.is_relative_to, roots)):
        raise NotAllowed("the agent does not look there now", path=target, hint=f"dagentd export --raw {kept.id}")
    return beneath.within(roots)


def _check_unlinked(paths: list[Path], session_id: str) -> None:
    """Before the first is written; a link that is put there later is refused when it is met."""
    for path in filter(beneath.leads_out, paths):
        hint = f"Remove the link, or: dagentd export --raw {session_id}"
        raise NotAllowed("is a symbolic link, or lies behind one", path=path, hint=hint)


def _put_back(part: Part, target: Path) -> Path:
    with disk.explained(target):
        disk.make_folders(target.parent)
        with part.opened() as stream:
            try:
                atomic.publish(target, iter(lambda: stream.read(_PIECE), b""), expect=None, sync=True)
            except atomic.Changed:  # a folder or a FIFO is no conversation of the agent, and in the way
                raise Conflict("is there already", path=target, hint="Move it away, and try again.") from None
    return target


# --- forget -------------------------------------------------------------------------------------------------------


def forget(
    following: Following, reading: Reading, sessions: Sessions, session_id: str, *,
    every: list[Kept] | None = None, barred: bool = True,
) -> list[Path]:  # fmt: skip
    """Remove a conversation, its subagents' and what belongs to it. If it is `barred`, it is not taken in again while
    the agent has it. `every`: all there are, where many are removed."""
    kept = sessions.find(session_id)
    uuid = kept.key.partition(".")[0]
    every = sessions.all() if every is None else every
    chosen = [each for each in every if each.agent is kept.agent and each.key.partition(".")[0] == uuid]
    removed: list[Path] = []
    with following.writing(kept.agent) as keep:
        if barred:
            records.forget(following.folder, kept.agent.name, uuid)
        for each in chosen:
            for part in each.parts:
                removed += [path for path in (part.path, part.sealed_path) if path.exists()]
                part.remove()
            _remove(keep.state_file(each.key), removed)
        _remove_folder(keep.files_folder(uuid), removed)
        disk.sync_folder(keep.folder)
    for each in chosen:
        reading.forget(each.agent, each.key, list(each.parts))
    reading.begin_anew()
    return removed


def expired(sessions: Sessions, days: int) -> list[str]:
    """Those without a new line for so many days that their agent has deleted. Where it has none at all, its folder may
    be away for a while, as a home that is not mounted, and nothing is taken for deleted."""
    before = time.time() - days * 86_400
    over = [
        kept
        for kept in sessions.all()
        if kept.parent is None and not sessions.is_present(kept) and all(part.changed() < before for part in kept.parts)
    ]
    has_any = {agent: bool(finding.look([agent]).files) for agent in {kept.agent for kept in over}}
    return [kept.id for kept in over if has_any[kept.agent]]


def leave(folder: Path) -> None:
    """After the last conversation was removed: the folders, the lock, and what was noted of agents."""
    if disk.is_missing(folder):
        return
    with disk.explained(folder):
        for path in folder.iterdir():
            if not path.is_dir():
                disk.remove(path)
            elif not any(path.iterdir()):
                disk.remove_folder(path)
        if not any(folder.iterdir()):
            disk.remove_folder(folder)


def _remove(path: Path, removed: list[Path]) -> None:
    if not disk.is_missing(path):
        disk.remove(path)
        removed.append(path)


def _remove_folder(folder: Path, removed: list[Path]) -> None:
    if disk.is_missing(folder):
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            disk.remove_folder(path)
        else:
            _remove(path, removed)
    disk.remove_folder(folder)


# --- scrub --------------------------------------------------------------------------------------------------------


def traces(following: Following, wanted: list[bytes]) -> list[Trace]:
    """Where a text is, in any of its forms, among all that is kept of other agents."""
    found = []
    for path, part in _files(following):
        try:
            trace = trace_of(path, _content(path, part), wanted)
        except DagentdError as error:
            trace = Trace(path, 0, error.message)
        found += [trace] if trace is not None else []
    return found


def scrub(following: Following, reading: Reading, wanted: list[bytes]) -> None:
    """A mark as long as it stands in each of its places. The agent's own file is left as it is: where the two differ
    now is noted, so that the rest of it is followed as before. What cannot be read is passed over."""
    for agent in following.all_agents:
        with following.writing(agent) as keep:
            for key, parts in keep.all().items():
                for part in parts:
                    with contextlib.suppress(CorruptFile):
                        _scrub_part(part, keep.state_file(key), wanted)
            for path in _others(keep.folder):
                if (changed := _without(path, fileio.read(path, fileio.CHAT_LIMIT), wanted)) is not None:
                    atomic.put(path, changed)
    reading.begin_anew()


def _scrub_part(part: Part, state: Path, wanted: list[bytes]) -> None:
    data = _content(part.path, part)
    if (changed := _without(part.path, data, wanted)) is not None:
        records.append(state, {"t": "scrubbed", "part": part.number, "spans": spans(data, wanted)})
        _replace(part, changed)


def _without(path: Path, data: bytes, wanted: list[bytes]) -> bytes | None:
    """None if it stays as it is: the text is not there, or its format needs it."""
    trace = trace_of(path, data, wanted)
    return masked(data, 0, spans(data, wanted)) if trace is not None and trace.error is None else None


def _replace(part: Part, data: bytes) -> None:
    was_sealed = part.is_sealed
    if was_sealed:
        part.unseal()
    atomic.put(part.path, data)
    if was_sealed:
        part.seal()
    elif part.sealed_path.exists():  # of an attempt that a crash ended
        disk.remove(part.sealed_path)


def _files(following: Following) -> Iterator[tuple[Path, Part | None]]:
    for agent in following.all_agents:
        keep = following.keep(agent)
        for parts in keep.all().values():
            yield from ((part.path, part) for part in parts)
        yield from ((path, None) for path in _others(keep.folder))


def _others(folder: Path) -> list[Path]:
    """The files beside the transcripts: records of ours, and attachments."""
    if disk.is_missing(folder):
        return []
    states = [folder / name for name in os.listdir(folder) if name.endswith(".state.jsonl")]
    return states + [path for path in folder.glob("*.files/**/*") if path.is_file()]


def _content(path: Path, part: Part | None) -> bytes:
    if part is None:
        return fileio.read(path, fileio.CHAT_LIMIT)
    with part.opened() as stream:
        return b"".join(iter(lambda: stream.read(_PIECE), b""))
