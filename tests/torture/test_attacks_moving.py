"""A session's files are moved, put away and linked by other programs while messages are added, and come back: what was
answered is in the history once, in its order, and nothing ends in a bug."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable

import pytest

from dagentd.errors import DagentdError
from dagentd.rpc.client import RpcError
from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon, until

PM = "pm-feature-feat-login"
ROUNDS = 4

Act = Callable[[SampleProject], None]


class Talker:
    """Somebody who adds one message after the other, and says each again until it is answered."""

    def __init__(self, daemon: Daemon, name: str, worktree: str | None = None) -> None:
        self.daemon, self.name = daemon, name
        self.answered, self.refused = list[str](), list[str]()
        self._where = {"worktree": worktree} if worktree else {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.005):
            name = f"{self.name}-{len(self.answered)}"
            try:
                self.daemon.call("session.addMessage", sessionId=PM, id=name, role="user", content=name, **self._where)
            except (RpcError, DagentdError, OSError) as error:
                self.refused.append(str(error))
            else:
                self.answered.append(name)

    def goes_on(self) -> None:
        count = len(self.answered)
        until(lambda: len(self.answered) > count + 5, f"answers to {self.name}")

    def end(self) -> list[str]:
        self._over.set()
        self._thread.join()
        return self.answered


def _stashed(project: SampleProject) -> None:
    git(project.worktree, "stash", "--all", "--quiet")
    time.sleep(0.2)
    git(project.worktree, "stash", "pop", "--quiet")


def _folder_moved(project: SampleProject) -> None:
    there = project.dagent / "sessions"
    there.rename(there.with_name("aside"))
    time.sleep(0.2)
    there.with_name("aside").rename(there)


def _worktree_moved(project: SampleProject) -> None:
    there = project.worktree.with_name("elsewhere")
    git(project.root, "worktree", "move", str(project.worktree), str(there))
    time.sleep(0.2)
    git(project.root, "worktree", "move", str(there), str(project.worktree))


def _repository_moved(project: SampleProject) -> None:
    project.root.rename(project.root.with_name("away"))
    time.sleep(0.2)
    project.root.with_name("away").rename(project.root)


@pytest.mark.turns(2)
@pytest.mark.parametrize("act", [_stashed, _folder_moved, _worktree_moved, _repository_moved])
def test_put_away_and_back_while_messages_are_added(daemon: Daemon, project: SampleProject, act: Act) -> None:
    talker = _begin(daemon, project)
    try:
        for _ in range(ROUNDS):
            act(project)
            talker.goes_on()
    finally:
        talker.end()
    _check(daemon, project, talker)


def test_hard_links_in_another_worktree(daemon: Daemon, project: SampleProject) -> None:
    """By `cp -al`: both sessions have one and the same file for their journal."""
    one = _begin(daemon, project)
    side = project.worktree.with_name("side")
    try:
        one.goes_on()
    finally:
        one.end()
    git(project.root, "worktree", "add", "-q", "-b", "side", str(side))
    shutil.copytree(project.dagent, side / ".dagent", copy_function=os.link)
    talkers = [Talker(daemon, name, str(worktree)) for name, worktree in (("a", project.worktree), ("b", side))]
    try:
        until(lambda: sum(len(each.answered) for each in talkers) > 40, "answers to both")
    finally:
        for each in talkers:
            each.end()
    _check(daemon, project, one, *talkers)


def _begin(daemon: Daemon, project: SampleProject) -> Talker:
    daemon.run(project.root)
    where = {"type": "feature", "agentType": "pm", "featureId": project.feature}
    daemon.call("session.getOrCreate", project=str(project.root), **where)
    talker = Talker(daemon, "t")
    try:
        talker.goes_on()
    except BaseException:
        talker.end()
        raise
    return talker


def _check(daemon: Daemon, project: SampleProject, *talkers: Talker) -> None:
    refused = {told for talker in talkers for told in talker.refused}
    assert not [told for told in refused if "Internal error" in told or "the system says" in told]
    daemon.kill_all()
    daemon.run(project.root)
    where = {"worktree": str(project.worktree)}
    found = daemon.call("session.getHistory", sessionId=PM, limit=100_000, **where)["messages"]
    for talker in talkers:
        there = [each["id"] for each in found if each["id"].partition("-")[0] == talker.name]
        assert [one for one in there if one in {*talker.answered}] == talker.answered
