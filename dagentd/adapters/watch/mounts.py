"""Which file systems do not announce changes: those that others write to behind the kernel's back."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")
# inotify hears what this kernel does; on these, another machine, the host or a process in user space writes too.
_REMOTE = re.compile(
    r"9p|nfs\d*|cifs|smb\w*|ncpfs|fuse.*|virtiofs|vboxsf|vmhgfs|prl_fs|afs|coda|ceph|lustre|gfs2?|ocfs2|gpfs|beegfs"
    r"|glusterfs|davfs\d*|drvfs"
)
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Mounts:
    """What is mounted where at one moment."""

    def __init__(self, table: bytes) -> None:
        self._kinds = _kinds(table)
        self._remote = {kind for kind in set(self._kinds.values()) if _REMOTE.fullmatch(kind)}

    @classmethod
    def now(cls) -> Mounts:
        try:
            return cls(TABLE.read_bytes())
        except FileNotFoundError:  # not Linux
            return cls(b"")

    def kind(self, folder: Path) -> str:
        """The type of the file system that a folder is on, by its path alone; empty where that is not known."""
        place = str(folder)
        while place and place not in self._kinds:
            place = place.rpartition(os.sep)[0]
        return self._kinds.get(place or os.sep, "")

    def remote_kind(self, folder: Path) -> str | None:
        """The type of the file system a folder is on if it must be polled. The folder itself is not touched: where a
        server does not answer that would never return. So it must be a real path."""
        if not self._remote:
            return None
        kind = self.kind(folder)
        return kind if kind in self._remote else None


@functools.lru_cache(maxsize=1)
def _kinds(table: bytes) -> dict[str, str]:
    """Mount point to type; of several on one point the last is on top."""
    found = {}
    for line in table.splitlines():
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if after and len(fields) > 4:
            point = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
            found[os.fsdecode(point)] = os.fsdecode(after.split(b" ")[0])
    return found
