"""A racer exchanges the folders of a session for links out of its worktree while messages are added and contexts are
made: nothing outside is read, written or kept, and nothing that was acknowledged is lost."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.errors import DagentdError
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.jobs.context.instructions import rules
from dagentd.settings import Settings
from dagentd.store.documents import document_writer
from tests.conftest import SampleProject, git
from tests.store.place import FEATURE, Place, said
from tests.store.test_way_out import SECRET, seen
from tests.torture.seeds import THOROUGH

SECONDS = float(os.environ.get("RACE_SECONDS", 10 if THOROUGH else 0.7))


@contextlib.contextmanager
def racing(folder: Path, target: Path) -> Iterator[None]:
    """The folder and a link to `target` change places again and again, each time at once."""
    folder = Path(os.path.normpath(folder))
    link, ended = folder.with_name(f"{folder.name}.link"), threading.Event()
    link.symlink_to(target)

    def race() -> None:
        while not ended.is_set():
            disk._rename2(link, folder, disk._EXCHANGE)
            time.sleep(0.0005)

    racer = threading.Thread(target=race)
    racer.start()
    try:
        yield
    finally:
        ended.set()
        racer.join()
        if folder.is_symlink():
            disk._rename2(link, folder, disk._EXCHANGE)
        link.unlink()


@pytest.mark.more
@pytest.mark.parametrize("folder", ["sessions", "", "..", "../.."])
def test_nothing_of_a_session_leads_out(tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_writer, "_APART", 0.0)
    place, victim = Place(tmp_path / "p").make(), Place(tmp_path / "victim").make()
    with victim.session() as theirs:
        theirs.add([{"id": "v", "role": "user", "content": SECRET}])
    before, acknowledged = seen(victim.flat), list[str]()
    with place.store() as store:
        store.maker.get_or_create("feature", "pm", FEATURE).leave()
        with racing(place.flat / folder, victim.flat / folder):
            end = time.monotonic() + SECONDS
            for number in range(100_000):
                with contextlib.suppress(DagentdError):
                    session = store.maker.get_or_create("feature", "pm", FEATURE)
                    try:
                        session.add(said(f"m{number}"))
                        acknowledged.append(f"m{number}")
                        session.reconcile()
                        assert SECRET not in json.dumps([session.history(), session.read("chat")])
                    finally:
                        session.leave()
                if acknowledged and time.monotonic() > end:  # on a busy machine none may get through by then
                    break
    assert seen(victim.flat) == before
    assert not any(SECRET.encode() in path.read_bytes() for path in place.root.rglob("*") if path.is_file())
    assert acknowledged
    with place.session() as session:
        assert set(acknowledged) <= {message["id"] for message in session.history(limit=100_000)[0]}


@pytest.mark.more
@pytest.mark.parametrize("target", ["outside", "worktree/.git"])
def test_no_import_leads_out(tmp_path: Path, target: str) -> None:
    worktree = tmp_path / "worktree"
    for folder, text in ((worktree / "docs", "Rules"), (worktree / ".git", SECRET), (tmp_path / "outside", SECRET)):
        folder.mkdir(parents=True)
        (folder / "more.md").write_text(text)
    (worktree / "CLAUDE.md").write_text("@docs/more.md")
    with racing(worktree / "docs", tmp_path / target):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert SECRET not in rules(worktree)[0].text


@pytest.mark.more
def test_no_git_folder_leads_out(tmp_path: Path, project: SampleProject) -> None:
    """Which leaked commits of another repository into 102 of 662 contexts."""
    another = tmp_path / "another"
    git(tmp_path, "init", "-q", "-b", "main", str(another))
    git(another, "commit", "-q", "--allow-empty", "-m", SECRET)
    with racing(project.worktree / ".git", another / ".git"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = Checkouts().look(project.worktree, project.root / ".git", Settings(), fresh=True)
            assert found is None or SECRET not in str(found)
