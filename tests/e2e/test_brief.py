"""A hand-over of the session that is named, or of the last one in a worktree; with a daemon and without."""

from __future__ import annotations

import pytest

from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon
from tests.e2e.dagentd import dagentd, dagentd_json

PM = f"pm-feature-{FEATURE}"


@pytest.mark.parametrize("served", [True, False])
def test_it_has_what_was_ordered_and_no_secret(served: bool, daemon: Daemon, project: SampleProject) -> None:
    process = daemon.run(project.root)
    with daemon.client() as client:
        whose = {"type": "feature", "agentType": "pm", "featureId": FEATURE}
        client.call("session.getOrCreate", project=str(project.root), **whose)
        client.call("session.addMessage", sessionId=PM, role="user", content="Add a login. Never store passwords.")
        key = "sk-ant-api03-" + "a1B2c3D4" * 11
        client.call("session.addMessage", sessionId=PM, role="assistant", content=f"Done, with the key {key}.")
    dagentd("remember", "Commits are in English.", cwd=project.worktree)
    if not served:
        process.terminate()
        process.wait()
    for asked in ([PM], [FEATURE], [str(project.worktree)]):
        said = dagentd("brief", *asked, cwd=project.root)
        assert "Never store passwords" in said and "- Commits are in English. (remembered)" in said
        assert "a1B2c3D4a1B2c3D4" not in said and "> Done, with the key" in said
    assert dagentd_json("brief", "--tokens", "300", cwd=project.worktree)["sessionId"] == PM
    assert "no session" in dagentd("brief", "nowhere", cwd=project.root, status=1)
