"""A file that is written all the time and never makes sense is not waited for without end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.git import project_at
from dagentd.errors import CorruptFile
from dagentd.store import firstlook
from dagentd.store.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject


@pytest.fixture
def restless(project: SampleProject) -> Iterator[Path]:
    """A chat that another program fills with other nonsense at every moment."""
    folder = project.dagent / "sessions"
    folder.mkdir()
    (folder / "session_s1.json").write_text(json.dumps({"id": "s1", "status": "active"}))
    chat, ended = folder / "chat_s1.json", threading.Event()

    def scribble() -> None:
        number = 0
        while not ended.wait(0.001):
            number += 1
            chat.write_text("{" * (1 + number % 1000))

    chat.write_text("{")
    writer = threading.Thread(target=scribble)
    writer.start()
    yield chat
    ended.set()
    writer.join()


def test_opening_gives_up_and_names_the_file(
    project: SampleProject, restless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firstlook, "PATIENCE", 0.3)
    store = Store(project_at(project.root), Index(None), settle=1.0)
    try:
        with pytest.raises(CorruptFile) as caught:
            store.session("s1")
        assert caught.value.path == str(restless)
        assert not store.find("s1").journal.exists()
    finally:
        store.close()
