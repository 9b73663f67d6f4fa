"""The two service managers: where each wants its files, and the commands it understands. Nothing is done here."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dagentd.errors import InvalidInput
from dagentd.jobs import units
from dagentd.jobs.units import Program

Command = tuple[str, ...]
Verb = Literal["start", "stop", "restart"]
_SERVICE, _SOCKET = "dagentd.service", "dagentd.socket"


@dataclass(frozen=True)
class Systemd:
    folder: Path
    name = "systemd"
    probe = ("systemctl", "--user", "show-environment")  # fails where no manager of this user runs
    log = "journalctl --user -u dagentd"

    def files(self, program: Program, socket: bool) -> dict[Path, bytes]:
        found = {self.folder / _SERVICE: units.service_unit(program)}
        return found | {self.folder / _SOCKET: units.socket_unit(program)} if socket else found

    def links(self) -> dict[Path, Path]:
        """Each file that may be there, with the link that makes it start by itself."""
        wants = {_SERVICE: "default.target.wants", _SOCKET: "sockets.target.wants"}
        return {self.folder / unit: self.folder / target / unit for unit, target in wants.items()}

    def folders(self) -> list[Path]:
        """That come to be with the files, the innermost first: empty they mean nothing."""
        return [*sorted({link.parent for link in self.links().values()}), self.folder, self.folder.parent]

    def starter(self, socket: bool) -> Path:
        """The one that is to start by itself: the service starts with the first client where there is a socket."""
        return self.folder / (_SOCKET if socket else _SERVICE)

    def unload(self, removed: Set[Path], replaced: Set[Path]) -> list[Command]:
        """Before files change. What runs goes on with the file it was started from."""
        return self.control("stop", removed)

    def load(self, starter: Path) -> list[Command]:
        return [*self.reload(), ("systemctl", "--user", "enable", starter.name)]

    def reload(self) -> list[Command]:
        return [("systemctl", "--user", "daemon-reload")]

    def control(self, verb: Verb, present: Set[Path]) -> list[Command]:
        """Stopping the service alone would not last: the next client of the socket starts it again."""
        of_interest = (_SERVICE,) if verb == "restart" else (_SOCKET, _SERVICE)
        names = [unit for unit in of_interest if self.folder / unit in present]
        return [("systemctl", "--user", verb, *names)] if names else []

    def is_active(self, path: Path) -> Command:
        return ("systemctl", "--user", "is-active", "--quiet", path.name)


@dataclass(frozen=True)
class Launchd:
    folder: Path
    uid: int
    name = "launchd"
    log = "dagentd logs"

    @property
    def probe(self) -> Command:
        return ("launchctl", "print", self._domain)

    def files(self, program: Program, socket: bool) -> dict[Path, bytes]:
        if socket:
            raise InvalidInput("only systemd can start dagentd by its socket", hint="dagentd service install")
        return {self._plist: units.plist(program)}

    def links(self) -> dict[Path, Path]:
        return {self._plist: self._plist}  # a file in this folder starts by itself

    def folders(self) -> list[Path]:
        return []  # the system's own

    def starter(self, socket: bool) -> Path:
        return self._plist

    def unload(self, removed: Set[Path], replaced: Set[Path]) -> list[Command]:
        return [("launchctl", "bootout", self._service)] if removed or replaced else []

    def load(self, starter: Path) -> list[Command]:
        return [("launchctl", "bootstrap", self._domain, str(starter))]

    def reload(self) -> list[Command]:
        return []

    def control(self, verb: Verb, present: Set[Path]) -> list[Command]:
        """Stopped by SIGTERM it ends with status 0, and KeepAlive then leaves it so."""
        words = {"start": ("kickstart",), "stop": ("kill", "SIGTERM"), "restart": ("kickstart", "-k")}
        return [("launchctl", *words[verb], self._service)] if present else []

    def is_active(self, path: Path) -> Command:
        return ("launchctl", "print", self._service)

    @property
    def _plist(self) -> Path:
        return self.folder / "org.dagentd.plist"

    @property
    def _domain(self) -> str:
        return f"gui/{self.uid}"

    @property
    def _service(self) -> str:
        return f"{self._domain}/org.dagentd"


Manager = Systemd | Launchd
