"""What `dagentd remove` does where something of dagentd cannot be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.cli import registering
from dagentd.errors import NotAllowed
from dagentd.jobs import retention
from dagentd.model.project import Project


@pytest.mark.parametrize("purge", [True, False])
def test_what_could_not_be_removed_is_told_and_is_not_done(
    purge: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> list[str]:
        raise NotAllowed("is not yours", path=tmp_path, hint="chown it.")

    monkeypatch.setattr(retention, "clear_away", refused)
    assert not registering._clear_away(Project(tmp_path, tmp_path / ".git"), purge, served=False)
    assert "is not yours. chown it." in capsys.readouterr().out
    assert registering._clear_away(Project(tmp_path, tmp_path / ".git"), purge, served=True), "which is as it should be"
