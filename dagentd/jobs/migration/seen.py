"""What is known of legacy files that were looked at: as long as one does not change, it is not read again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from dagentd.adapters import marks
from dagentd.adapters.marks import Mark
from dagentd.jobs.migration.reading import Unit
from dagentd.jobs.migration.report import DUE, File
from dagentd.model.project import FeatureFolder

Marks = tuple[Mark | None, ...]
_Key = tuple[Path, ...]


@dataclass
class _OfFeature:
    files: dict[_Key, tuple[Marks, list[File]]] = field(default_factory=dict)
    told: dict[_Key, list[File]] = field(default_factory=dict)  # of what went wrong


class Seen:
    """For as long as the daemon runs."""

    def __init__(self) -> None:
        self._features: dict[Path, _OfFeature] = {}

    def is_new(self, feature: FeatureFolder) -> bool:
        """Whether nothing was looked at there before."""
        return feature.path not in self._features

    def forget(self, feature: FeatureFolder) -> None:
        self._features.pop(feature.path, None)

    def unchanged(self, unit: Unit) -> list[File] | None:
        """What was said of it the last time, if it is as it was then."""
        known = self._of(unit).files.get(_key(unit))
        return known[1] if known is not None and known[0] == marks_of(unit) else None

    def note(self, unit: Unit, before: Marks, said: list[File]) -> None:
        """`before` is how it was when it was read. What was done is not to be done again."""
        after = [replace(file, action="none", added=None) if file.action in DUE else file for file in said]
        self._of(unit).files[_key(unit)] = before, after

    def is_news(self, unit: Unit, said: list[File]) -> bool:
        """Whether it was not told before; what goes wrong in the same way again is no news."""
        told, key = self._of(unit).told, _key(unit)
        before, told[key] = told.get(key), said
        return said != before

    def _of(self, unit: Unit) -> _OfFeature:
        return self._features.setdefault(unit[0].feature.path, _OfFeature())


def marks_of(unit: Unit) -> Marks:
    return tuple(marks.of(file.path) for file in unit)


def _key(unit: Unit) -> _Key:
    return tuple(file.path for file in unit)
