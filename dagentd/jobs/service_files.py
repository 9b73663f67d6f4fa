"""The two service managers: the files each reads about us, where it wants them, and the commands it understands."""

from __future__ import annotations

import html
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dagentd.adapters import shipped
from dagentd.errors import InvalidInput

# What the service manager reads about us: units of systemd and launchd's plist, with this installation's paths.

MARK = b"Written by `dagentd service install"

# A daemon that did not have them would keep its state and its socket where no command looks.
_PASSED_ON = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "DAGENTD_SOCKET")


@dataclass(frozen=True)
class Program:
    """How the manager shall start the dagentd that the user runs now."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def program(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> Program:
    """The name `dagentd` as it was called, also where it is a link: that survives an upgrade of what it points to."""
    called = os.path.abspath((argv or sys.argv)[0])
    itself = os.path.basename(called) == "dagentd" and os.access(called, os.X_OK) and os.path.isfile(called)
    command = (called,) if itself else (sys.executable, "-m", "dagentd")
    return Program(command, {name: value for name in _PASSED_ON if (value := environ.get(name))})


def service_unit(program: Program) -> bytes:
    if set(program.command[0]) & set("\"'\\"):
        raise InvalidInput("systemd starts no program with a quote or backslash in its path", path=program.command[0])
    command = " ".join(_word(word) for word in program.command)
    environment = "\n".join(f"Environment={_word(f'{name}={value}')}" for name, value in program.environment.items())
    return _rendered("dagentd.service", COMMAND=command, ENVIRONMENT=environment)


def socket_unit(program: Program) -> bytes:
    given = program.environment.get("DAGENTD_SOCKET")
    path = os.path.abspath(given).replace("%", "%%") if given else "%t/dagentd/dagentd.sock"
    return _rendered("dagentd.socket", SOCKET=path)


def plist(program: Program) -> bytes:
    command = "\n\t\t".join(f"<string>{html.escape(word, quote=False)}</string>" for word in program.command)
    environment = "\n\t\t".join(
        f"<key>{name}</key>\n\t\t<string>{html.escape(value, quote=False)}</string>"
        for name, value in program.environment.items()
    )
    return _rendered("org.dagentd.plist", COMMAND=command, ENVIRONMENT=environment)


def program_in(unit: bytes) -> str | None:
    """The program that a service of ours starts; None for one that starts nothing, as a socket's."""
    text = os.fsdecode(unit)
    if found := re.search(r'^ExecStart=("[^"]*")', text, re.MULTILINE):
        return str(json.loads(found[1])).replace("%%", "%")
    found = re.search(r"<key>ProgramArguments</key>\s*<array>\s*<string>([^<]*)</string>", text)
    return html.unescape(found[1]) if found else None


def _word(text: str) -> str:
    """One word for systemd: JSON's escapes are among those it knows, and % begins a specifier."""
    return json.dumps(text, ensure_ascii=False).replace("%", "%%")


def _rendered(name: str, **values: str) -> bytes:
    text = shipped.text("systemd", name)
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return os.fsencode(text)


# The two service managers: where each wants its files, and the commands it understands. Nothing is done here.

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
        found = {self.folder / _SERVICE: service_unit(program)}
        return found | {self.folder / _SOCKET: socket_unit(program)} if socket else found

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
        return {self._plist: plist(program)}

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
