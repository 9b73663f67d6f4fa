"""What the sessions of a feature share: its name and goal, its task graph, its spec, its attachments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dagentd.adapters import marks, settling
from dagentd.errors import CorruptFile, DagentdError, LimitReached
from dagentd.jobs.context import texts
from dagentd.jobs.context.attachments import attachments
from dagentd.jobs.context.texts import Text
from dagentd.model.feature import Dag, Feature
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder
from dagentd.store import layout
from dagentd.waiting import pause

_PATIENCE = 0.1  # seconds for a file that another program is just writing

_LOOKED_AT = ("feature.json", "dag.json", "attachments")

T = TypeVar("T")


@dataclass(frozen=True)
class FeatureParts:
    name: object
    goal: str
    dag: Dag | None
    spec: str
    attachments: list[dict[str, Any]]
    notes: tuple[str, ...]
    sources: frozenset[Path]  # of texts, also where there is none yet
    looked_at: tuple[Path, ...]  # all that would be read otherwise if it changed


def read(feature: FeatureFolder, room: int) -> FeatureParts:
    """Each file that cannot be read costs its own part and leaves a note. `room` is for the texts of attachments, in
    bytes."""
    notes: list[str] = []
    document = _parsed(feature, "feature.json", Feature.parse, notes) or Feature()
    dag = _parsed(feature, "dag.json", Dag.parse, notes)
    spec = _spec(feature)
    attached = attachments(feature, document.attachments, room)
    return FeatureParts(
        name=document.name,
        goal=document.description.strip() if isinstance(document.description, str) else "",
        dag=dag,
        spec=spec.text,
        attachments=attached.entries,
        notes=(*notes, *spec.notes, *attached.notes),
        sources=(sources := spec.sources | frozenset(attached.sources)),
        looked_at=(*(feature.path / name for name in _LOOKED_AT), *sorted(sources)),
    )


def _parsed(feature: FeatureFolder, name: str, parse: Callable[[Any], T], notes: list[str]) -> T | None:
    try:
        return parse(_settled(feature.path / name))
    except FileNotFoundError:
        return None
    except LimitReached:
        raise
    except (DagentdError, Undecodable) as error:
        told = error.message if isinstance(error, DagentdError) else str(error)
        notes.append(f"{texts.name(feature.path / name, feature.tree.worktree)}: {told}.")
        return None


def _settled(path: Path) -> dict[str, Any]:
    """Half a file makes no sense yet: it is read again before it counts as damaged."""
    while True:
        try:
            found = layout.read_object(path)
            settling.settled(path)
            return found
        except CorruptFile:
            if settling.age(path, marks.of(path)) >= _PATIENCE or not settling.is_worth_waiting(path):
                raise
        pause(_PATIENCE / 5)


def _spec(feature: FeatureFolder) -> Text:
    found = texts.plain(feature.path / "spec.md", feature.tree.worktree)
    if found.text:
        return found
    other = texts.plain(feature.path / "feature-spec.md", feature.tree.worktree)
    return Text(other.text, found.notes + other.notes, found.sources | other.sources)
