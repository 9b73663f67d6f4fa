"""Git hooks of a repository with all its worktrees: installed, taken away, probed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters.files import fileio
from dagentd.adapters.git import command as git_hooks
from dagentd.errors import DagentdError
from dagentd.jobs.hooks import hook_changes, hook_text
from dagentd.jobs.hooks.hook_changes import Change, Changes, Line, apply_changes
from dagentd.jobs.hooks.hook_survey import checkouts, files_around, read_again, survey
from dagentd.model.project import Project
from dagentd.store.spool import EVENTS, Spool


@dataclass(frozen=True)
class Report:
    changed: list[Path]
    failed: dict[Path, DagentdError]
    lines: list[Line]


def install(project: Project) -> Report:
    """Done again, it changes nothing. Where git has hooks in its configuration, no hook file is touched."""
    Spool(project).make()
    hooks, configured = survey(project), git_hooks.are_configurable()
    changes = _change(_own_script(project), hook_text.by_itself())
    if configured:
        changes |= _configuring(project) | hook_changes.plan_uninstall(files_around(project, hooks)[0])[0]
    else:
        changes |= _unconfiguring(project) | hook_changes.plan_install(hooks)
    failed = apply_changes(changes, _roots(project))
    lines = _configured(project, failed) if configured else hook_changes.plan_lines(read_again(hooks, changes), failed)
    return Report([path for path in changes if path not in failed], failed, lines)


def uninstall(project: Project) -> Report:
    held, unread = files_around(project, survey(project))
    changes, refused = hook_changes.plan_uninstall(held)
    changes |= _unconfiguring(project) | _change(_own_script(project), None, folder=True)
    Spool(project).remove()
    failed = refused | unread | apply_changes(changes, _roots(project))
    return Report([path for path in changes if path not in failed], failed, [])


def look(project: Project) -> list[Line]:
    """How it stands, without running anything."""
    return _configured(project, {}) if git_hooks.are_configurable() else hook_changes.plan_lines(survey(project), {})


def status(project: Project) -> list[Line]:
    """How it stands, with a probe of every hook that is as it should be: nothing else of such a hook is run by it."""
    configured, found = git_hooks.are_configurable(), look(project)
    if not git_hooks.can_be_fired():
        return found
    names = {path: name for name, path in checkouts(project).items()}
    spool = Spool(project)
    for at, line in enumerate(found):
        if line.state == "installed" and line.worktree in names:
            name, token = names[line.worktree], uuid.uuid4().hex
            spool.expect(line.event, name)
            git_hooks.fire(line.worktree, line.event, token, _alone(line) if configured else {})
            found[at] = replace(line, arrived=spool.arrived(line.event, name, token))
    return found


def _alone(line: Line) -> dict[str, str]:
    """Settings with which git runs our hook and no other. In a hook file our part ends the probe by itself."""
    others = git_hooks.configured(line.worktree) - {hook_text.hook_name(line.event)}
    return {"core.hooksPath": "/dev/null", **{f"hook.{name}.enabled": "false" for name in others}}


def _configured(project: Project, failed: Mapping[Path, DagentdError]) -> list[Line]:
    missing = _configuring(project)
    error = next((failed[path] for path in missing if path in failed), None)
    line = Line(project.root, "", hook_text.config_file(project), "missing" if missing else "installed")
    if error is not None:
        line = replace(line, state="left alone", reason=error.message, hint=error.hint)
    return [replace(line, worktree=root, event=event) for root in checkouts(project).values() for event in EVENTS]


def _configuring(project: Project) -> Changes:
    config = hook_text.config_file(project)
    wanted = hook_text.config_with_ours(_read(config) or b"")
    return _change(hook_text.own_file(project), hook_text.own_text()) | _change(config, wanted)


def _unconfiguring(project: Project) -> Changes:
    config = hook_text.config_file(project)
    held = _read(config)
    changes = {} if held is None else _change(config, hook_text.config_without_ours(held))
    return changes | _change(hook_text.own_file(project), None)


def _roots(project: Project) -> list[Path]:
    return [project.root, project.common_dir, *checkouts(project).values()]


def _own_script(project: Project) -> Path:
    """The script that a hook which is left alone can run."""
    return project.own_dir / "hook"


def _change(path: Path, wanted: bytes | None, *, folder: bool = False) -> Changes:
    held = _read(path)
    return {} if held == wanted else {path: Change(held, wanted, folder)}


def _read(path: Path) -> bytes | None:
    try:
        return fileio.read(path)
    except FileNotFoundError:
        return None
