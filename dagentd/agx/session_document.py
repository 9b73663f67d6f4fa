"""The document of a session: how a new one begins, and how what git, tmux and Claude say comes into it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dagentd.adapters.tmux import TmuxSession, Window
from dagentd.agx import lifecycle, session_names
from dagentd.agx.configuration import Config
from dagentd.agx.schema import CURRENT
from dagentd.agx.values import Raw, changed, overlaid, section_of, stamp
from dagentd.model import times

_COMMIT = 12  # hex digits, as in AGX's own files


@dataclass(frozen=True)
class Git:
    branch: str | None = None
    commit: str | None = None
    remote: str | None = None  # the branch it follows, as origin/main
    dirty: bool = False


@dataclass(frozen=True)
class Claude:
    """Facts about a conversation with Claude, as far as they are known."""

    session_id: str
    can_resume: bool = True
    problem: str | None = None  # why not
    model: str | None = None
    last: str | None = None
    messages: int | None = None
    tokens: int | None = None
    last_command: str | None = None
    files: tuple[str, ...] = ()
    branch: str | None = None  # on which it was last at work


def new(session_id: str, root: Path, config: Config, variant: str, git: Git, now: datetime) -> Raw:
    at = stamp(now)
    name = config.project_name or root.name
    working = str(root / config.working_directory) if config.working_directory else str(root)
    raw: Raw = {
        "version": CURRENT,
        "sessionId": session_id,
        "created": at,
        "lastAccessed": at,
        "lastModified": at,
        "project": {"name": name, "path": str(root), "workingDirectory": working},
        "tmux": _new_tmux(session_names.tmux_session(config.prefix, name, session_id), root, working, config),
        "claude": _no_claude(config),
        "metadata": {
            "description": "",
            "tags": [],
            "variant": variant,
            "isDefault": variant == config.default_variant,
            "customData": {},
        },
        "statistics": _no_statistics(),
        "lifecycle": _new_lifecycle(config, at),
    }
    raw = with_git(raw, git)
    return changed(raw, "project", gitStart=raw["project"]["gitCommit"])


def _new_tmux(name: str, root: Path, working: str, config: Config) -> Raw:
    windows = [
        {"name": each.name, "path": str(root / each.path) if each.path else working, "command": each.command}
        for each in config.windows or map(Window, config.window_names)
    ]
    held = {"defaultWindow": windows[0], "additionalWindows": windows[1:]}
    about = {"sessionName": name, "windowCount": len(windows)}
    return {**about, "isActive": False, "lastAttached": None, "config": held}


def _new_lifecycle(config: Config, at: str) -> Raw:
    return {
        "state": "created",
        "stateHistory": [{"state": "created", "timestamp": at, "reason": "initial_creation"}],
        # Without a threshold of its own it follows the configuration, also where that is changed later.
        "autoCleanup": {"enabled": config.auto_cleanup, "inactiveThreshold": None, "lastCleanupCheck": None},
    }


def _no_claude(config: Config) -> Raw:
    """The files that the project names are those that a conversation begins with."""
    files = [each for each in config.context_files if each and not each.startswith("/") and ".." not in each.split("/")]
    info: Raw = {"messageCount": 0, "estimatedTokens": 0, "lastCommand": None, "workingFiles": files}
    resume: Raw = {"canResume": False, "resumeCommand": None, "lastResumeAttempt": None, "resumeErrors": []}
    about = {"sessionId": None, "conversationId": None, "modelUsed": None}
    return {**about, "hasActiveContext": False, "lastInteraction": None, "contextInfo": info, "resumeInfo": resume}


def _no_statistics() -> Raw:
    return {
        "sessionCount": 0,
        "totalDuration": "0s",
        "averageSessionLength": "0s",
        "lastSessionDuration": "0s",
        "mostActiveDay": None,
    }


# --- what is refreshed ------------------------------------------------------------------------------------------


def with_git(raw: Raw, git: Git) -> Raw:
    commit = git.commit[:_COMMIT] if git.commit else None
    known = {"gitBranch": git.branch, "gitCommit": commit, "gitRemote": git.remote, "gitDirty": git.dirty}
    return changed(raw, "project", **known)


def with_tmux(raw: Raw, live: TmuxSession | None, now: datetime) -> Raw:
    """Put what the tmux server says into a document. A session that runs is active, and one that ended pauses; the time
    of its last use stays, as that was before."""
    was = section_of(raw, "tmux").get("isActive") is True
    if live is None:
        if not was:
            return raw if section_of(raw, "tmux").get("isActive") is False else changed(raw, "tmux", isActive=False)
        raw = changed(raw, "tmux", isActive=False)
        return lifecycle.moved(raw, "paused", "tmux_ended", now) if lifecycle.state_of(raw) == "active" else raw
    fields: Raw = {"windowCount": live.windows, "isActive": True}
    if live.last_attached is not None:
        fields["lastAttached"] = stamp(live.last_attached)
    raw = changed(raw, "tmux", **fields)
    if not was and lifecycle.state_of(raw) not in ("active", "archived"):
        first = lifecycle.state_of(raw) == "created"
        raw = lifecycle.moved(raw, "active", "first_attachment" if first else "attachment", now)
    return raw if live.activity is None else accessed(raw, live.activity)


def entered(raw: Raw, reason: str, now: datetime) -> Raw:
    """Somebody works in it from now on."""
    return accessed(lifecycle.moved(raw, "active", reason, now), now)


def left(raw: Raw, state: str, reason: str, now: datetime) -> Raw:
    """Somebody has worked in it until now."""
    used = lifecycle.state_of(raw) == "active"
    return lifecycle.moved(accessed(raw, now) if used else raw, state, reason, now)


def accessed(raw: Raw, now: datetime) -> Raw:
    """The clock may have been put back: the time of last access does not fall."""
    return changed(raw, lastAccessed=stamp(now)) if times.later(stamp(now), raw.get("lastAccessed")) else raw


def modified(before: Raw, after: Raw, now: datetime) -> Raw:
    """Put the time into a document that was changed."""
    return after if after == before else changed(after, lastModified=stamp(now))


def with_claude(raw: Raw, found: Claude, config: Config) -> Raw:
    """Set what is known of a conversation; the rest stays as it is, but nothing of another conversation does."""
    if section_of(raw, "claude").get("sessionId") != found.session_id:
        raw = overlaid(raw, {"claude": _no_claude(config)})
    context = {
        "messageCount": found.messages,
        "estimatedTokens": found.tokens,
        "lastCommand": found.last_command,
        "workingFiles": list(found.files) or None,
    }
    fields = {"sessionId": found.session_id, "modelUsed": found.model, "lastInteraction": found.last}
    raw = changed(raw, "claude", hasActiveContext=found.can_resume, **_known(fields))
    raw = changed(raw, "claude", "contextInfo", **_known(context))
    resume: Raw = {"canResume": found.can_resume, "resumeCommand": resume_command(found.session_id, config)}
    return changed(raw, "claude", "resumeInfo", **resume, resumeErrors=[found.problem] if found.problem else [])


def resume_command(claude_id: str, config: Config) -> str:
    model = ("--model", config.claude_model) if config.claude_model else ()
    return shlex.join(("claude", "--resume", claude_id, *model, *config.claude_args))


def _known(fields: Raw) -> Raw:
    return {key: value for key, value in fields.items() if value is not None}


# --- whose it is ------------------------------------------------------------------------------------------------


def branch_of(raw: Raw) -> str | None:
    """The branch whose session this is; None for one that was named by the user."""
    variant, held = section_of(raw, "metadata").get("variant"), section_of(raw, "project").get("gitBranch")
    session_id = str(raw.get("sessionId"))
    for branch in (variant, held):
        if isinstance(branch, str) and session_names.could_be_of(session_id, branch):
            return branch
    return None


def is_default(raw: Raw) -> bool:
    return section_of(raw, "metadata").get("isDefault") is True


def default_of(found: Sequence[Raw], variant: str) -> Raw | None:
    """The one default session of a project: that of the variant, else the first that says it is."""
    named = [raw for raw in found if raw["sessionId"] == variant]
    meant = [raw for raw in found if section_of(raw, "metadata").get("variant") == variant]
    said = [raw for raw in found if is_default(raw)]
    return next(iter([*named, *(raw for raw in meant if is_default(raw)), *meant, *said]), None)
