"""Checks that were run (tests, linters, builds, deployments): which of them fail now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagentd.model.compaction.local.exchanges import Exchange, Use

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
_FOLDER = re.compile(r"^(?:cd|pushd)\s+(\S+)")
_FAILS = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing|errors?\b(?! found: 0))|^\s*(?:FAIL(?:ED)?\b|FAILURE"
    r"|E {2,}\S|panic:|Traceback|npm ERR!|✗|✖|×|error(?:\[\w+\])?:|ERROR\b|BUILD FAILED)"
    r"|Exit code [1-9]|exit(?:ed with)?(?: code| status) [1-9]|\w+(?:Error|Exception): |error TS\d+",
    re.M,
)  # fmt: skip
_TELLING = re.compile(
    r"^(?!.*\b0 (?:failed|errors?)\b).*(?:\bFAIL|\bE {2,}\S|\w(?:Error|Exception)\b|\berror\b|\bassert|panic:|✗|✖"
    r"|✕|not (?:found|equal|defined)|expected|undefined|cannot|unable)",
    re.I,
)
_SURELY = re.compile(r"--- FAIL|^\s*FAILED \S|^E  +\S|\w+Error: |panic: |error(?:\[\w+\]| TS\d+)?: |✗ |✕ |× ")
_IDLE = re.compile(
    r"^\s*(?:Exit code \d+|\[\w+\] \$ .*|> .*|\$ .*|\S*\s*no test files\]?|ok\s.*|=+.*(?:session|short"
    r"|FAILURES).*=+|_{3,}.*|-{3,}|\[\w+\] ERROR task failed|Traceback.*|error: Recipe .*|make: \*\*\*.*"
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
        folder = self.key.partition(" in ")[2]
        where = f" in {folder}" if folder else ""
        return f"`{self.command}`{where} failed when last run{f': {self.told}' if self.told else ''}"


def runs(exchange: Exchange) -> Iterator[Run]:
    for use in exchange.uses:
        if use.failed is not None or use.result:
            yield from _of_command(use)
    for check, source in exchange.checks:
        yield Run(check.name.lower(), check.name, check.passed, _line(check.error), source)
    if found := [*_PASTED.finditer(exchange.pasted)]:
        told = found[-1][1].strip()
        source = exchange.sources[-1] if exchange.sources else ""
        line = f"{told} {telling(exchange.pasted)}".strip()
        yield Run("tests", "tests", not _FAILS.search(told), line, source)


def command_of(use: Use) -> str:
    given = use.input
    if isinstance(given, dict):
        given = given.get("command") or given.get("cmd") or given.get("script")
    if isinstance(given, list):
        given = " ".join(str(part) for part in given[-1:] if isinstance(part, str))
    return given.strip() if isinstance(given, str) else ""


def _of_command(use: Use) -> Iterator[Run]:
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
    return match[1] if match else ""


def telling(output: str, or_last: bool = True) -> str:
    """Its first line that says what is wrong; if none does, its last one."""
    lines = [line for line in output.split("\n")[:400] if len(line) > _BARE and not _IDLE.match(line)]
    last = lines[-1] if lines and or_last else ""
    return _line(next((line for sign in (_SURELY, _TELLING) for line in lines if sign.search(line)), last))


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LINE else f"{flat[: _LINE - 2]} …"
