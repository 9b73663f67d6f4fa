"""Work as tools show it, never prose: failing checks, the todo list, edited files, commits, what recurs in calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagentd.model.compaction.evidence import ToolUse
from dagentd.model.compaction.items import list_of, object_of
from dagentd.model.compaction.local.exchanges import Exchange

# Checks that were run (tests, linters, builds, deployments): which of them fail now.

_SEGMENT = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_PIPED = re.compile(r"\s*(?:2>&1|>\s*\S+|\|(?!\|).*)")
_BEFORE = re.compile(
    r"^(?:\w+=\S*\s+|(?:sudo|time|nice|exec|command|npx|bunx|uvx|xvfb-run|timeout \S+|uv run|poetry run|pipenv run"
    r"|hatch run|pdm run|rye run|bundle exec|pnpm exec|pnpm dlx|yarn dlx"
    r"|docker(?:-| )compose (?:run|exec)(?: -\S+)* \S+|python[\d.]* -m|py -m|\S*/bin/(?=\w))\s*)+"
)
_SCRIPTED = re.compile(
    r"^(npm|pnpm|yarn|bun|mise|just|make|task|deno|composer|rake|gradle|\./gradlew|mvn|cargo|go|dotnet|swift|mix"
    r"|sbt|bazel|nx|turbo|terraform|helm|firebase|vercel|fly|docker)\s+(?:-\S+ |run[ -]|task )*([\w:.-]+)"
)
_VERB = re.compile(
    r"test|lint|build|check|vet|compile|deploy|verify|clippy|typecheck|tsc|spec|e2e|plan|apply|validate|publish"
    r"|^ci$|^up$|fmt",
    re.I,
)
_PROGRAM = re.compile(
    r"^(?:[\w./~-]*/)?(pytest|py\.test|jest|vitest|mocha|ava|tox|nox|rspec|phpunit|ctest|unittest|eslint|ruff"
    r"|flake8|pylint|black|isort|mypy|pyright|tsc|prettier|biome|golangci-lint|shellcheck|playwright|cypress"
    r"|rubocop|stylelint|hadolint|pre-commit|webpack|vite|next|ng|cmake|ninja|ansible-playbook|make|phpstan"
    r"|psalm)\b(?:\s+(test|build|run|check))?"
)
_SCRIPT = re.compile(
    r"^(?:(?:bash|sh|python[\d.]*|node|ruby|perl)\s+)?(?:\./)?((?:[\w.~-]*/)*[\w.-]*(?:test|lint|build|check"
    r"|deploy|verify)[\w.-]*\.(?:sh|py|js|ts|rb))\b"
)
_CHECKING = re.compile(  # any program that says of itself what it does
    r"^([\w.@/-]+) (?:-\S+ )*(test|lint|build|check|vet|validate|verify|compile|deploy|typecheck)(?=\s|$)"
)
_FOLDER = re.compile(r"^(?:cd|pushd)\s+(\S+)")
_FAILS = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing|errors?\b(?! found: 0))|^\s*(?:FAIL(?:ED)?\b|FAILURE"
    r"|E {2,}\S|panic:|Traceback|npm ERR!|✗|✖|×|error(?:\[\w+\])?:|ERROR\b|BUILD FAILED)"
    r"|Exit code [1-9]|exit(?:ed with)?(?: code| status) [1-9]|\w(?:Error|Exception): |error TS\d+",
    re.M,
)  # fmt: skip
_TELLING = re.compile(
    r"^(?!.*\b0 (?:failed|errors?)\b).*(?:\bFAIL|\bE {2,}\S|\w(?:Error|Exception)\b|\berror\b|\bassert|panic:|✗|✖"
    r"|✕|not (?:found|equal|defined)|expected|undefined|cannot|unable)",
    re.I,
)
_SURELY = re.compile(r"--- FAIL|^\s*FAILED \S|^E  +\S|\wError: |panic: |error(?:\[\w+\]| TS\d+)?: |✗ |✕ |× ")
_IDLE = re.compile(
    r"^\s*+(?:Exit code \d+|\[\w+\] \$ .*|> .*|\$ .*|\S*\s*no test files\]?|ok\s.*|=++(?=.*(?:session|short"
    r"|FAILURES)).*=|_{3,}.*|-{3,}|\[\w+\] ERROR task failed|Traceback.*|error: Recipe .*|make: \*\*\*.*"
    r"|npm ERR! (?:code|errno|path).*)\s*$"
)
_PASTED = re.compile(
    r"^=*\s*(?:Tests?:?\s+)?((?:\d+ \w+, )*[1-9]\d* (?:failed|failing|errors?)\b[^=\n]{0,80}"
    r"|\d+ passed[^=\n]{0,60}|Tests:\s.+|test result: .+)",
    re.M,
)
_BARE = 8  # characters of a line that says no more than FAIL
_LINE = 160  # characters of what a failure says


@dataclass(frozen=True)
class Run:
    """`key` is the program and what it does, whatever way it was called; `told` its first telling line."""

    key: str
    command: str
    passed: bool
    told: str
    source: str

    @property
    def shown(self) -> str:
        _, where, folder = self.key.partition(" in ")
        return f"`{self.command}`{where}{folder} failed when last run{f': {self.told}' if self.told else ''}"


def runs(exchange: Exchange) -> Iterator[Run]:
    for use in exchange.uses:
        if use.failed is not None or use.result:
            yield from _of_command(use)
    for check, source in exchange.checks:
        yield Run(check.name.lower(), check.name, check.passed, _line(check.error), source)
    if found := [*_PASTED.finditer(exchange.pasted)]:
        told = found[-1][1].strip()
        line = f"{told} {telling(exchange.pasted)}".strip()
        yield Run("tests", "tests", not _FAILS.search(told), line, "".join(exchange.sources[-1:]))


def command_of(use: ToolUse) -> str:
    given = use.input
    if isinstance(given, dict):
        given = given.get("command") or given.get("cmd") or given.get("script")
    if isinstance(given, list):
        given = " ".join(str(part) for part in given[-1:] if isinstance(part, str))
    return given.strip() if isinstance(given, str) else ""


def _of_command(use: ToolUse) -> Iterator[Run]:
    """Of several in one line the first has failed, unless the output names another."""
    folder, found = "", dict[str, str]()
    for segment in _SEGMENT.split(command_of(use)[:2000]):
        if (match := _FOLDER.match(segment)) is not None:
            folder = match[1].rstrip("/")
        elif key := key_of(segment):
            found.setdefault(f"{key} in {folder}" if folder else key, _PIPED.sub("", segment).strip())
    failed = bool(use.failed) or _FAILS.search(use.result) is not None
    for key, command in found.items():
        if not failed or key == next(iter(found)):
            yield Run(key, command[:100], not failed, telling(use.result) if failed else "", use.source)


def key_of(command: str) -> str:
    """Equal for all spellings of one check; empty for what checks nothing."""
    bare = _BEFORE.sub("", _PIPED.sub("", command).strip())
    if (match := _PROGRAM.match(bare)) is not None and match[1] != "make":
        return match[1] if match[1] not in ("next", "ng", "vite", "webpack") or match[2] else ""
    if (match := _SCRIPTED.match(bare)) is not None:
        tool = "npm" if match[1] in ("pnpm", "yarn", "bun") else match[1]
        return f"{tool} {match[2]}" if _VERB.search(match[2]) else ""
    match = _SCRIPT.match(bare)
    return match[1] if match else " ".join(found.groups()) if (found := _CHECKING.match(bare)) is not None else ""


def telling(output: str, or_last: bool = True) -> str:
    """Its first line that says what is wrong; if none does, its last one."""
    lines = [line for line in output.split("\n")[:400] if len(line) > _BARE and not _IDLE.match(line)]
    last = lines[-1] if lines and or_last else ""
    return _line(next((line for sign in (_SURELY, _TELLING) for line in lines if sign.search(line)), last))


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LINE else f"{flat[: _LINE - 2]} …"


# State that tools show, never prose: the todo list, the files that were edited, commits, and what recurs in calls.

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
_RECURS, _FACTS, _FACT, _DIGITS = 3, 14, 120, 9

Todo = tuple[str, str, str]  # text, state, id of the message


def todos(uses: Iterable[ToolUse], known: list[Todo]) -> list[Todo]:
    """The open ones of the list as the last use of it left it."""
    for use in uses:
        given = object_of(use.input)
        if use.name in ("TaskCreate", "TaskUpdate"):
            known = _task(given, known, use)
        elif _LIST.search(use.name) and use.failed is not True:
            listed = [*_listed(given, use)]
            before = known if given.get("merge") is True else []
            known = [*{each[0]: each for each in (*before, *listed)}.values()] if listed else known
    return [each for each in known if each[1].strip().lower() not in _OVER]


def _listed(given: Mapping[str, Any], use: ToolUse) -> Iterator[Todo]:
    for value in (given.get(key) for key in ("todos", "plan", "tasks", "items", "todo_list")):
        if isinstance(value, str):
            yield from ((text, _STATES.get(sign, "pending"), use.source) for sign, text in _BOX.findall(value))
        for each in list_of(value):
            fields = object_of(each)
            text = next((fields[key] for key in _TEXTS if isinstance(fields.get(key), str)), "")
            if text.strip():
                yield " ".join(text.split()), str(fields.get("status", "pending")), use.source


def _task(given: Mapping[str, Any], known: list[Todo], use: ToolUse) -> list[Todo]:
    """One task at a time, named by its number."""
    subject, state = given.get("subject"), given.get("status")
    if use.name == "TaskCreate":
        return [*known, (" ".join(subject.split()), "pending", use.source)] if isinstance(subject, str) else known
    number = str(given.get("taskId"))
    at = int(number) - 1 if number.isdecimal() and len(number) < _DIGITS else -1
    if not 0 <= at < len(known):
        return known
    text = subject if isinstance(subject, str) and subject else known[at][0]
    return [*known[:at], (text, str(state or known[at][1]), use.source), *known[at + 1 :]]


def commits(uses: Iterable[ToolUse]) -> Iterator[tuple[str, str]]:
    """Short hash and subject, as git says them."""
    for use in uses:
        if use.failed is not True and "]" in use.result and (use.name == "commit" or "commit" in command_of(use)):
            yield from ((sha[:7], subject.strip()) for sha, subject in _COMMIT.findall(use.result))


def edited(uses: Iterable[ToolUse], known: Counter[str]) -> Counter[str]:
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


def by_folder(files: Iterable[tuple[str, int]]) -> str:
    """`app/models: table.py ×6, cell.py; web: app.js`, the most edited folder first."""
    folders: dict[str, list[tuple[int, str]]] = {}
    for path, times in files:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder or ".", []).append((times, name))
    ordered = sorted(folders.items(), key=lambda pair: (-sum(times for times, _ in pair[1]), pair[0]))
    lines = []
    for folder, held in ordered:
        often = sorted(held, key=lambda pair: (-pair[0], pair[1]))
        lines.append(f"{folder}: {', '.join(f'{name} ×{times}' if times > 1 else name for times, name in often)}")
    return "; ".join(lines)


def from_folders(text: str) -> Counter[str]:
    """The files of such a line."""
    found = Counter[str]()
    for part in text.split("; "):
        folder, _, names = part.partition(": ")
        for each in names.split(", ") if names else []:
            name, _, times = each.partition(" ×")
            found[name if folder == "." else f"{folder}/{name}"] += int(times) if times.isdecimal() else 1
    return found


def recurring(uses: Iterable[ToolUse], files: Counter[str]) -> list[str]:
    """Paths, addresses and commands that calls name again and again, and that are not among the edited files."""
    found: Counter[str] = Counter()
    for use in uses:
        command = command_of(use)
        given = object_of(use.input).values()
        told = [command, *use.paths, *(each for each in given if isinstance(each, str) and each.startswith("http"))]
        places = {next(filter(None, match)).rstrip("/.,:") for each in told for match in _PLACE.findall(each[:2000])}
        found.update(place for place in places if len(place) <= _FACT and not _SYSTEM.match(place))
        if command and "\n" not in command and len(command) <= _FACT and not _LOOKS.match(command):
            found[f"`{command}`"] += 1
    often = (text for text, times in found.most_common() if times >= _RECURS)
    return [text for text in often if not any(text in path or path in text for path in files)][:_FACTS]
