"""Word that hooks of agents leave, as files whose names say which conversation: taken by the daemon, and when the last
one came is known also where none runs."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dagentd.adapters.files import atomic, disk, fileio
from dagentd.errors import DagentdError
from dagentd.model import jsontext, times

_NAME = re.compile(r"(?P<agent>[a-z]+(?:-[a-z]+)*)(?:\.(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?")
_MOST = 10_000  # names that are looked at in one go; there is one for each conversation since the daemon ran


@dataclass(frozen=True)
class Note:
    """`uuid` is None where the agent does not tell its hooks which conversation it is."""

    agent: str
    uuid: str | None


class Notes:
    def __init__(self, folder: Path) -> None:
        self.spool, self._arrivals = folder / "spool", folder / "arrived.json"

    def take(self) -> list[Note]:
        """All there are, each removed. One that is left just then tells of a transcript that is looked at after it."""
        found = self._waiting()
        if found:
            last = self._noted()
            for note, at in found.values():
                last[note.agent] = max(at, last.get(note.agent, ""))
            atomic.put(self._arrivals, jsontext.pretty(last), sync=False)
        for path in found:
            with contextlib.suppress(OSError):
                disk.remove(path)
        return [note for note, _ in found.values()]

    def last(self) -> dict[str, str]:
        """When the last hook of each agent came, also of those that nobody has taken yet."""
        last = self._noted()
        for note, at in self._waiting().values():
            last[note.agent] = max(at, last.get(note.agent, ""))
        return last

    def _waiting(self) -> dict[Path, tuple[Note, str]]:
        found = {}
        try:
            with os.scandir(self.spool) as entries:
                names = [entry.name for entry in islice(entries, _MOST)]
        except OSError:  # no agent is connected
            return {}
        for name in names:
            path, known = self.spool / name, _NAME.fullmatch(name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if known is not None and stat.S_ISREG(status.st_mode):
                    found[path] = (Note(known["agent"], known["uuid"]), times.of_seconds(status.st_mtime))
        return found

    def _noted(self) -> dict[str, str]:
        try:
            noted = jsontext.decode_object(fileio.read(self._arrivals))
        except (FileNotFoundError, DagentdError, jsontext.Undecodable):  # it is only a time
            return {}
        return {agent: at for agent, at in noted.items() if isinstance(at, str)}
