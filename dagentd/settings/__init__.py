"""TOML files → frozen settings, or one error that lists every mistake in them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dagentd.errors import InvalidInput
from dagentd.settings import files
from dagentd.settings.mistakes import TABLES, disorder, mistake
from dagentd.settings.tables import PROJECT_MAY_SET, RULES
from dagentd.settings.tables import Settings as Settings


@dataclass(frozen=True)
class Loaded:
    """The settings, and which file set each key that a file set: `{"budget.limit": PATH}`."""

    settings: Settings
    origin: dict[str, Path]


def load(user_file: Path, project_file: Path | None = None) -> Settings:
    return explain(user_file, project_file).settings


def explain(user_file: Path, project_file: Path | None = None) -> Loaded:
    """Defaults, then the user's file, then the few settings that a project may change for itself."""
    reading = _Reading()
    reading.take(user_file, RULES.keys())
    if project_file is not None:
        reading.take(project_file, PROJECT_MAY_SET, inside=project_file.parent.parent)
    reading.compare()
    if reading.mistakes:
        raise _refusal(reading.mistakes)
    return Loaded(reading.settings, reading.origin)


def values(settings: Settings) -> dict[str, Any]:
    """Every setting under its dotted key."""
    return {key: getattr(getattr(settings, key.split(".")[0]), key.split(".")[1]) for key in RULES}


class _Reading:
    """What the files gave so far: what is right is taken, what is wrong is noted, reading goes on."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.origin: dict[str, Path] = {}
        self.mistakes: list[str] = []
        self._wrong: set[str] = set()

    def take(self, file: Path, may_set: Set[str], inside: Path | None = None) -> None:
        try:
            raw = files.read(file, inside=inside)
        except InvalidInput as error:
            self.mistakes.append(str(error))
            return
        for key, value in _entries(raw):
            if problem := mistake(key, value, may_set):
                self._note(file, problem)
                self._wrong.add(key)
            else:
                self._set(key, value, file)

    def compare(self) -> None:
        for low, high, problem in disorder(values(self.settings), self._wrong):
            file = self.origin.get(low) or self.origin.get(high)
            assert file is not None  # the defaults are in order
            self._note(file, problem)

    def _set(self, key: str, value: Any, file: Path) -> None:
        table, name = key.split(".")
        changed = replace(getattr(self.settings, table), **{name: RULES[key].kept(value)})
        self.settings = replace(self.settings, **{table: changed})
        self.origin[key] = file

    def _note(self, file: Path, problem: str) -> None:
        self.mistakes.append(f"{file}: {problem}")


def _entries(raw: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for table, content in raw.items():
        if table in TABLES and isinstance(content, dict):
            yield from ((f"{table}.{key}", value) for key, value in content.items())
        else:
            yield table, content


def _refusal(mistakes: list[str]) -> InvalidInput:
    hint = "Correct the file and run `dagentd config` to see what is in effect."
    if len(mistakes) == 1:
        return InvalidInput(mistakes[0], hint=hint)
    listed = "".join(f"\n  {each}" for each in mistakes)
    return InvalidInput(f"{len(mistakes)} mistakes in the settings:{listed}", hint=hint)
