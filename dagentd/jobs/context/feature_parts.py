"""The parts that the sessions of a feature share: its name and goal, its task graph, its spec, its attachments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dagentd.adapters.files import beneath, disk, fileio
from dagentd.errors import DagentdError, LimitReached
from dagentd.jobs.context import instructions
from dagentd.jobs.context.instructions import Text
from dagentd.model import context_document
from dagentd.model.feature import Dag, Feature
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder
from dagentd.store.layout import layout
from dagentd.store.memory import Memory

# The files that belong to a feature: their names and sizes, and the text of small ones.

_MOST = 100


@dataclass
class Attachments:
    entries: list[dict[str, Any]] = field(default_factory=list)  # {name, size, content?}
    notes: list[str] = field(default_factory=list)
    sources: set[Path] = field(default_factory=set)


def read_attachments(feature: FeatureFolder, listed: object, room: int) -> Attachments:
    """Those that feature.json lists, then the others in `attachments/`. Texts are given whole or not at all, as long
    as they have at most `room` bytes together."""
    found, worktree = Attachments(), feature.tree.worktree
    paths = list(dict.fromkeys([*_listed(feature, listed), *_in_folder(feature)]))
    for path in paths[:_MOST]:
        shown = _name(path, feature)
        found.sources.add(path)
        try:
            entry = _entry(path, worktree, shown, room)
        except LimitReached:
            raise
        except DagentdError as error:
            found.notes.append(f"Attachment {shown}: {error.message}.")
            continue
        room -= entry["size"] if "content" in entry else 0
        found.entries.append(entry)
    if len(paths) > _MOST:
        found.notes.append(f"Of {len(paths)} attachments only {_MOST} are listed.")
    return found


def _entry(path: Path, worktree: Path, shown: str, room: int) -> dict[str, Any]:
    with disk.explained(path), instructions.opened(path, worktree) as file:
        size = os.fstat(file.fileno()).st_size
        text = _text(file.read(size)) if 0 < size <= room else None
    return {"name": shown, "size": size, **({"content": text} if text else {})}


def _name(path: Path, feature: FeatureFolder) -> str:
    folder = feature.path / "attachments"
    return instructions.name(path, folder if path.is_relative_to(folder) else feature.tree.worktree)


def _text(data: bytes) -> str | None:
    """None for an image and the like."""
    try:
        return None if b"\0" in data else data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def _listed(feature: FeatureFolder, listed: object) -> Iterator[Path]:
    """The app lists paths from the root of the checkout, or from the feature, or bare names."""
    folder = feature.path / "attachments"
    for given in listed if isinstance(listed, list) else []:
        path = given.get("path") or given.get("name") if isinstance(given, dict) else given
        if isinstance(path, str) and path.strip() and _is_path(path):
            places = (folder / path, feature.path / path, feature.tree.worktree / path)
            yield next((place for place in places if os.path.lexists(place)), folder / path)


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half an emoji
        return False


def _in_folder(feature: FeatureFolder) -> list[Path]:
    folder = feature.path / "attachments"
    try:
        return [folder / name for name in sorted(beneath.names(folder)) if not name.startswith(".")]
    except OSError:  # mostly: there is none
        return []


# What the sessions of a feature share: its name and goal, its task graph, its spec, its attachments.

_PATIENCE = 0.1  # seconds for a file that another program is just writing

_REMEMBERED = 50  # of what a user decided, and of what agents noted, the newest
_LOOKED_AT = ("feature.json", "dag.json", "attachments")
_NEARLY = ("goal.md", "goal.txt", "goals.md", "feature.md", "specification.md", "spec.txt", "tasks.json")

T = TypeVar("T")


@dataclass(frozen=True)
class FeatureParts:
    name: str | None
    goal: str
    dag: Dag | None
    spec: str
    attachments: list[dict[str, Any]]
    remembered: list[dict[str, Any]]
    notes: tuple[str, ...]
    elsewhere: frozenset[Path]  # the sources of texts that nobody would look for by their names
    looked_at: tuple[Path, ...]  # all that would be read otherwise if it changed


def read(feature: FeatureFolder, room: int = 0, memory: Memory | None = None) -> FeatureParts:
    """Each file that cannot be read costs its own part and leaves a note; a `memory` that cannot be is an error. `room`
    is for the texts of attachments, in bytes."""
    notes: list[str] = []
    document = _parsed(feature, "feature.json", Feature.parse, notes) or Feature()
    dag = _parsed(feature, "dag.json", Dag.parse, notes)
    notes += [f"{instructions.name(path, feature.tree.worktree)}: {told}." for path, told in misnamed(feature)]
    spec = _spec(feature)
    attached = read_attachments(feature, document.attachments, room)
    own_files = [feature.path / name for name in (*_LOOKED_AT, *_NEARLY)]
    sources, own = spec.sources | attached.sources, (feature.path, feature.path / "attachments")
    return FeatureParts(
        name=context_document.one_line(document.name),
        goal=document.goal,
        dag=dag,
        spec=spec.text,
        attachments=attached.entries,
        remembered=_remembered(feature, memory) if memory is not None else [],
        notes=(*notes, *spec.notes, *attached.notes),
        elsewhere=frozenset(each for each in sources if each.parent not in own),
        looked_at=(*own_files, *sorted(sources), *([memory.path] if memory is not None else [])),
    )


def _remembered(feature: FeatureFolder, memory: Memory) -> list[dict[str, Any]]:
    told = memory.told([feature.id], str(feature.tree.worktree))
    decisions, notes = ([each for each in told if each.decides is kind][-_REMEMBERED:] for kind in (True, False))
    return [{"id": each.id, "at": each.at, "by": each.by, "text": each.text} for each in (*decisions, *notes)]


def misnamed(feature: FeatureFolder) -> Iterator[tuple[Path, str]]:
    """Files and fields that somebody named wrongly in good faith: understood where they can be, and told."""
    for name, kind in (("feature.json", Feature), ("dag.json", Dag)):
        with contextlib.suppress(FileNotFoundError, DagentdError, Undecodable):  # which is told for itself
            raw = layout.read_object(feature.path / name)
            for given, right in kind.misnamed(raw).items():
                yield feature.path / name, f"`{given}` is read as `{right}`"
            if name == "dag.json" and not Dag.parse(raw).nodes:
                yield feature.path / name, "it names no tasks; they are a list `nodes`, each with `id` and `title`"
    for name in _in_place_of_spec(feature):
        yield feature.path / name, "is not read; the spec is spec.md, and the goal `description` in feature.json"


def _in_place_of_spec(feature: FeatureFolder) -> list[str]:
    try:
        return sorted(name for name in beneath.names(feature.path) if name.lower() in _NEARLY)
    except OSError:  # there is none
        return []


def _parsed(feature: FeatureFolder, name: str, parse: Callable[[Any], T], notes: list[str]) -> T | None:
    try:
        path = feature.path / name
        return parse(fileio.read_when_settled(path, partial(layout.decoded, path), _PATIENCE))
    except FileNotFoundError:
        return None
    except LimitReached:
        raise
    except (DagentdError, Undecodable) as error:
        told = error.message if isinstance(error, DagentdError) else str(error)
        notes.append(f"{instructions.name(feature.path / name, feature.tree.worktree)}: {told}.")
        return None


def _spec(feature: FeatureFolder) -> Text:
    found = instructions.plain(feature.path / "spec.md", feature.tree.worktree)
    if found.text:
        return found
    other = instructions.plain(feature.path / "feature-spec.md", feature.tree.worktree)
    return Text(other.text, found.notes + other.notes, found.sources | other.sources)
