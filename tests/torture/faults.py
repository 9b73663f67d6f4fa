"""Faults of the system under the real code: the n-th step at the one door for writes, or the n-th file that is opened,
fails, once or from then on; and what must hold whatever failed."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dagentd import errors
from dagentd.adapters.files import beneath, disk
from dagentd.errors import DagentdError
from dagentd.store.documents import document_writer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SHORT = -1  # not a number of the system: half of a write is done, and then the disk is full
WRITING = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EINTR, SHORT)
OPENING = (errno.EMFILE, errno.EACCES, errno.EIO)
MINUTES = max(1, round(float(os.environ.get("TORTURE_MINUTES") or 1)))  # with more, each step has more of the faults


@dataclass
class Fault:
    """The step that is number `at` fails with `number`; with `lasting` all that come after it too."""

    at: int
    number: int
    lasting: bool
    opening: bool = False  # count files that are opened, and not changes of the disk
    count: int = 0
    hits: list[str] = field(default_factory=list)
    armed: bool = False
    _torn: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def step(self, what: str, path: str | Path) -> None:
        if not self.opening and self._is_due():
            self.hits.append(f"{what} {Path(path).name}")
            self._torn = self.number == SHORT and what == "write"
            if not self._torn:
                raise _error(errno.ENOSPC if self.number == SHORT else self.number, path)

    def open(self, path: str | Path) -> None:
        if self.opening and self._is_due():
            self.hits.append(f"open {Path(path).name}")
            raise _error(self.number, path)

    def write(self, fd: int, data: ReadableBuffer) -> int:
        if self.armed and self._torn:
            view = memoryview(data)
            if len(view) > 1:
                return os.write(fd, view[: len(view) // 2])
            self._torn = False
            raise _error(errno.ENOSPC, "")
        return os.write(fd, data)

    def _is_due(self) -> bool:
        with self._lock:
            self.count += self.armed
            return self.armed and (self.count == self.at or (self.lasting and self.count > self.at))

    def __str__(self) -> str:
        name = "SHORT" if self.number == SHORT else errno.errorcode[self.number]
        return f"{name} at step {self.at}{' and on' if self.lasting else ''} ({', '.join(self.hits[:3])})"


def _error(number: int, path: str | Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


@contextmanager
def injected(fault: Fault, root: Path) -> Iterator[None]:
    """Into all that happens under `root` and passes the door."""
    real, opened_beneath = os.open, beneath.opened

    def opened(path: Any, flags: int, *more: Any, **named: Any) -> int:
        """What is in a tree is opened by its name alone, beneath a folder that was opened for that."""
        if isinstance(path, str | Path) and Path(path).is_relative_to(root) and not flags & os.O_PATH:
            fault.open(path)
        return real(path, flags, *more, **named)

    def opened_in_tree(path: Path, flags: int, *more: Any, **named: Any) -> int:
        if path.is_relative_to(root) and beneath.TREE in path.parts:
            fault.open(path)
        return opened_beneath(path, flags, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "step", fault.step)
        patch.setattr(disk, "write_some", fault.write)
        patch.setattr(os, "open", opened)
        patch.setattr(beneath, "opened", opened_in_tree)
        for name in ("fsync", "fdatasync"):  # what they promise is not tried here, and a busy disk takes long
            patch.setattr(os, name, lambda _: None)
        patch.setattr(document_writer, "_APART", 0.0)
        yield


_KINDS = [
    (lasting, opening, number)
    for lasting, opening in itertools.product((False, True), repeat=2)
    for number in (OPENING if opening else WRITING)
]


def faults(dice: random.Random, each: int = 1) -> Iterator[Fault]:
    """At one step after the other, until some in a row were not reached: there are no more steps then. At each step so
    many of them, by the dice."""
    unreached, each = 0, min(each * MINUTES, len(_KINDS))
    for at in itertools.count(1):
        for lasting, opening, number in dice.sample(_KINDS, each):
            fault = Fault(at, number, lasting, opening)
            yield fault
            unreached = 0 if fault.hits else unreached + 1
        if unreached > 12 * each:
            return


class Template:
    """A folder that is copied anew for each attempt, to the place where it was made: what is in it names that place."""

    def __init__(self, root: Path) -> None:
        self.root, self._kept = root, root.with_name(f"{root.name}.template")
        root.rename(self._kept)

    def copy(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self._kept), str(self.root)], check=True)  # keeps hard links


def attempted(act: Callable[[], object], fault: Fault) -> DagentdError | None:
    """What it was refused with, in words and with what to do; None if it was done. Anything else is a bug."""
    fault.armed = True
    try:
        act()
    except Exception as error:
        told = errors.expected(error)
        assert told is not None, f"{fault}: a bug of ours: {type(error).__name__}: {error}"
        assert told.hint, f"{fault}: {told} has no hint"
        return told
    finally:
        fault.armed = fault.lasting
    return None
