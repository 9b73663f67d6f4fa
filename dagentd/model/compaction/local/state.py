"""State that tools show, never prose: the todo list, the files that were edited, commits, and what recurs in calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dagentd.model.compaction.local.checks import command_of
from dagentd.model.compaction.local.exchanges import Use

_LIST = re.compile(r"todo|update_plan|task_?list", re.I)
_BOX = re.compile(r"^\s*(?:[-*]|\d+[.)])\s*\[(.)\]\s*(.+?)\s*$", re.M)
_STATES = {"x": "completed", "X": "completed", "-": "in_progress", "~": "in_progress", "/": "in_progress"}
_TEXTS = ("content", "step", "title", "subject", "text", "description")
_OVER = ("completed", "complete", "done", "cancelled", "canceled", "deleted", "skipped")
_EDITS = re.compile(r"edit|write|create_?file|patch|replace|insert|^create$|delete_file|save", re.I)
_NOT_FILES = re.compile(r"todo|plan|memory|task", re.I)
_MOVED = re.compile(r"(?:^|&&|;|\n)\s*(?:git\s+)?(mv|rm)\s+((?:-\S+\s+)*)([^;&|\n]+)")
_COMMIT = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$", re.M)
_PLACE = re.compile(
    r"(?<![\w/.])((?:~|\.{0,2})?/[\w.@~-]+(?:/[\w.@~-]+)+/?)|\b((?:https?://)?(?:localhost"
    r"|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5})\b|(https?://[^\s\"'<>)\\]+)"
)
_SYSTEM = re.compile(r"^(?:/dev/|/bin/|/usr/(?:local/)?bin|/etc/|/proc/|/tmp/?$)")
_LOOKS = re.compile(r"(?:ls|cat|head|tail|grep|rg|find|echo|cd|pwd|wc|sed|git (?:status|diff|log|add))\b")
_RECURS, _FACTS, _FACT = 3, 14, 120

Todo = tuple[str, str, str]  # text, state, id of the message


def todos(uses: Iterable[Use], known: list[Todo]) -> list[Todo]:
    """The list as the last use of it left it."""
    for use in uses:
        given: Mapping[str, Any] = use.input if isinstance(use.input, dict) else {}
        if use.name in ("TaskCreate", "TaskUpdate"):
            known = _task(given, known, use)
        elif _LIST.search(use.name) and use.failed is not True:
            listed = [*_listed(given, use)]
            before = known if given.get("merge") is True else []
            known = [*{each[0]: each for each in (*before, *listed)}.values()] if listed else known
    return known


def _listed(given: Mapping[str, Any], use: Use) -> Iterator[Todo]:
    for value in (given.get(key) for key in ("todos", "plan", "tasks", "items", "todo_list")):
        if isinstance(value, str):
            yield from ((text, _STATES.get(sign, "pending"), use.source) for sign, text in _BOX.findall(value))
        for each in value if isinstance(value, list) else []:
            fields = each if isinstance(each, dict) else {}
            text = next((fields[key] for key in _TEXTS if isinstance(fields.get(key), str)), "")
            if text.strip():
                yield " ".join(text.split()), str(fields.get("status", "pending")), use.source


def _task(given: Mapping[str, Any], known: list[Todo], use: Use) -> list[Todo]:
    """One task at a time, named by its number."""
    subject, state = given.get("subject"), given.get("status")
    if use.name == "TaskCreate":
        return [*known, (" ".join(subject.split()), "pending", use.source)] if isinstance(subject, str) else known
    try:
        at = int(str(given.get("taskId"))) - 1
        text, before, _ = known[at]
    except (ValueError, IndexError):
        return known
    text = subject if isinstance(subject, str) and subject else text
    return [*known[:at], (text, str(state or before), use.source), *known[at + 1 :]] if at >= 0 else known


def is_over(state: str) -> bool:
    return state.strip().lower() in _OVER


def commits(uses: Iterable[Use]) -> Iterator[tuple[str, str]]:
    """Short hash and subject, as git says them."""
    for use in uses:
        if use.failed is not True and "]" in use.result and (use.name == "commit" or "commit" in command_of(use)):
            yield from ((sha[:7], subject.strip()) for sha, subject in _COMMIT.findall(use.result))


def edited(uses: Iterable[Use], known: Counter[str]) -> Counter[str]:
    """How often each file was edited; what was moved has its new name, what was deleted is gone."""
    found = Counter(known)
    for use in uses:
        if use.failed is True:
            continue
        if _EDITS.search(use.name) and not _NOT_FILES.search(use.name):
            found.update(path.replace("\\", "/").removeprefix("./") for path in use.paths)
        for verb, _, rest in _MOVED.findall(command_of(use)):
            _move(found, verb, [part.strip("\"'") for part in rest.split()])
    return found


def _move(found: Counter[str], verb: str, paths: list[str]) -> None:
    *gone, target = paths if verb == "mv" and len(paths) > 1 else [*paths, ""]
    for path in filter(None, (each.rstrip("/") for each in gone)):
        for name in [name for name in found if name == path or name.startswith(f"{path}/")]:
            times = found.pop(name)
            if target and name == path:
                last = path.rsplit("/", 1)[-1]
                found[target if re.search(r"\.\w+$", target) else f"{target.rstrip('/')}/{last}"] += times


def by_folder(files: Counter[str]) -> str:
    """`app/models: table.py ×6, cell.py; web: app.js`, the most edited folder first."""
    folders: dict[str, list[tuple[int, str]]] = {}
    for path, times in files.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder or ".", []).append((times, name))
    ordered = sorted(folders.items(), key=lambda pair: (-sum(times for times, _ in pair[1]), pair[0]))
    return "; ".join(f"{folder}: {_names(files)}" for folder, files in ordered)


def _names(files: list[tuple[int, str]]) -> str:
    ordered = sorted(files, key=lambda pair: (-pair[0], pair[1]))
    return ", ".join(f"{name} ×{times}" if times > 1 else name for times, name in ordered)


def from_folders(text: str) -> Counter[str]:
    """The files of such a line."""
    found: Counter[str] = Counter()
    for part in text.split("; "):
        folder, _, names = part.partition(": ")
        for each in names.split(", ") if names else []:
            name, _, times = each.partition(" ×")
            found[name if folder == "." else f"{folder}/{name}"] += int(times) if times.isdecimal() else 1
    return found


def recurring(uses: Iterable[Use], files: Counter[str]) -> list[str]:
    """Paths, addresses and commands that calls name again and again, and that are not among the edited files."""
    found: Counter[str] = Counter()
    for use in uses:
        command = command_of(use)
        told = [command, *use.paths, *(value for value in _texts(use.input) if value.startswith("http"))]
        places = {next(filter(None, match)).rstrip("/.,:") for each in told for match in _PLACE.findall(each[:2000])}
        found.update(place for place in places if len(place) <= _FACT and not _SYSTEM.match(place))
        if command and "\n" not in command and len(command) <= _FACT and not _LOOKS.match(command):
            found[f"`{command}`"] += 1
    often = (text for text, times in found.most_common() if times >= _RECURS)
    return [text for text in often if not any(text in path or path in text for path in files)][:_FACTS]


def _texts(given: Any) -> list[str]:
    return [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
