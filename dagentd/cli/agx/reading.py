"""`dagentd agx list`, `show` and `index`: what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd import oneshot
from dagentd.adapters import git
from dagentd.agx import lifecycle
from dagentd.agx.values import section_of
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option
from dagentd.cli.verbs import ask, ask_of_all

_LIST = [
    Column("session", style="cyan"), Column("state"), Column("branch"), Column("tmux"), Column("claude"),
    Column("last used"), Column("description", wrap=True),
]  # fmt: skip


@click.command("list")
@click.option("--all", "every", is_flag=True, help="Of all projects, as the global index has them.")
@click.option("--state", type=click.Choice(lifecycle.STATES), help="Only those in this state.")
@project_option
@json_option
def list_sessions(every: bool, state: str | None, where: Path, as_json: bool) -> int:
    """List the AGX sessions of a project, or of all."""
    found = ask_of_all("agx.list", state=state) if every else ask(where, "agx.list", state=state)
    wrong = [] if every else oneshot.agx_jobs().sessions(git.project_at(where).root).all()[1]
    if as_json:
        output.print_json(found)
    else:
        rows = [[*([each.get("projectName")] if every else []), *_row(each)] for each in found["sessions"]]
        columns = [Column("project"), *_LIST] if every else _LIST
        output.table(columns, rows, empty="No AGX sessions: make one with `dagentd agx new`.")
        for error in wrong:
            output.problem(str(error), error.hint)
    return 1 if wrong else 0


def _row(each: dict[str, Any]) -> list[object]:
    status, runtime, git_state = section_of(each, "status"), section_of(each, "runtime"), section_of(each, "git")
    branch = f"{git_state.get('branch') or ''}{' *' if git_state.get('dirty') else ''}"
    current = "→ " if each.get("isCurrent") else ""
    tmux, claude = ("runs" if runtime.get(key) else "" for key in ("tmuxActive", "claudeActive"))
    used = output.ago(status.get("lastAccessed"))
    about = section_of(each, "metadata").get("description")
    return [
        f"{current}{each.get('sessionId')}",
        status.get("state"),
        branch,
        tmux,
        claude and "can resume",
        used,
        about,
    ]


@click.command()
@click.argument("session", required=False)
@project_option
@json_option
def show(session: str | None, where: Path, as_json: bool) -> None:
    """Show an AGX session; without SESSION the current one."""
    raw = ask(where, "agx.get", sessionId=session)
    if as_json:
        output.print_json(raw)
        return
    output.fields((name, value) for name, value in _about(raw) if value)
    output.line()
    history = section_of(raw, "lifecycle").get("stateHistory") or []
    rows = [(each.get("state"), output.ago(each.get("timestamp")), each.get("reason")) for each in history[-10:]]
    output.table([Column("state"), Column("since"), Column("reason")], rows)


def _about(raw: dict[str, Any]) -> list[tuple[str, object]]:
    project, tmux, claude = (section_of(raw, name) for name in ("project", "tmux", "claude"))
    counted, resume = section_of(raw, "statistics"), section_of(raw, "claude", "resumeInfo")
    runs = "runs" if tmux.get("isActive") else "does not run"
    branch = " ".join(str(project.get(key) or "") for key in ("gitBranch", "gitCommit"))
    return [
        ("session", raw["sessionId"]),
        ("state", lifecycle.state_of(raw)),
        ("description", section_of(raw, "metadata").get("description")),
        ("branch", f"{branch}{', changed' if project.get('gitDirty') else ''}"),
        ("follows", project.get("gitRemote")),
        ("tmux", f"{tmux.get('sessionName')} {runs}, windows: {tmux.get('windowCount')}"),
        ("claude", resume.get("resumeCommand") if resume.get("canResume") else _cannot(claude, resume)),
        ("used", f"{counted.get('sessionCount')}×, {counted.get('totalDuration')} in all, "
                 f"most on {counted.get('mostActiveDay') or 'no day'}"),
        ("last used", output.ago(raw.get("lastAccessed"))),
    ]  # fmt: skip


def _cannot(claude: dict[str, Any], resume: dict[str, Any]) -> str:
    if not claude.get("sessionId"):
        return "no conversation"
    return f"{claude['sessionId']} cannot be resumed: {'; '.join(map(str, resume.get('resumeErrors') or []))}"


@click.command()
@click.option("--rebuild", is_flag=True, help="Read every session file anew.")
@json_option
def index(rebuild: bool, as_json: bool) -> None:
    """Check the global index now, and say what it counts."""
    found = ask_of_all("agx.index", rebuild=rebuild)
    if as_json:
        output.print_json(found)
        return
    counted = section_of(found, "statistics")
    output.fields([
        ("projects", counted.get("totalProjects")),
        ("sessions", f"{counted.get('totalSessions')}, {counted.get('activeSessionsCount')} of them active"),
        ("on disk", counted.get("diskUsage")),
        ("last change", output.ago(found.get("lastSync"))),
        ("last cleanup", output.ago(counted.get("lastCleanup")) or "never"),
    ])  # fmt: skip
