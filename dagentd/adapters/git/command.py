"""The git command line: for what libgit2 cannot read, and for asking git itself how it sees things, its hooks among
them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from dagentd.adapters.process import check_descriptors
from dagentd.errors import DagentdError, LimitReached, NotAllowed

PATIENCE = 10.0  # seconds; a repository on a sleeping disk or a dead mount must not hold a thread for ever
# fsmonitor=false: asking git for its status would start a daemon of its own.
_QUIET = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager")


def ask(folder: Path, *arguments: str, told: bytes = b"", answers: tuple[int, ...] = (0,)) -> str:
    """Run git in a folder, told something on its standard input, and return what it prints; a DagentdError with git's
    own words if it refuses. `answers` are the exit statuses that are no refusal: some commands say "no" by 1."""
    try:
        check_descriptors()
        done = subprocess.run(
            [*_QUIET, *arguments], cwd=folder, env=environment(), input=told, capture_output=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        limit = f"git did not answer in {PATIENCE:.0f} s"
        raise LimitReached(limit, path=folder, hint="Look at the disk and at dmesg.") from None
    except OSError as error:
        missing = error.filename == "git" or not folder.is_dir()
        reason = "the folder or the git command is not there" if missing else f"git cannot be run: {error.strerror}"
        raise NotAllowed(reason, path=folder, hint="Install git, or look at PATH of the service.") from None
    if done.returncode not in answers:
        raise DagentdError(_reason(done), path=folder, hint="Try `git status` there.")
    return os.fsdecode(done.stdout)


def environment() -> dict[str, str]:
    """Ours without GIT_*: in a hook of a linked worktree those name another repository, absolutely. No lock is taken,
    nothing is asked on the terminal, and the words are English. Nothing is fetched: in a partial clone, git would load
    an absent object from the network and write it; the first variable stops that since 2.45, the second always. What
    `git replace` put in the place of a commit is not followed: libgit2 does not know it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1"}
    return {**own, **alone, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """The line that says why, with the next if it only announces that one: the rest is advice for somebody at a
    terminal, or a warning before it."""
    lines = os.fsdecode(done.stderr).strip().splitlines()
    if not lines:
        return f"git ended with status {done.returncode}"
    at = next((number for number, line in enumerate(lines) if line.startswith("fatal:")), 0)
    more = f" {lines[at + 1].strip()}" if lines[at].endswith(":") and at + 1 < len(lines) else ""
    return f"git says: {lines[at]}{more}"


# What git changes, and only because a user said so.


def worktree_to_add(root: Path, place: Path, branch: str) -> tuple[str, ...]:
    """The arguments with which git makes a worktree of a branch, and the branch too if there is none."""
    known = ask(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", answers=(0, 1))
    return ("worktree", "add", *((str(place), branch) if known else ("-b", branch, str(place))))


def change(folder: Path, *arguments: str) -> None:
    """Run git as the user would: it may take its time, lock, and fetch what a partial clone lacks."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(("git", *arguments), cwd=folder, env={**own, "LC_ALL": "C"}, capture_output=True, check=False)
    if done.returncode:
        hint = "Look at `git worktree list` and `git status`; `git worktree prune` forgets those that are gone."
        raise DagentdError(_reason(done), path=folder, hint=hint)


# What only git itself can tell of a checkout: whether it is changed, and which branch it follows.

_UPSTREAM = "# branch.upstream "


@dataclass(frozen=True)
class CheckoutStatus:
    remote: str | None = None  # as origin/main
    dirty: bool = False  # something that git tracks is changed


def checkout_status(worktree: Path) -> CheckoutStatus:
    """One call for both; where git cannot tell, as in a bare repository, nothing is known."""
    try:
        told = ask(worktree, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules")
    except DagentdError:
        return CheckoutStatus()
    lines = told.splitlines()
    remote = next((line.removeprefix(_UPSTREAM) for line in lines if line.startswith(_UPSTREAM)), None)
    return CheckoutStatus(remote, any(not line.startswith("#") for line in lines))


# The commits of a span of time, as git has them in a worktree.

_MOST = 30  # the newest


def commits_between(
    worktree: Path, first: str, last: str, *, own: Path | None = None, of: str = "HEAD"
) -> list[tuple[str, str]]:
    """Short hash and subject, the oldest first, of what was committed between two moments; nothing where git cannot
    say. `own` is its git folder, where that was looked up before; `of` another branch, or one less another."""
    # git counts in seconds: what was committed in the second of the first message was there before it.
    since, until = datetime.fromisoformat(first[:19]) + timedelta(seconds=1), last[:19]
    form = ("--first-parent", "--no-show-signature", f"--max-count={_MOST}", "--format=%h %s")
    try:
        there = (f"--git-dir={own}",) if own is not None else ()
        told = ask(worktree, *there, "log", f"--since={since.isoformat()}Z", f"--until={until}Z", *form, of, "--")
    except DagentdError:
        return []
    pairs = (line.partition(" ") for line in reversed(told.splitlines()))
    return [(sha[:7], subject) for sha, _, subject in pairs if subject]


# How git sees hooks: where it looks for them in a worktree, whether it has them in its configuration, and one run.

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
