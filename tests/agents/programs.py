"""The real programs, from npm: found in a folder that all tests share, or installed there, and run against a stand-in
for their models, with no account and a home of their own.

`python -m tests.agents.programs` installs them, or says why they cannot be had; some 400 MB are fetched once."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.stand_in_api import StandInApi
from tests.patience import patience

PACKAGES = ("@anthropic-ai/claude-code@2.1.327", "@openai/codex@0.169.0")
# Not in the home, which is no test's business, nor where a reboot clears it; by name, since a test's TMPDIR is its own.
FOLDER = Path(os.environ.get("AGENT_PROGRAMS") or f"/var/tmp/dagentd-agents-{os.getuid()}")
_BINARIES = ("@anthropic-ai/claude-code-*/claude", "@openai/codex-*/vendor/*/bin/codex")
_ENVIRON = dict(os.environ)  # of whoever runs the tests, before a test has its own: where the registry is stands in it
_PATH = _ENVIRON.get("PATH", os.defpath)


class NotHere(Exception):
    """str() says why, for whoever reads what was skipped."""


@dataclass(frozen=True)
class Programs:
    claude: Path
    codex: Path


def programs() -> Programs:
    """Both, installed if need be: one process does it, the others wait."""
    with _locked(FOLDER):
        place = FOLDER / "_".join(package.rpartition("/")[2] for package in PACKAGES)
        if not (place / "ready").exists():
            _install(place)
        found = [next((place / "node_modules").glob(pattern), None) for pattern in _BINARIES]
    match found:
        case [Path() as claude, Path() as codex]:
            return Programs(claude, codex)
    raise NotHere(f"npm has {' or '.join(PACKAGES)} not for this machine")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise NotHere(f"{folder} is another user's: what lies there is not run")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(place: Path) -> None:
    if not (npm := shutil.which("npm", path=_PATH)):
        raise NotHere("there is no npm")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    # The binaries are packages of their own, and need no script to run; the engine that is asked for is that of a
    # wrapper around them.
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")
    command = [npm, "install", *options, "--prefix", str(place), "--cache", str(place / "cache"), *PACKAGES]
    told = subprocess.run(command, env=_ENVIRON, cwd=place, capture_output=True, text=True)
    shutil.rmtree(place / "cache", ignore_errors=True)
    if told.returncode:
        reason = next((line for line in told.stderr.splitlines() if line.strip()), "npm says nothing")
        raise NotHere(f"npm could not install {' and '.join(PACKAGES)}: {reason}")
    (place / "ready").touch()


@dataclass(frozen=True)
class ClaudeCode:
    """`claude -p` against the stand-in."""

    program: Path
    api: StandInApi
    home: Path

    def say(self, prompt: str, cwd: Path, *options: str, resume: str | None = None) -> str:
        """One turn; the id of the conversation."""
        resumed = ("--resume", resume) if resume else ()
        asked = (prompt, "--output-format", "json", "--permission-mode", "bypassPermissions", *resumed, *options)
        said = json.loads(_run([str(self.program), "-p", *asked], cwd, self.environ))
        assert not said["is_error"], said
        return str(said["session_id"])

    @property
    def environ(self) -> dict[str, str]:
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX")
        own = {"ANTHROPIC_BASE_URL": self.api.url, "ANTHROPIC_API_KEY": "any", "CLAUDE_CODE_MAX_RETRIES": "1"}
        return {"PATH": _PATH, "HOME": str(self.home), **own, **dict.fromkeys(quiet, "1")}


@dataclass(frozen=True)
class Codex:
    """`codex exec` against the stand-in."""

    program: Path
    api: StandInApi
    home: Path

    def say(
        self, prompt: str, cwd: Path, *options: str, resume: str | None = None, fork: str | None = None, more: str = ""
    ) -> str:
        """One turn; the id of the conversation. `more` is what else its settings have."""
        self._configure(more)
        asked = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", *options)
        how = ("fork", *asked, fork) if fork else ("resume", *asked, resume) if resume else asked
        environ = {"PATH": _PATH, "HOME": str(self.home), "STAND_IN_KEY": "any"}
        said = [json.loads(line) for line in _run([str(self.program), "exec", *how, prompt], cwd, environ).splitlines()]
        assert any(event["type"] == "turn.completed" for event in said), said
        return str(next(event["thread_id"] for event in said if event["type"] == "thread.started"))

    def _configure(self, more: str) -> None:
        provider: dict[str, Any] = {"name": "stand-in", "base_url": f"{self.api.url}/v1", "wire_api": "responses"}
        provider |= {"env_key": "STAND_IN_KEY", "request_max_retries": 0, "stream_max_retries": 0}
        fields = "".join(f"{key} = {json.dumps(value)}\n" for key, value in provider.items())
        folder = self.home / ".codex"
        folder.mkdir(exist_ok=True)
        text = f'model = "gpt-5.5"\nmodel_provider = "stand-in"\n[model_providers.stand-in]\n{fields}{more}'
        (folder / "config.toml").write_text(text)


def _run(command: list[str], cwd: Path, environ: dict[str, str]) -> str:
    told = subprocess.run(
        command, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience()
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


if __name__ == "__main__":
    try:
        programs()
    except NotHere as reason:
        sys.exit(f"The tests with Claude Code and Codex are skipped: {reason}.")
