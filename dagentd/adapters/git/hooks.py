"""How git sees hooks: where it looks for them in a worktree, whether it has them in its configuration, and one run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dagentd.adapters.git.command import PATIENCE, ask, environment
from dagentd.adapters.process import check_descriptors
from dagentd.errors import DagentdError

_RUN, _CONFIGURABLE = (2, 36), (2, 54)  # `git hook run`; `hook.<name>.event` and `hook.<name>.command`


def can_be_fired() -> bool:
    return version() >= _RUN


def are_configurable() -> bool:
    return version() >= _CONFIGURABLE


def version() -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", ask(Path("/"), "--version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def folder(worktree: Path) -> Path:
    """As `core.hooksPath` has it: it may be another folder in each worktree. git answers relative to where it runs."""
    answer = ask(worktree, "rev-parse", "--git-path", "hooks").removesuffix("\n")
    return Path(os.path.normpath(worktree / answer))


def would_show(worktree: Path, path: Path) -> bool:
    """Whether a change of this file in a working tree, or the new file, would be seen by `git status` or `git add`."""
    if path.exists():
        return bool(ask(worktree, "ls-files", "--", str(path)))
    return not ask(worktree, "check-ignore", "--", str(path), answers=(0, 1))


def configured(worktree: Path) -> set[str]:
    """The names of hooks in the configuration."""
    question = ("config", "-z", "--name-only", "--get-regexp", r"^hook\..*\.event$")
    keys = ask(worktree, *question, answers=(0, 1))
    return {key.removeprefix("hook.").removesuffix(".event") for key in keys.split("\0") if key}


def fire(worktree: Path, event: str, token: str, settings: Mapping[str, str]) -> None:
    """Have git run a hook, with settings for this run alone. What it does and how it ends is not looked at: if it is
    ours, it leaves the token in the spool."""
    given = {f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(settings)}
    given |= {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    given |= {"GIT_CONFIG_COUNT": str(len(settings)), "DAGENTD_PROBE": token}
    command = ["git", "hook", "run", "--ignore-missing", event]
    try:
        check_descriptors()
        subprocess.run(
            command, cwd=worktree, env={**environment(), **given}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DagentdError(f"git cannot run its {event} hook: {error}", path=worktree, hint="Try it there.") from None
