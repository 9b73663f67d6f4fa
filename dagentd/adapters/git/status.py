"""What only git itself can tell of a checkout: whether it is changed, and which branch it follows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.git.command import ask
from dagentd.errors import DagentdError

_UPSTREAM = "# branch.upstream "


@dataclass(frozen=True)
class Status:
    remote: str | None = None  # as origin/main
    dirty: bool = False  # something that git tracks is changed


def status(worktree: Path) -> Status:
    """One call for both; where git cannot tell, as in a bare repository, nothing is known."""
    try:
        told = ask(worktree, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules")
    except DagentdError:
        return Status()
    lines = told.splitlines()
    remote = next((line.removeprefix(_UPSTREAM) for line in lines if line.startswith(_UPSTREAM)), None)
    return Status(remote, any(not line.startswith("#") for line in lines))
