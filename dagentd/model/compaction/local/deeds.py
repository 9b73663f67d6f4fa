"""What was done with tools: each call with its result, told apart into edits, commands, checks and looking around."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dagentd.model.compaction.evidence import ToolUse
from dagentd.model.compaction.local import prose
from dagentd.model.compaction.turns import Turn

Kind = Literal["edit", "command", "check", "look"]

_EDITS = re.compile(
    r"edit|write|create|patch|replace|insert|update|delete|remove|move|rename|save|append|modify", re.IGNORECASE
)
_LOOKS = re.compile(
    r"read|view|search|grep|glob|list|\bls\b|find|fetch|get|open|todo|think|browse|show|cat", re.IGNORECASE
)
_RUNS = re.compile(r"bash|shell|exec|run|terminal|command|test|build|lint|check|compile|deploy|install", re.IGNORECASE)
_PREFIX = re.compile(
    r"^\s*(?:(?:cd|pushd|source|export|set|mkdir|sleep|echo)\s[^&;|]*(?:&&|;)\s*|[A-Z_][A-Z0-9_]*=\S*\s+"
    r"|(?:sudo|time|nohup)\s+|timeout\s+\S+\s+)+"
)
_SUFFIX = re.compile(r"\s*(?:\d?>&?\s*\S+|\|\s*(?:tail|head|tee|cat|grep|less)\b[^|]*|\|\|\s*true)\s*$")
_WORK = re.compile(
    r"\b(?:test\w*|build|lint|check|typecheck|compile|tsc|mypy|pytest|jest|vitest|mocha|rspec|phpunit|tox"
    r"|cargo|go (?:build|test|vet)|make|cmake|npm|npx|yarn|pnpm|bun|pip|poetry|uv"
    r"|docker|gradlew?|mvn|dotnet|ruff|eslint|prettier|black|terraform|kubectl|helm|ansible\S*|migrate|deploy"
    r"|install|bundle|rake|mix|swift|xcodebuild|bazel|alembic|prisma"
    r"|git (?:commit|push|merge|tag|rebase|revert|cherry-pick))\b"
)
_COUNTED_BAD = re.compile(
    r"(?<![\w.])[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED\b|^FAIL\b|error TS\d+|^npm ERR!|^Build failed",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Deed:
    """`what` is the command, the name of the check or of the tool; `failed` is None while nobody knows."""

    kind: Kind
    what: str
    paths: tuple[str, ...]
    result: str
    failed: bool | None
    sources: tuple[str, ...]
    works: bool = False


def deeds(turns: Iterable[Turn]) -> Iterator[tuple[int, Deed]]:
    """In the order in which they ended, each with the position of its turn; calls without an answer come last."""
    calls: dict[str, tuple[int, str, ToolUse]] = {}
    for at, turn in enumerate(turns):
        for use in turn.tools:
            if use.id and use.name:
                calls[use.id] = at, turn.id, use
            elif use.id in calls:
                _, asked, call = calls.pop(use.id)
                yield at, _deed(call, use.result, use.failed, (asked, turn.id))
            else:
                yield at, _deed(use, use.result, use.failed, (turn.id,))
        for check in turn.checks:
            iteration = f" (iteration {turn.iteration})" if turn.iteration is not None else ""
            result = check.error if not check.passed else f"passed{iteration}"
            yield at, Deed("check", check.name, (), result, not check.passed, (turn.id,), True)
    for at, asked, call in calls.values():
        yield at, _deed(call, "", None, (asked,))


def _deed(use: ToolUse, result: str, failed: bool | None, sources: tuple[str, ...]) -> Deed:
    command = _command(use.name, use.input)
    if command:
        works = bool(_WORK.search(command))
        bad = failed or (works and failed is not None and bool(_COUNTED_BAD.search(prose.ends_of(result))))
        return Deed("command", command, use.paths, result, None if failed is None else bad, sources, works)
    return Deed(_kind(use), use.name, use.paths, result, failed, sources, not use.name or bool(_RUNS.search(use.name)))


def _kind(use: ToolUse) -> Kind:
    subcommand = use.input.get("command") if isinstance(use.input, dict) else None
    if subcommand == "view" or (_LOOKS.search(use.name) and not _EDITS.search(use.name)):
        return "look"
    if use.paths and _EDITS.search(use.name):
        return "edit"
    return "command" if _RUNS.search(use.name) or not use.paths else "look"


def _command(name: str, given: Any) -> str:
    """The part of a command line that does the work: not the folder it is done in, nor where its output goes."""
    if not isinstance(given, dict) or "edit" in name.lower():
        return ""
    line = next((given[key] for key in ("command", "cmd", "script") if given.get(key)), "")
    if isinstance(line, list):
        line = " ".join(map(str, line[:50]))
    return _bare(line[:2000]) if isinstance(line, str) else ""


def _bare(line: str) -> str:
    line = " ".join(line.strip().splitlines()[:1])
    bare = _PREFIX.sub("", line)
    for _ in range(4):
        bare = _SUFFIX.sub("", bare)
    return prose.shortened((bare or line).replace("`", "'"), 120)
