"""Transcripts: commands with what they print, in Markdown that a person reads and a test plays.

A transcript begins with a title and a line `Before: …` out of `stage.BEFORE`. What is indented by four spaces is the
terminal, 80 columns wide: a line with `$ ` is a command, what follows is its output, and a status other than 0 comes
last. A comment in a command says what is typed while it runs: `# when it says "Sure?", type y` (or Ctrl-C). All else
is prose. What differs from run to run has a name in capitals instead (`scrub`).

    python -m tests.e2e.transcript [NAME…]      writes what the commands print now into the files
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dagentd import __version__
from tests.e2e.stage import HOME, RUNTIME, Stage, stage
from tests.e2e.terminal import Terminal

FOLDER = Path(__file__).parent / "transcripts"
_INDENT = "    "
_PROMPT = f"{_INDENT}$ "
_BEFORE = re.compile(r"^Before: (.+)\.$", re.MULTILINE)
_TYPING = re.compile(r'# when it says "([^"]+)", type (\S+)')
_KEYS = {"Ctrl-C": "\x03"}
_FOR_THE_SHELL = set("|&;<>()$`*?[]~{}\n")


def _roughly(name: str, bar: str) -> str:
    """How full it is depends on the path of the folder, by a token or two."""
    full = len(bar.strip()) // 8 * 8
    return f"{name:<6} {'█' * full}{'·' * (40 - full)}  NN %"


_VARYING: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
    (r"\b(?!2025)20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
    (r"\b(?!2025)20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+Z| UTC)", "TIME"),
    (r"\b(process +|pid\": )\d+", r"\1PID"),
    (r"\bup \d+ s\b", "up UPTIME"),
    (r"\b[\d.]+ MB, \d+ threads", "SIZE, NUMBER threads"),
    # A sealed part of a journal comes when its session is closed, by itself and at any time.
    (r"( {4}0| {2}\d{3}) B  serves it", "   SIZE  serves it"),
    (r"(?:\d\.\d kB| {3}0 B)(?=   0 B +SIZE  serves it)", "  SIZE"),  # measured seldom: perhaps before the session
    (r"\r?\n[^\n]*\.git/dagentd/kept/[^\n]+\.\d+-\d+\.z(?=\r?\n)", ""),
    (r"\bm-[0-9a-f]{8}\b", "m-00000000"),
    (r"\b[0-9a-f]{32}\b", "ID"),
    (r"answers\s+\([^)]+\)\.\s+When\s+one\s+does,\s+run:", "answers (WHY). When one does, run:"),
    (r"(\"(?:seq|from|to|uptime)\": ?)[\d.]+", r"\1NUMBER"),
    (r"/tmp/dagentd-demo-\w+", "/tmp/dagentd-demo-NAME"),
    (r"\b[0-9a-f]{7} - ", "COMMIT - "),
    (r"(Commits: |; )[0-9a-f]{7} ", r"\1COMMIT "),
    (r"was [0-9a-f]{7}; known after \d+ ms", "was COMMIT; known after NUMBER ms"),
    (r"\b(before|after|again) ( *█+)[^ █]* +\d+ %", lambda found: _roughly(found[1], found[2])),
    (rf"\b{re.escape(__version__)}\b", "VERSION"),
]


@dataclass
class Part:
    """Prose, and after it perhaps a command with its output."""

    prose: list[str] = field(default_factory=list)
    command: str | None = None
    printed: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield from self.prose
        if self.command is not None:
            yield _PROMPT + self.command
            yield from (f"{_INDENT}{line}".rstrip() for line in self.printed)


def parsed(text: str) -> list[Part]:
    parts = [Part()]
    for line in text.splitlines():
        if line.startswith(_PROMPT):
            if parts[-1].command is not None:
                parts.append(Part())
            parts[-1].command = line.removeprefix(_PROMPT)
        elif parts[-1].command is not None and (line.startswith(_INDENT) or not line):
            parts[-1].printed.append(line.removeprefix(_INDENT))
        elif parts[-1].command is not None:
            parts.append(Part([line]))
        else:
            parts[-1].prose.append(line)
    return parts


def played(text: str) -> str:
    """The transcript with what its commands print now."""
    before = _BEFORE.search(text)
    assert before, "a transcript says `Before: …` what is there"
    parts = parsed(text)
    with stage(before[1]) as made:
        folder = made.shop
        for part in parts:
            if part.command is not None:
                printed, folder = _run(part.command, folder, made)
                blank = [""] * _blanks(part.printed)
                part.printed = [*scrub(printed, made).splitlines(), *blank]
    return "\n".join(line for part in parts for line in part.lines()).rstrip("\n") + "\n"


def _run(command: str, folder: Path, made: Stage) -> tuple[str, Path]:
    """What it prints, and the folder in which the next one runs."""
    place = made.runtime / "pwd"
    script = f"trap : INT\n{command}\nstatus=$?\npwd > {place}\nexit $status"  # Ctrl-C ends only the command
    words = shlex.split(command, comments=True)
    alone = words[0] == "dagentd" and not set(command.partition(" # ")[0]) & _FOR_THE_SHELL
    terminal = Terminal(words if alone else ["sh", "-c", script], folder, made.env)
    for said, typed in _TYPING.findall(command):
        terminal.until(said)
        terminal.type(_KEYS.get(typed, f"{typed}\n"))
    status = terminal.end()
    printed = terminal.text.removesuffix("\n") + (f"\n[exit status {status}]" if status else "")
    return printed.removeprefix("\n"), Path(place.read_text().strip()) if place.exists() else folder


def scrub(printed: str, made: Stage) -> str:
    """The same text from run to run, at home in /home/you."""
    return scrub_text(printed.replace(str(made.home), HOME).replace(str(made.runtime), RUNTIME))


def scrub_text(text: str) -> str:
    for pattern, name in _VARYING:
        text = re.sub(pattern, name, text)
    return text


def _blanks(lines: list[str]) -> int:
    """Lines at the end that only stand between this and what follows."""
    return next((number for number, line in enumerate(reversed(lines)) if line), len(lines))


def refresh(names: list[str]) -> None:
    for path in sorted(FOLDER.glob("*.md")):
        if not names or path.stem in names:
            path.write_text(played(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    refresh(sys.argv[1:])
