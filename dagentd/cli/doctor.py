"""`dagentd doctor`: everything that is wrong, why, what to do about it; and what can be mended safely, mended."""

from __future__ import annotations

import contextlib
import shutil
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagentd import paths
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.project import json_option
from dagentd.doctor.examination import Answer, examine
from dagentd.doctor.kinds import Level, kind_of
from dagentd.errors import DagentdError
from dagentd.model import oneline
from dagentd.model.problem import Problem
from dagentd.store.registry import Registry

if TYPE_CHECKING:
    from dagentd.doctor.mending import Mended

_WIDEST = 100  # characters that a sentence is read in well
_ORDER: tuple[Level, ...] = ("degraded", "problem", "note")
_WORDS = {"degraded": "grave problem", "problem": "problem", "note": "note"}


@click.command()
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@json_option
def doctor(fix: bool, as_json: bool) -> int:
    """Say what is wrong, why, and what to do about it.

    It works with the daemon and without, and changes nothing unless told to. The exit status is 1 if problems are
    left; notes do not count.
    """
    if fix:
        from dagentd.doctor.mending import treat

        answer, found, mended = treat()
    else:
        (answer, found), mended = examine(), []
    found.sort(key=lambda each: _ORDER.index(kind_of(each.id).level))
    if as_json:
        output.print_json(_raw(answer, found, mended))
    else:
        _tell(answer, found, mended)
    return int(any(kind_of(each.id).level != "note" for each in found))


def _raw(answer: Answer, found: list[Problem], mended: list[Mended]) -> dict[str, Any]:
    running = answer.status
    return {
        "daemon": {name: running.get(name) for name in ("pid", "health", "version")} if running else None,
        "problems": [_explained(problem) for problem in found],
        "fixed": [{**each.problem.raw(), "done": each.done} for each in mended if each.failed is None],
        "failed": [{**each.problem.raw(), "reason": str(each.failed)} for each in mended if each.failed is not None],
    }


def _explained(problem: Problem) -> dict[str, Any]:
    kind = kind_of(problem.id)
    more = {"level": kind.level, "cause": kind.cause, "fix": _remedy(problem), "fixable": bool(kind.mend)}
    return {**problem.raw(), **more}


def _remedy(problem: Problem) -> str:
    """The fix for a problem: what is said of this very case is better than what is said of all."""
    return problem.hint or kind_of(problem.id).remedy


def _tell(answer: Answer, found: list[Problem], mended: list[Mended]) -> None:
    for each in mended:
        _paragraph("fixed  " if each.failed is None else "cannot ", f"{each.problem.id}: {each.failed or each.done}")
    if mended:
        output.line()
    for problem in found:
        _tell_one(problem)
    output.line(_summed_up(answer, found))
    if any(kind_of(each.id).mend for each in found) and not mended:
        output.line("`dagentd doctor --fix` mends what is marked with *.")
    with contextlib.suppress(DagentdError, OSError):  # no repository is here, or which are registered cannot be read
        _tell_if_unknown(git.project_at(Path.cwd()).root, answer)


def _tell_if_unknown(here: Path, answer: Answer) -> None:
    """Who asks in a repository takes the answer to be about that."""
    known = answer.served | {str(each.project.root) for each in Registry(paths.registry_file()).projects()}
    if str(here) not in known:
        output.line(f"{here} is not registered, so nothing in it was looked at: `dagentd init` has it served.")


def _tell_one(problem: Problem) -> None:
    kind = kind_of(problem.id)
    output.line(f"{_WORDS[kind.level]}: {problem.id}{' *' if kind.mend else ''}")
    if problem.path:
        output.line(f"  {oneline.visible(problem.path)}")
    _paragraph("  ", f"{problem.message[:1].upper()}{problem.message[1:]}.")
    _paragraph("  Cause: ", kind.cause)
    _paragraph("  Do:    ", _remedy(problem))
    output.line()


def _paragraph(start: str, text: str) -> None:
    """Broken between words at the width of the terminal; a path is never broken."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    lines = textwrap.wrap(output.clean(text), width, initial_indent=start, subsequent_indent=" " * len(start),
                          break_long_words=False, break_on_hyphens=False)  # fmt: skip
    output.line("\n".join(lines))


def _summed_up(answer: Answer, found: list[Problem]) -> str:
    counts = Counter(kind_of(each.id).level for each in found)
    told = [f"{n} {_WORDS[level]}{'' if n == 1 else 's'}" for level in _ORDER if (n := counts[level])]
    daemon = f"The daemon runs (process {answer.status['pid']})." if answer.status else "No daemon answers."
    return f"{daemon} {', '.join(told) or 'Nothing is wrong'}."
