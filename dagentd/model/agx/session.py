"""The document of a session: how a new one begins, and how what git, tmux and Claude say comes into it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dagentd.model import times
from dagentd.model.agx import Raw, changed, lifecycle, naming, section, stamp
from dagentd.model.agx.config import Config, Window
from dagentd.model.agx.versions import CURRENT

_COMMIT = 12  # hex digits, as in AGX's own files


@dataclass(frozen=True)
class Git:
    branch: str | None = None
    commit: str | None = None
    remote: str | None = None  # the branch it follows, as origin/main
    dirty: bool = False


@dataclass(frozen=True)
class Tmux:
    """A session of the tmux server."""

    name: str
    windows: int
    attached: int  # clients
    last_attached: datetime | None
    path: str


@dataclass(frozen=True)
class Claude:
    """What is known of a conversation with Claude."""

    session_id: str
    can_resume: bool = True
    problem: str | None = None  # why not
    model: str | None = None
    last: str | None = None
    messages: int | None = None
    tokens: int | None = None
    last_command: str | None = None
    files: tuple[str, ...] = ()


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
        "tmux": _new_tmux(naming.tmux_session(config.prefix, name, session_id), root, config),
        "claude": _no_claude(),
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
    return with_git(raw, git)


def _new_tmux(name: str, root: Path, config: Config) -> Raw:
    given = config.windows or [Window(each, ".") for each in config.window_names] or [Window("main", ".")]
    windows = [{"name": each.name, "path": str(root / each.path), "command": each.command} for each in given]
    held = {"defaultWindow": windows[0], "additionalWindows": windows[1:]}
    about = {"sessionName": name, "windowCount": len(windows)}
    return {**about, "isActive": False, "lastAttached": None, "config": held}


def _new_lifecycle(config: Config, at: str) -> Raw:
    threshold = f"{config.cleanup_days}d"
    return {
        "state": "created",
        "stateHistory": [{"state": "created", "timestamp": at, "reason": "initial_creation"}],
        "autoCleanup": {"enabled": config.auto_cleanup, "inactiveThreshold": threshold, "lastCleanupCheck": None},
    }


def _no_claude() -> Raw:
    info: Raw = {"messageCount": 0, "estimatedTokens": 0, "lastCommand": None, "workingFiles": []}
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
        "commandsExecuted": 0,
    }


# --- what is refreshed ------------------------------------------------------------------------------------------


def with_git(raw: Raw, git: Git) -> Raw:
    commit = git.commit[:_COMMIT] if git.commit else None
    known = {"gitBranch": git.branch, "gitCommit": commit, "gitRemote": git.remote, "gitDirty": git.dirty}
    return changed(raw, "project", **known)


def with_tmux(raw: Raw, live: Tmux | None, now: datetime, *, count: bool = True) -> Raw:
    """What the server says; a session that runs is active, and one that ended pauses."""
    was = section(raw, "tmux").get("isActive") is True
    if live is None:
        if not was:
            return raw if section(raw, "tmux").get("isActive") is False else changed(raw, "tmux", isActive=False)
        raw = changed(raw, "tmux", isActive=False)
        return _left(raw, "tmux_ended", now, count)
    fields: Raw = {"windowCount": live.windows, "isActive": True}
    if live.last_attached is not None:
        fields["lastAttached"] = stamp(live.last_attached)
    raw = changed(raw, "tmux", **fields)
    if not was and lifecycle.state_of(raw) not in ("active", "archived"):
        raw = lifecycle.moved(raw, "active", _attachment(raw), now, count=count)
    return raw


def _attachment(raw: Raw) -> str:
    return "first_attachment" if lifecycle.state_of(raw) == "created" else "attachment"


def _left(raw: Raw, reason: str, now: datetime, count: bool) -> Raw:
    return lifecycle.moved(raw, "paused", reason, now, count=count) if lifecycle.state_of(raw) == "active" else raw


def entered(raw: Raw, reason: str, now: datetime, *, count: bool = True) -> Raw:
    """Somebody works in it from now on."""
    return accessed(lifecycle.moved(raw, "active", reason, now, count=count), now)


def left(raw: Raw, reason: str, now: datetime, *, count: bool = True) -> Raw:
    """Nobody does any more, unless its tmux session runs."""
    return raw if section(raw, "tmux").get("isActive") is True else _left(raw, reason, now, count)


def accessed(raw: Raw, now: datetime) -> Raw:
    """The clock may have been put back: the time of last access does not fall."""
    return changed(raw, lastAccessed=stamp(now)) if times.later(stamp(now), raw.get("lastAccessed")) else raw


def modified(before: Raw, after: Raw, now: datetime) -> Raw:
    """What was changed says when."""
    return after if after == before else changed(after, lastModified=stamp(now))


def with_claude(raw: Raw, found: Claude) -> Raw:
    """What is not known of it stays as it is."""
    context = {
        "messageCount": found.messages,
        "estimatedTokens": found.tokens,
        "lastCommand": found.last_command,
        "workingFiles": list(found.files) or None,
    }
    fields = {"sessionId": found.session_id, "modelUsed": found.model, "lastInteraction": found.last}
    same = section(raw, "claude").get("sessionId") == found.session_id
    errors = [found.problem] if found.problem else []
    raw = changed(raw, "claude", hasActiveContext=found.can_resume, **_known(fields))
    raw = changed(raw, "claude", "contextInfo", **(_known(context) if same or any(context.values()) else {}))
    resume: Raw = {"canResume": found.can_resume, "resumeCommand": f"claude --resume {found.session_id}"}
    return changed(raw, "claude", "resumeInfo", **resume, resumeErrors=errors)


def _known(fields: Raw) -> Raw:
    return {key: value for key, value in fields.items() if value is not None}


# --- whose it is ------------------------------------------------------------------------------------------------


def branch_of(raw: Raw) -> str | None:
    """The branch whose session this is; None for one that was named by the user."""
    variant, held = section(raw, "metadata").get("variant"), section(raw, "project").get("gitBranch")
    session_id = str(raw.get("sessionId"))
    for branch in (variant, held):
        if isinstance(branch, str) and naming.could_be_of(session_id, branch):
            return branch
    return None
