"""The description an agent starts with: the user's own for its role, else the one that ships with dagentd."""

from __future__ import annotations

from typing import Any

from dagentd.errors import CorruptFile
from dagentd.model import agents
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import Project
from dagentd.store.layout import read_object


def description(project: Project, role: str, at: str) -> dict[str, Any]:
    """`.dagent/agents/{role}.json` in the project replaces the default."""
    path = project.root / ".dagent" / "agents" / f"{role}.json"
    try:
        return agents.replaced_by(read_object(path), role, at).raw()
    except FileNotFoundError:
        return agents.default(role, at).raw()
    except Undecodable as error:
        raise CorruptFile(str(error), path=path, hint="Mend the file or move it away.") from None
