"""What is on disk when all is calm, read without dagentd's own code, held against what was acknowledged."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.torture import reader
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import Place, World


@dataclass
class Found:
    """Each list is empty when all is well."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unparsable: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    journals: int = 0
    messages: int = 0

    def complaints(self) -> list[str]:
        named = {"lost": self.lost, "doubled": self.doubled, "unparsable": self.unparsable, "wrong": self.other}
        return [f"{len(some)} {name}: {'; '.join(some[:5])}" for name, some in named.items() if some]


def look(world: World, truth: Truth, legacy: dict[str, tuple[Place, int]]) -> Found:
    found = Found()
    contents = {sid: _contents(world, place, sid, found) for place, sid in world.sessions()}
    for content, sid in (truth.acknowledged | truth.by_app).items():
        if not contents[sid][content]:
            found.lost.append(f"{content[:40]} of {sid}")
    for content, (place, life) in legacy.items():
        if place.life == life and not contents[place.sessions[0]][content]:
            found.lost.append(f"{content[:40]} of an older file of {place.feature}")
    _documents(world, found)
    return found


def _contents(world: World, place: Place, sid: str, found: Found) -> Counter[str]:
    """In how many journals of a session each content is: of the one in place, and of those that outlived theirs."""
    live = place.files(sid).journal
    there = [path for path in (live, *sorted(world.kept.glob(f"{sid}.*.jsonl"))) if path.exists()]
    journals = {(os.stat(path).st_dev, os.stat(path).st_ino): path for path in reversed(there)}  # the live name of two
    total: Counter[str] = Counter()
    for path in journals.values():
        told = reader.read_journal(path)
        once = Counter(str(message["content"]) for message in told.content.values())
        found.doubled += [f"{content[:40]} in {path}" for content, count in once.items() if count > 1]
        found.doubled += [f"{one} in {path}" for one, count in told.arrived.items() if count > 1]
        # A torn end that was never acknowledged is cut when its session is opened: one that is gone may not be yet.
        torn = [told.tail] if told.tail and path == live else []
        found.unparsable += [f"{path}: {line[:60]!r}" for line in [*told.bad_lines, *torn]]
        found.journals, found.messages = found.journals + 1, found.messages + len(told.content)
        total.update(once.keys())
    return total


def _documents(world: World, found: Found) -> None:
    for path in sorted(world.disk.rglob("*.json")):
        if ".git" not in path.relative_to(world.disk).parts[:2]:
            try:
                json.loads(path.read_bytes())
            except ValueError as error:
                found.unparsable.append(f"{path}: {error}")
    found.other += [f"left: {name}" for name in reader.temps(world.disk)]


def disagreements(world: World) -> list[str]:
    """Documents that do not say what their journal says. Those of a daemon that runs follow a moment later."""
    wrong = []
    for place, sid in world.sessions():
        files = place.files(sid)
        if files.journal.exists():
            try:
                reader.agree(files)
            except (AssertionError, OSError, KeyError, ValueError) as error:
                wrong.append(f"{sid}: {type(error).__name__} {str(error)[:300]}")
    return wrong


def orders(world: World) -> list[str]:
    """What one client said one after the other stands in that order."""
    wrong = []
    for path in sorted(world.kept.glob("*.jsonl")):
        last: dict[str, int] = {}
        for one in _arrivals(path):
            name, _, number = one.rpartition("-")
            if name.startswith("talker") and number.isdecimal():
                if int(number) < last.get(name, 0):
                    wrong.append(f"{one} after {name}-{last[name]} in {path}")
                last[name] = max(last.get(name, 0), int(number))
    return wrong


def _arrivals(path: Path) -> list[str]:
    return list(reader.read_journal(path).arrived)
