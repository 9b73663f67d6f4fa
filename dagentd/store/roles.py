"""The description an agent starts with: the user's own for its role, else the one that ships with dagentd."""

from __future__ import annotations

from typing import Any

from dagentd.errors import CorruptFile
from dagentd.model import agents
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import Project
from dagentd.store.layout import read_object

_NAMES = {"dev": ("developer",), "pm": ("feature",)}


def description(project: Project, role: str, at: str) -> dict[str, Any]:
    """`.dagent/agents/{role}.json` in the project replaces the default; the app has another name for some roles."""
    for name in (role, *_NAMES.get(role, ())):
        path = project.root / ".dagent" / "agents" / f"{name}.json"
        try:
            return agents.replaced_by(read_object(path), role, at).raw()
        except FileNotFoundError:
            continue
        except Undecodable as error:
            raise CorruptFile(str(error), path=path, hint="Mend the file or move it away.") from None
    return agents.default(role, at).raw()
