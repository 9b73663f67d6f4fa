"""dagentd's own folder in git's: whoever may write there may put links there, and these are never followed."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd.errors import NotAllowed
from dagentd.model.project import Project


def is_own(project: Project, folder: Path) -> bool:
    """Whether a folder in it is where it seems to be; also one that is not there yet."""
    return not any(map(os.path.islink, (project.own_dir, folder)))


def check(project: Project, folder: Path) -> None:
    """Before anything is written into it: behind a link there could be anybody's files."""
    if not is_own(project, folder):
        raise NotAllowed("is a link, or lies behind one", path=folder, hint="Remove the link: dagentd makes a folder.")
