"""What failed and still stands in the way: the first line of what it said, until the same thing succeeds."""

from __future__ import annotations

import re

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import phrases, prose
from dagentd.model.compaction.local.deeds import Deed
from dagentd.model.compaction.local.draft import Draft

MOST = 20  # open ones; these never leave a checkpoint for want of room
_LONGEST = 280
_KEY = re.compile(r"`([^`]+)`: ")
ERROR = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Fault|Panic)\b|[Ee]rror(?:\[\w+\])?(?: [A-Z]+-?\d+)?:|ERROR\b|FATAL\b"
    r"|fatal:|panic(?:ked)?\b|Traceback|E[A-Z]{4,}\b|[A-Z]{2,}\d{3,}\b|SIG[A-Z]{3,}|segmentation fault"
    r"|segfault|core dumped|out of memory"
    r"|npm ERR!|FAILED\b|AssertionError|undefined reference|command not found|permission denied|cannot find"
    r"|could not|unable to|timed? ?out|refused|HTTP (?:4|5)\d\d|(?:4|5)\d\d [A-Z][a-z]+"
    r"|exit(?:ed with)?(?: code| status) [1-9])",
)
_EMPTY_TALK = re.compile(
    r"\W*(?:traceback \(most recent call last\)|exit code \d+|exited with \S+( \d+)?|command failed( with.*)?"
    r"|error|failed|stderr|stdout|npm err! code \w+|FAILURES|=+.*=+|)\W*",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(r"no such file|not found|does not exist|no matches|ENOENT|no files", re.IGNORECASE)


class Failures:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._open = {item.id: item for item in draft.open("blockers")}

    def take(self, deed: Deed) -> None:
        if deed.failed:
            self._failed(deed)
        elif deed.failed is False and deed.what:
            self._succeeded(deed)

    def told(self, line: str, source: str) -> None:
        """What somebody pasted or reported, without a tool of ours that could show when it is over."""
        if not any(line in item.text for item in self._open.values()):
            self._add(prose.shortened(line, _LONGEST), source)

    def cap(self, source: str) -> None:
        mine = [item for item in self._draft.open("blockers") if item.sources]
        for item in mine[: max(0, len(mine) - MOST)]:
            self._draft.resolve(item, source)

    def _failed(self, deed: Deed) -> None:
        line = telling(deed.result)
        if not line or phrases.STEERING.search(line.lower()) or _is_looking_around(deed, line):
            return
        text = f"`{_key(deed)}`: {prose.shortened(line, _LONGEST)}"
        for item in self._of(_key(deed)):
            if item.text != text:
                self._over(item, deed)
        self._add(text, *deed.sources)

    def _succeeded(self, deed: Deed) -> None:
        for item in self._of(_key(deed), broader=True):
            self._over(item, deed)

    def _over(self, item: Item, deed: Deed) -> None:
        self._draft.resolve(item, *deed.sources)
        self._open.pop(item.id, None)

    def _add(self, text: str, *sources: str) -> None:
        item = self._draft.add("blockers", text, *sources)
        self._open[item.id] = item
        while len(self._open) > 2 * MOST:
            oldest = next(iter(self._open))
            self._draft.resolve(self._open.pop(oldest), *sources)

    def _of(self, key: str, broader: bool = False) -> list[Item]:
        """Open ones of that command; one that ran more than another also speaks for that."""
        found = ((item, match[1]) for item in self._open.values() if (match := _KEY.match(item.text)))
        return [item for item, known in found if known == key or (broader and known.startswith(f"{key} "))]


def _key(deed: Deed) -> str:
    name = " ".join([deed.what or "tool", *deed.paths[:1]]) if deed.kind in ("edit", "look") else deed.what or "tool"
    return prose.shortened(name.replace("`", "'"), 160)


def _is_looking_around(deed: Deed, line: str) -> bool:
    """A search without a hit, a file that is not there: part of finding one's way, unless work was meant to happen."""
    if deed.works or deed.kind in ("edit", "check"):
        return False
    return bool(_NOT_THERE.search(line)) or not ERROR.search(line)


def telling(result: str) -> str:
    """The first line; if that only says that something failed, also the first that says what."""
    lines = [flat for line in prose.ends_of(result).splitlines() if (flat := " ".join(line[:1000].split()))]
    if not lines or not _EMPTY_TALK.fullmatch(lines[0]):
        return lines[0] if lines else ""
    what = next((line for line in lines[1:] if ERROR.search(line) and not _EMPTY_TALK.fullmatch(line)), "")
    what = what or next((line for line in lines[1:] if not _EMPTY_TALK.fullmatch(line)), "")
    return f"{lines[0]} … {what}" if what else lines[0]
