"""`agents.sessionStart`: what an agent is told when it begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dagentd.rpc import params
from dagentd.rpc.service import Caller


def session_start(caller: Caller, given: params.SessionStart) -> dict[str, Any]:
    """The text for an agent that begins or goes on in a folder: what dagentd has for its context, in at most
    `agents.context_chars` characters; empty where that is nothing, or where the folder is in no served project."""
    if not os.path.isabs(given.cwd) or "\0" in given.cwd:
        return {"text": ""}
    transcript = Path(given.transcript_path) if given.transcript_path else None
    where = (Path(given.cwd), transcript, caller.service.stores(), caller.service.settings_of)
    return {"text": caller.service.openings.text(given.agent, given.session_id, given.source, *where)}
