"""The grammar of the command line, what may stand where, from a table that is made from the commands: loading those
takes half a second, and somebody waits with a finger on the key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("words.json")
Kind = str | list[str]  # what a value is; or the values there are; "" for what nobody can guess


@dataclass(frozen=True)
class Place:
    """Where the cursor is: what is being typed, what may stand there, and the project that was named before."""

    typed: str
    values: Kind = ""
    names: dict[str, str] | None = None  # commands or options, with a line about each
    prefix: str = ""  # what stands before the typed part in the same word
    project: str = "."


def place(words: Sequence[str]) -> Place:
    """`words` are those after `dagentd`, up to the one that is being typed."""
    *before, typed = words or [""]
    return _Walk(json.loads(TABLE.read_text(encoding="utf-8"))).to(before, typed)


class _Walk:
    def __init__(self, table: dict[str, Any]) -> None:
        self._table, self._command = table, ""
        self._arguments = 0
        self._project = "."
        self._only_arguments = False

    def to(self, before: Sequence[str], typed: str) -> Place:
        rest = iter(before)
        for word in rest:
            wanted = self._pass(word)
            if wanted is not None:
                value = next(rest, None)
                if value is None:
                    return Place(typed, wanted, project=self._project)
                self._note(wanted, value)
        return self._here(typed)

    @property
    def _options(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = self._table[self._command]["options"]
        return found

    def _pass(self, word: str) -> Kind | None:
        """Go past a word; the kind that the next one must be, if this one says so."""
        if self._only_arguments or not word.startswith("-") or word == "-":
            self._pass_argument(word)
            return None
        if word == "--":
            self._only_arguments = True
            return None
        name, given, value = word.partition("=")
        kind = self._options.get(name, [None])[0]
        if given and kind is not None:
            self._note(kind, value)
        return None if given else kind

    def _pass_argument(self, word: str) -> None:
        if word in self._table[self._command].get("commands", ()):
            self._command = f"{self._command} {word}".strip()
        else:
            self._arguments += 1

    def _note(self, kind: Kind, value: str) -> None:
        if kind == "project":
            self._project = value

    def _here(self, typed: str) -> Place:
        here = self._table[self._command]
        if typed.startswith("-") and not self._only_arguments:
            name, given, value = typed.partition("=")
            if given:
                kind = self._options.get(name, [None])[0]
                return Place(value, kind or "", prefix=f"{name}=", project=self._project)
            return Place(typed, names={name: line for name, (_, line) in self._options.items()})
        if "commands" in here:
            return Place(typed, names={} if self._arguments else here["commands"])
        return Place(typed, next(self._arguments_from(here["arguments"]), ""), project=self._project)

    def _arguments_from(self, kinds: list[list[Any]]) -> Iterator[Kind]:
        """The last one may take any number."""
        for number, (kind, many) in enumerate(kinds):
            if number == self._arguments or (many and number < self._arguments):
                yield kind
