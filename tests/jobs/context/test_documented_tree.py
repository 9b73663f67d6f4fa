"""The whole `.dagent` that docs/formats.md shows: written down as it stands there, all of it is understood."""

from __future__ import annotations

import re
from pathlib import Path

from dagentd.settings import Settings
from tests.conftest import git, make_repo
from tests.jobs.context.contexts import Contexts, read

_PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
_SHOWN = re.compile(r"<!-- tree -->(.*)<!-- /tree -->", re.DOTALL)
_FILE = re.compile(r"^`([^`]+)`\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documented() -> tuple[list[str], dict[str, str]]:
    """The names in the listing, and the files with what is in them."""
    shown = _SHOWN.search(_PAGE.read_text(encoding="utf-8"))
    assert shown
    listing = shown[1].split("```")[1]
    return [line.split()[0] for line in listing.strip().splitlines()], dict(_FILE.findall(shown[1]))


def test_each_file_has_an_example() -> None:
    listed, files = documented()
    assert listed == list(files)


def test_all_of_it_is_understood(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "shop")
    git(root, "worktree", "add", "-q", "-b", "login", ".dagent-worktrees/login")
    tree = root / ".dagent-worktrees" / "login" / ".dagent"
    for name, text in documented()[1].items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    contexts = Contexts(root, Settings())
    try:
        dev = contexts.store.maker.get_or_create("task", "dev", "login", "cookie").folder
        contexts.store.session("pm-feature-login")
        contexts.rebuild("login")
        pm, of_task = (read(tree / "sessions" / f"context_{each}.json") for each in ("pm-feature-login", dev.id))
    finally:
        contexts.store.close()
    assert "notes" not in pm, "nothing was passed over"
    assert (pm["featureName"], pm["featureGoal"]) == ("Login", "Customers sign in with GitHub.")
    assert pm["dagSummary"] == "2 tasks: 1 complete, 1 in progress, 0 pending"
    assert pm["spec"].strip() == "No passwords are stored."
    assert pm["attachments"] == [{"name": "palette.txt", "size": 11, "content": "green #0a0\n"}]
    assert dev.id == "dev-task-login-cookie-in_dev", "which task.json names"
    assert (of_task["dependencies"], of_task["taskDescription"]) == (["callback"], "HttpOnly, 30 days.")
    assert of_task["plan"]
