"""What is done beside sessions while the system fails: registry, ledger, spool, hooks, what git is to ignore, AGX."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters import git
from dagentd.agents.resumable import Resumable
from dagentd.agx.agx import Agx
from dagentd.errors import DagentdError
from dagentd.jobs import exclude, hooks
from dagentd.jobs.hooks import Report
from dagentd.model.project import Project
from dagentd.model.spend import Caps
from dagentd.settings import Settings
from dagentd.store.ledger import LONG, Ledger
from dagentd.store.registry import Registry
from dagentd.store.spool import Note, Spool
from tests.torture.reader import whole

OWN_HOOK = b"#!/bin/sh\necho mine\n"
CALLS = 3  # in the ledger before anything fails


@dataclass
class Desk:
    """A repository in a home of its own; `root` holds both, and `told` is what calls gave."""

    root: Path
    told: list[object] = field(default_factory=list)

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def project(self) -> Project:
        return git.project_at(self.repo)

    @property
    def registry(self) -> Registry:
        return Registry(self.root / "state" / "projects.json")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.root / "state" / "ledger.jsonl")

    @property
    def hook(self) -> Path:
        return self.repo / ".git" / "hooks" / "post-commit"

    @property
    def excluded(self) -> list[str]:
        return (self.repo / ".git" / "info" / "exclude").read_text().splitlines()

    @property
    def agx(self) -> Agx:
        return Agx(lambda: Settings().agx, lambda: [self.repo], lambda: Resumable(list))

    @property
    def agx_session(self) -> Path:
        return self.repo / ".agx" / "sessions" / "side.json"


Step = Callable[[Desk], None]


@dataclass(frozen=True)
class Work:
    """`meanwhile` holds whatever failed, `afterwards` once it was done."""

    name: str
    act: Step
    meanwhile: Step
    afterwards: Step
    prepare: Step = lambda desk: None


# --- the registry -----------------------------------------------------------------------------------------------------


def _other(desk: Desk) -> Project:
    return Project(desk.root / "other", desk.root / "other" / ".git")


def _registered(desk: Desk) -> None:
    desk.registry.add(desk.project)
    (desk.root / "other" / ".git").mkdir(parents=True)


def _first_is_registered(desk: Desk) -> None:
    assert whole(desk.root / "state" / "projects.json")["projects"][-1]["root"] == str(desk.repo)


def _both_are_registered(desk: Desk) -> None:
    assert {each.project.root for each in desk.registry.projects()} == {desk.repo, _other(desk).root}


def _register_both(desk: Desk) -> None:
    _registered(desk)
    desk.registry.add(_other(desk))


def _unregister(desk: Desk) -> None:
    if any(each.project == _other(desk) for each in desk.registry.projects()):
        desk.registry.remove(_other(desk))


def _one_is_registered(desk: Desk) -> None:
    assert [each.project.root for each in desk.registry.projects()] == [desk.repo]


# --- the ledger -------------------------------------------------------------------------------------------------------


def _call(desk: Desk) -> None:
    name = desk.ledger.begin({"project": "/p", "session": "s"}, "claude-haiku-5-5", 10, Caps(100, 10**9), forced=True)
    desk.told.append(name)


def _calls(desk: Desk) -> None:
    for _ in range(CALLS):
        _call(desk)


def _long(desk: Desk) -> None:
    """The next entry begins it anew."""
    _calls(desk)
    compaction = json.dumps({"t": "compaction", "at": "2026-01-01T00:00:00.000Z", "about": "x" * 1000})
    with (desk.root / "state" / "ledger.jsonl").open("a") as file:
        file.write(f"{compaction}\n" * (LONG // len(compaction) + 1))


def _no_call_is_forgotten(desk: Desk) -> None:
    """One that was refused may have been entered, and is then counted: no money is spent that is not."""
    known = len(desk.ledger.calls())
    assert CALLS + len(desk.told) <= known <= CALLS + len(desk.told) + 2, known


# --- the spool --------------------------------------------------------------------------------------------------------


def _word(desk: Desk) -> None:
    Spool(desk.project).make()
    for event in ("post-commit", "post-checkout"):
        (desk.project.spool_dir / event).write_text("x")


def _take(desk: Desk) -> None:
    desk.told += Spool(desk.project).take()


def _word_is_not_lost(desk: Desk) -> None:
    taken = {note.event for note in desk.told if isinstance(note, Note)}
    left = {path.name for path in desk.project.spool_dir.iterdir() if path.stat().st_size}
    assert taken | left == {"post-commit", "post-checkout"}


def _word_is_taken(desk: Desk) -> None:
    """What could not be emptied is taken once more."""
    _word_is_not_lost(desk)
    Spool(desk.project).take()
    assert Spool(desk.project).take() == []


# --- git's own files --------------------------------------------------------------------------------------------------


def _own_hook(desk: Desk) -> None:
    desk.hook.parent.mkdir(exist_ok=True)
    desk.hook.write_bytes(OWN_HOOK)
    desk.hook.chmod(0o755)


def _install(desk: Desk) -> None:
    _all_well(hooks.install(desk.project))


def _installed(desk: Desk) -> None:
    _own_hook(desk)
    _install(desk)


def _uninstall(desk: Desk) -> None:
    _all_well(hooks.uninstall(desk.project))


def _all_well(report: Report) -> None:
    for error in report.failed.values():
        raise error
    for line in report.lines:
        if line.state != "installed":
            hint = line.hint or "dagentd hooks install"  # that of a hook that is missing, or could not be read back
            raise DagentdError(f"{line.state}: {line.reason}", path=line.path, hint=hint)


def _own_hook_is_there(desk: Desk) -> None:
    assert OWN_HOOK.splitlines()[-1] in desk.hook.read_bytes() and os.access(desk.hook, os.X_OK)


def _hooks_are_there(desk: Desk) -> None:
    _own_hook_is_there(desk)
    assert {line.state for line in hooks.status(desk.project)} == {"installed"}


def _only_own_hook(desk: Desk) -> None:
    assert desk.hook.read_bytes() == OWN_HOOK


def _exclude_some(desk: Desk) -> None:
    (desk.repo / ".git" / "info" / "exclude").write_text("mine\n")


def _excluded(desk: Desk) -> None:
    _exclude_some(desk)
    exclude.add(desk.project)


def _mine_is_excluded(desk: Desk) -> None:
    assert desk.excluded[0] == "mine"


def _ours_is_excluded(desk: Desk) -> None:
    assert desk.excluded[0] == "mine" and ".dagent-worktrees/" in desk.excluded


def _only_mine_is_excluded(desk: Desk) -> None:
    assert desk.excluded == ["mine"]


# --- AGX --------------------------------------------------------------------------------------------------------------


def _agx(desk: Desk) -> None:
    desk.agx.new(desk.repo, "main")
    desk.agx.new(desk.repo, "side")


def _agx_note(desk: Desk) -> None:
    desk.agx.claude(desk.repo, "abc", "side")


def _agx_archive(desk: Desk) -> None:
    if whole(desk.agx_session)["lifecycle"]["state"] != "archived":
        desk.agx.archive(desk.repo, "side")


def _agx_new(desk: Desk) -> None:
    if not desk.agx_session.with_name("fresh.json").exists():
        desk.agx.new(desk.repo, "fresh")


def _agx_index(desk: Desk) -> None:
    desk.agx.index(rebuild=True)


def _agx_without_index(desk: Desk) -> None:
    _agx(desk)
    (desk.root / "home" / ".agx" / "index.json").unlink()


def _agx_is_whole(desk: Desk) -> None:
    assert {"main", "side"} <= {path.stem for path in desk.agx_session.parent.glob("*.json")}
    for path in [*(desk.repo / ".agx").rglob("*.json"), *(desk.root / "home" / ".agx").rglob("*.json")]:
        whole(path)


def _agx_is_indexed(desk: Desk) -> None:
    """By the next check of the index, as the daemon makes it."""
    _agx_is_whole(desk)
    desk.agx.index()
    entries = {each["sessionId"] for each in whole(desk.root / "home" / ".agx" / "index.json")["sessions"]}
    assert entries == {path.stem for path in desk.agx_session.parent.glob("*.json")}


def _agx_is_noted(desk: Desk) -> None:
    _agx_is_indexed(desk)
    assert whole(desk.agx_session)["claude"]["sessionId"] == "abc"


def _agx_is_archived(desk: Desk) -> None:
    _agx_is_indexed(desk)
    assert whole(desk.agx_session)["lifecycle"]["state"] == "archived"


WORK = [
    Work("register", lambda desk: _ignored(desk.registry.add(_other(desk))), _first_is_registered,
         _both_are_registered, _registered),
    Work("unregister", _unregister, _first_is_registered, _one_is_registered, _register_both),
    Work("enter a call", _call, _no_call_is_forgotten, _no_call_is_forgotten, _calls),
    Work("begin the ledger anew", _call, _no_call_is_forgotten, _no_call_is_forgotten, _long),
    Work("take from the spool", _take, _word_is_not_lost, _word_is_taken, _word),
    Work("install hooks", _install, _own_hook_is_there, _hooks_are_there, _own_hook),
    Work("uninstall hooks", _uninstall, _own_hook_is_there, _only_own_hook, _installed),
    Work("exclude", lambda desk: _ignored(exclude.add(desk.project)), _mine_is_excluded, _ours_is_excluded,
         _exclude_some),
    Work("exclude no more", lambda desk: exclude.remove(desk.project), _mine_is_excluded, _only_mine_is_excluded,
         _excluded),
    Work("agx new", _agx_new, _agx_is_whole, _agx_is_indexed, _agx),
    Work("agx note", _agx_note, _agx_is_whole, _agx_is_noted, _agx),
    Work("agx archive", _agx_archive, _agx_is_whole, _agx_is_archived, _agx),
    Work("agx index", _agx_index, _agx_is_whole, _agx_is_indexed, _agx_without_index),
]  # fmt: skip


def _ignored(_: object) -> None:
    """What it gave is not looked at."""
