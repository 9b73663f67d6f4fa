"""What was completed, from evidence: files that were changed, folder by folder; what was built, tested, committed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import prose
from dagentd.model.compaction.local.deeds import Deed
from dagentd.model.compaction.local.draft import Draft

_EDITED, _UNKNOWN = "Edited ", "Edited, outcome unknown: "
_WIDEST = 400  # characters of one item; a folder with more files has several
_ENTRY = re.compile(r"(.+?)(?: \((\d+) times\))?$")
_RAN = re.compile(r"(Ran|Check) `([^`]+)`: ")
_SUMMARY = re.compile(
    r"^.*\b\d+ (?:passed|passing|tests? passed|ok)\b.*$|^test result: ok.*$|^Tests:\s.*$", re.MULTILINE
)
_COMMIT = re.compile(r"\bgit (?:commit|tag|push|merge|revert|cherry-pick|rebase)\b")


@dataclass
class _Files:
    """Of one folder: how often each was changed, by which messages."""

    times: dict[str, int] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)


class Work:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._ran = {_key(match[2]): item for item in draft.open("completed") if (match := _RAN.match(item.text))}
        self._changed: dict[tuple[str, str], _Files] = {}

    def take(self, deed: Deed) -> bool:
        """Whether it shows that something was achieved."""
        if deed.kind == "edit" and not deed.failed:
            self._edited(deed)
            return deed.failed is False
        if deed.kind in ("command", "check") and deed.what and deed.works and deed.failed is not None:
            self._was_run(deed)
            return not deed.failed
        return False

    def finish(self) -> None:
        """Each folder's files become one item, together with what an earlier round wrote of that folder."""
        earlier = _by_folder(self._draft.open("completed"))
        for (verb, folder), files in self._changed.items():
            known = earlier.get((verb, folder))
            times = dict(known[1]) if known else {}
            for path, count in files.times.items():
                times[path] = times.pop(path, 0) + count
            self._write(known[0] if known else None, verb, times, files)

    def _write(self, item: Item | None, verb: str, times: dict[str, int], files: _Files) -> None:
        first, *rest = _texts(verb, times)
        if item is None:
            self._draft.add("completed", first, *files.sources)
        else:
            self._draft.supersede(item, first, *files.sources)
        for text in rest:
            self._draft.add("completed", text, *files.sources)

    def _edited(self, deed: Deed) -> None:
        verb = _UNKNOWN if deed.failed is None else _EDITED
        for path in deed.paths:
            files = self._changed.setdefault((verb, posixpath.dirname(path)), _Files())
            flat = " ".join(path.split())
            files.times[flat] = files.times.get(flat, 0) + 1
            files.sources.extend(deed.sources)

    def _was_run(self, deed: Deed) -> None:
        what = deed.what.replace("`", "'")
        known = self._ran.get(_key(what))
        if not deed.failed:
            text = f"{_label(deed)} `{what}`: {_outcome(deed)}"
        elif known is not None:
            text = f"{_label(deed)} `{what}`: passed earlier, then failed"
        else:
            return
        if known is None:
            self._ran[_key(what)] = self._draft.add("completed", text, *deed.sources)
        else:
            self._ran[_key(what)] = self._draft.supersede(known, text, *deed.sources)


def _label(deed: Deed) -> str:
    return "Check" if deed.kind == "check" else "Ran"


def _outcome(deed: Deed) -> str:
    if deed.kind == "check":
        return deed.result
    if _COMMIT.search(deed.what):
        return "done"
    summary = _SUMMARY.search(prose.ends_of(deed.result))
    return prose.shortened(summary[0].strip(" ="), 100) if summary else "passed"


def _key(what: str) -> str:
    return what if _COMMIT.search(what) else _head(what)


def _head(what: str) -> str:
    """`npm run build -- --watch` and `npm run build` are one thing that was run; so is pytest on whatever files."""
    named = [word for word in what.split() if not word.startswith("-") and not re.search(r"[/.=\"']", word)]
    return " ".join(named[: 3 if named[1:2] == ["run"] else 2])


def _by_folder(items: Iterable[Item]) -> dict[tuple[str, str], tuple[Item, dict[str, int]]]:
    found = {}
    for item in items:
        for verb in (_UNKNOWN, _EDITED):
            if item.text.startswith(verb):
                times = dict(_parsed(item.text.removeprefix(verb)))
                folders = {posixpath.dirname(path) for path in times}
                if len(folders) == 1 and _texts(verb, times) == [item.text]:  # else somebody else wrote it: let it be
                    found[verb, folders.pop()] = item, times
                break
    return found


def _parsed(listed: str) -> Iterator[tuple[str, int]]:
    for entry in listed.split(", "):
        if match := _ENTRY.match(entry):
            yield match[1], int(match[2] or 1)


def _texts(verb: str, times: dict[str, int]) -> list[str]:
    """As few items as hold them all; the last changed stand last."""
    texts, held = [], ""
    for path, count in times.items():
        entry = f"{path} ({count} times)" if count > 1 else path
        if held and len(held) + len(entry) > _WIDEST:
            texts.append(held)
            held = ""
        held = f"{held}, {entry}" if held else f"{verb}{entry}"
    return [*texts, held]
