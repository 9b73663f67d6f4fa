"""What the service manager reads about us: units of systemd and launchd's plist, with this installation's paths."""

from __future__ import annotations

import html
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dagentd.adapters import shipped
from dagentd.errors import InvalidInput

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
    """What a service that we wrote starts; None for one that starts nothing, as a socket's."""
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
