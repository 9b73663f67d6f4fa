"""TOML files → frozen settings, or one error that lists every mistake in them."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Set
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import tomli

from dagentd.adapters.files import beneath
from dagentd.errors import InvalidInput
from dagentd.settings.tables import PROJECT_MAY_SET, RULES
from dagentd.settings.tables import Settings as Settings

# One settings file from disk: nothing if it is missing, an error if it cannot be read as TOML.

LARGEST = 1 << 16


def read_file(file: Path, *, inside: Path | None = None) -> dict[str, Any]:
    """The tables of the file. With `inside`, a file that is elsewhere behind its links is refused: it was
    chosen by whoever wrote the repository, and errors show what they found."""
    real, root = Path(os.path.realpath(file)), None if inside is None else Path(os.path.realpath(inside))
    if root is not None and not real.is_relative_to(root):
        if os.path.exists(real):
            raise InvalidInput("is a link that leads out of the project", path=file)
        return {}
    # A pipe in the file's place cannot hold us, nor a link that was put there since, or on the way to it.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.lstat(real)  # mostly there is none, and nothing is to be judged
        fd = os.open(real, flags) if root is None else beneath.opened(real, flags, root=root)
        with os.fdopen(fd, "rb") as source:
            return _parsed(_bytes(source, file), file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", path=file) from None


def _bytes(source: BinaryIO, file: Path) -> bytes:
    if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
        raise InvalidInput("is not a regular file", path=file)
    data = source.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InvalidInput(f"is larger than {LARGEST} bytes", path=file)
    return data


def _parsed(data: bytes, file: Path) -> dict[str, Any]:
    try:
        return tomli.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"is not valid UTF-8 at line {line}", path=file) from None
    except tomli.TOMLDecodeError as error:
        raise InvalidInput(f"is not valid TOML: {error.msg} at line {error.lineno}", path=file) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", path=file) from None
    except ValueError as error:  # a number of more than 4300 digits
        raise InvalidInput(f"is not valid TOML: {error}", path=file) from None


# Mistakes in settings, in words: the key, what was found, and what it must be.

_MOST = 200  # entries of a file: status and doctor tell all mistakes, each with the name that is nearest
TABLES = tuple(dict.fromkeys(key.split(".")[0] for key in RULES))

# The first must be less than the second.
_ORDERED = (
    ("budget.target", "budget.threshold"),
    ("budget.prompt_buffer", "budget.limit"),
    ("watch.settle_ms", "watch.ceiling_ms"),
)


def mistake(key: str, value: Any, may_set: Set[str]) -> str | None:
    """Say what is wrong with one entry of a file; None if nothing is."""
    if key in TABLES:
        return f"{key} is {_shown(value)}; it must be a table: [{key}]"
    if key not in RULES:
        # Without the value: a key that we do not know may be where somebody put a secret.
        return f"{_cut(key)} is not a setting{_suggestion(key)}"
    if key not in may_set:
        return f"{key} cannot be set by a project; set it in your own settings"
    if not RULES[key].holds(value):
        return f"{key} is {_shown(value)}; it must be {RULES[key].allowed}"
    return None


def disorder(values: dict[str, Any], ignoring: Set[str]) -> list[tuple[str, str, str]]:
    """Pairs of settings that are right alone and wrong together, with the sentence that says so."""
    return [
        (low, high, f"{low} is {values[low]}; it must be less than {high}, which is {values[high]}")
        for low, high in _ORDERED
        if not values[low] < values[high] and not {low, high} & ignoring
    ]


def _suggestion(key: str) -> str:
    """The same name in another table is a better guess than a similar one in this."""
    table, _, leaf = key.rpartition(".")
    moved = [name for name in RULES if name.endswith(f".{leaf}")]
    leaves = {name.split(".")[1]: name for name in RULES}
    near = get_close_matches(key, RULES if table else (*TABLES, *leaves), 1)
    if len(moved) == 1 or near:
        best = moved[0] if len(moved) == 1 else near[0]
        return f"; did you mean {leaves.get(best, best)}?"
    known = [name for name in RULES if name.startswith(f"{table}.")] or TABLES
    return f"; there are {', '.join(known)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    without_password = re.sub(r"//[^/@]*@", "//***@", json.dumps(value, default=str))
    return _cut(without_password)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


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
    if reading.origin:  # the defaults are in order
        reading.compare()
    if reading.mistakes:
        raise _refusal(reading.mistakes)
    return Loaded(reading.settings, reading.origin)


def values(settings: Settings) -> dict[str, Any]:
    """Every setting under its dotted key."""
    return {key: getattr(getattr(settings, key.split(".")[0]), key.split(".")[1]) for key in RULES}


@dataclass
class _Reading:
    """The settings that the files gave so far: what is right is taken, what is wrong is noted, reading goes on."""

    settings: Settings = field(default_factory=Settings)
    origin: dict[str, Path] = field(default_factory=dict)
    mistakes: list[tuple[str, str]] = field(default_factory=list)  # the file, and what is wrong with it
    wrong: set[str] = field(default_factory=set)

    def take(self, file: Path, may_set: Set[str], inside: Path | None = None) -> None:
        try:
            raw = read_file(file, inside=inside)
        except InvalidInput as error:
            self.mistakes.append((error.path or os.fspath(file), error.message))
            return
        entries: list[tuple[str, Any]] = []
        for table, content in raw.items():
            within = table in TABLES and isinstance(content, dict)
            entries += [(f"{table}.{key}", value) for key, value in content.items()] if within else [(table, content)]
        if len(entries) > _MOST:
            self._note(file, f"has {len(entries)} entries, and there are {len(RULES)} settings")
            return
        for key, value in entries:
            if problem := mistake(key, value, may_set):
                self._note(file, problem)
                self.wrong.add(key)
            else:
                self._set(key, value, file)

    def compare(self) -> None:
        for low, high, problem in disorder(values(self.settings), self.wrong):
            file = self.origin.get(low) or self.origin.get(high)
            assert file is not None
            self._note(file, problem)

    def _set(self, key: str, value: Any, file: Path) -> None:
        table, name = key.split(".")
        changed = replace(getattr(self.settings, table), **{name: RULES[key].kept(value)})
        self.settings = replace(self.settings, **{table: changed})
        self.origin[key] = file

    def _note(self, file: Path, problem: str) -> None:
        self.mistakes.append((os.fspath(file), problem))


def _refusal(mistakes: list[tuple[str, str]]) -> InvalidInput:
    hint = "Correct the file and run `dagentd config` to see what is in effect."
    if len(mistakes) == 1:
        [(file, problem)] = mistakes
        return InvalidInput(problem, path=file, hint=hint)
    listed = "".join(f"\n  {file}: {problem}" for file, problem in mistakes)
    return InvalidInput(f"{len(mistakes)} mistakes in the settings:{listed}", hint=hint)
