"""The real command, in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.patience import patience
from tests.warm import Command


def dagentd(*arguments: str, cwd: Path, status: int = 0, told: str = "") -> str:
    """What the command prints, told something on standard input; it must end with the given status and print nothing
    else."""
    done = start(*arguments, cwd=cwd)
    printed, errors = done.communicate(told, timeout=patience())
    assert done.returncode == status, printed + errors
    return str(printed if status == 0 or printed else errors)


def dagentd_json(*arguments: str, cwd: Path) -> Any:
    return json.loads(dagentd(*arguments, "--json", cwd=cwd))


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return Command(*arguments, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
