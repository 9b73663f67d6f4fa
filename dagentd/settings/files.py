"""One settings file from disk: nothing if it is missing, an error if it cannot be read as TOML."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import tomli

from dagentd.adapters import beneath
from dagentd.errors import InvalidInput

LARGEST = 1 << 20


def read(file: Path, *, inside: Path | None = None) -> dict[str, Any]:
    """The tables of the file. With `inside`, a file that is elsewhere behind its links is refused: it was
    chosen by whoever wrote the repository, and errors show what they found."""
    real, root = Path(os.path.realpath(file)), None if inside is None else Path(os.path.realpath(inside))
    if root is not None and not real.is_relative_to(root):
        if os.path.exists(real):
            raise InvalidInput("is a link that leads out of the project", path=file)
        return {}
    try:
        return _parsed(_bytes(real, root, file), file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", path=file) from None


def _bytes(real: Path, root: Path | None, file: Path) -> bytes:
    with os.fdopen(_opened(real, root), "rb") as source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            raise InvalidInput("is not a regular file", path=file)
        data = source.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InvalidInput(f"is larger than {LARGEST} bytes", path=file)
    return data


def _opened(real: Path, root: Path | None) -> int:
    """A pipe in the file's place cannot hold us, nor a link that was put there since, or on the way to it."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(real, flags) if root is None else beneath.opened_real(real, root, flags)


def _parsed(data: bytes, file: Path) -> dict[str, Any]:
    try:
        return tomli.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"is not valid UTF-8 at line {line}", path=file) from None
    except tomli.TOMLDecodeError as error:
        raise InvalidInput(f"is not valid TOML: {error.msg} at line {error.lineno}", path=file) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", path=file) from None
    except ValueError as error:  # a number of more than 4300 digits
        raise InvalidInput(f"is not valid TOML: {error}", path=file) from None
