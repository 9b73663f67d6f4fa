"""The way into a worktree: what lies in its `.dagent` or `.agx` is reached beneath it, and what is ours in git's folder
beneath that, at every use, whatever is put in the way meanwhile. A link that leads out is refused by the kernel, not by
a look that is over before the use."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from dagentd.errors import NotAllowed
from dagentd.model.project import Project

TREE, WORKTREES = ".dagent", ".dagent-worktrees"
# What is reached so, and how much of that belongs to the folder that it must not lead out of.
_AGX = "/.agx/"
_OWN = "/.git/dagentd"
_INSIDE = ((f"/{TREE}/", ""), (_AGX, ""), (f"{_OWN}/", "/.git"))
_within: ContextVar[tuple[str, ...]] = ContextVar("within", default=())  # folders of others in which we write just now
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)

_OPENAT2 = 437  # its number on every architecture but alpha
_NO_LINKS, _BENEATH = 0x04, 0x08
_TRIES = 100  # the kernel gives up on `..` in a link while anything is renamed
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextlib.contextmanager
def within(roots: Sequence[Path]) -> Iterator[None]:
    """As long as this lasts, what this thread reaches below one of these folders is behind no link."""
    before = _within.set(tuple(map(str, roots)))
    try:
        yield
    finally:
        _within.reset(before)


@contextlib.contextmanager
def parent(path: str | Path) -> Iterator[tuple[int | None, str]]:
    """The folder of a path, open, and the name in it, for calls that take a `dir_fd`. Nothing is held any longer than
    that: 300 worktrees need no more descriptors than one. A path that is in no tree is left as it is."""
    text = os.fspath(path)
    folder, _, name = text.rpartition("/")
    where = (folder, ".", 0) if text.endswith(_OWN) else _confined(folder)
    if where is None:
        yield None, text
        return
    fd = _beneath(*where, _FOLDER, text)
    try:
        yield fd, name
    except OSError as error:
        if error.filename == name:
            error.filename = text
        raise
    finally:
        os.close(fd)


def opened(path: Path, flags: int, mode: int = 0o600, root: Path | None = None) -> int:
    """A file; one that is itself a link is refused. With a `root` that it lies beneath, both are free of links, as
    `realpath` gives them, and one that came since is refused."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    if root is not None:
        return _beneath(str(root), str(path.relative_to(root)), _NO_LINKS, flags, str(path))
    with parent(path) as (folder, name):
        return os.open(name, flags, mode, dir_fd=folder)


def opened_folder(path: str | Path, at_top: bool = False) -> int:
    """`at_top` of a worktree no link in its place is followed, as in `place_of`."""
    text = os.fspath(path)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    where = (text, ".", 0) if at_top else _confined(text)
    return os.open(text, flags) if where is None else _beneath(*where, flags, text)


def place_of(worktree: Path) -> Path:
    """Where a worktree, or git's folder, really is. No link counts in its own place, nor in that of the folder that
    holds all worktrees."""
    root, name = _holder(str(worktree))
    return real(root) / name


def real(path: str | Path) -> Path:
    """As it is where a link is exchanged while it is followed: what is opened then has a link in it, and is refused."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(path)


def status(path: str | Path) -> os.stat_result:
    """As `lstat` has it."""
    with parent(path) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def names(path: str | Path) -> list[str]:
    fd = opened_folder(path)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def entries(path: str | Path, at_top: bool = False) -> Iterator[Iterator[os.DirEntry[str]]]:
    fd = opened_folder(path, at_top)
    try:
        with os.scandir(fd) as found:
            yield found
    finally:
        os.close(fd)


def leads_out(path: str | Path) -> bool:
    """Whether a link on the way to something in a tree, or in its place, leads out of the worktree."""
    text = os.fspath(path)
    where = _confined(text)
    try:
        if where is not None:
            os.close(_beneath(*where, _FOLDER, text))
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _confined(folder: str) -> tuple[str, str, int] | None:
    """The worktree, the way from there to a folder that is in its tree, or is the tree, and how it is gone. The last
    such name counts, since a project may lie in a folder of that name itself; whoever lists what is in a tree leaves it
    out."""
    for root in _within.get():
        if f"{folder}/".startswith(f"{root}/"):
            return root, folder[len(root) + 1 :] or ".", _NO_LINKS
    at, root, inside = max((f"{folder}/".rfind(inside), root, inside) for inside, root in _INSIDE)
    if at < 0 or (inside == _AGX and _is_home(folder[:at])):
        return None
    at += len(root)
    return folder[:at] or "/", folder[at + 1 :], 0


def _is_home(folder: str) -> bool:
    """The user's: the .agx there no repository brings along, and it may be a link to wherever they keep such."""
    return (folder or "/") == str(Path(os.path.expanduser("~")))


def _beneath(root: str, way: str, resolve: int, flags: int, told: str) -> int:
    """A worktree that is exchanged for a link to another project's is refused too: see `layout.checkouts`."""
    step = _by_kernel if _has_openat2() else _part_by_part
    project, name = _holder(root)
    try:
        with contextlib.ExitStack() as held:
            top = os.open(project, _FOLDER)
            held.callback(os.close, top)
            if name:
                top = step(top, name, _FOLDER, _NO_LINKS)
                held.callback(os.close, top)
            return step(top, way, flags, resolve)
    except OSError as error:
        left = error.errno == errno.EXDEV  # which elsewhere says that a rename crosses file systems
        number = errno.ELOOP if left else error.errno or errno.EIO
        raise OSError(number, os.strerror(number), told) from None


def _holder(worktree: str) -> tuple[str, str]:
    """The project that a worktree, or git's folder, lies in and the way to it from there; without a way what is none of
    them. Where .git is a link by the user's own choice, his project has for git's the folder that it leads to."""
    root, found, name = worktree.rpartition(f"/{WORKTREES}/")
    if found and "/" not in name:
        return root or "/", f"{WORKTREES}/{name}"
    project, _, name = worktree.rpartition("/")
    return (project or "/", name) if name == ".git" else (worktree, "")


def _by_kernel(top: int, way: str, flags: int, resolve: int) -> int:
    how = _How(flags, 0, _BENEATH | resolve)
    for _ in range(_TRIES):
        fd: int = _libc.syscall(_OPENAT2, top, os.fsencode(way), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        if (number := ctypes.get_errno()) not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number))


def _part_by_part(top: int, way: str, flags: int, _: int = 0) -> int:
    """Where the kernel cannot: no link is followed, wherever it leads."""
    *folders, last = way.split("/")
    with contextlib.ExitStack() as held:
        for name in folders:
            top = _unlinked(top, name, _FOLDER)
            held.callback(os.close, top)
        return _unlinked(top, last, flags)


def _unlinked(folder: int, name: str, flags: int) -> int:
    if name == "..":
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


@cache
def _has_openat2() -> bool:
    """Linux has it since 5.6; a sandbox that does not know it refuses it in words of its own."""
    if not sys.platform.startswith("linux"):
        return False
    top = os.open("/", _FOLDER)
    try:
        os.close(_by_kernel(top, ".", _FOLDER, 0))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):  # says nothing of the kernel
            raise
        return False
    finally:
        os.close(top)
    return True


def is_own_folder(project: Project, folder: Path) -> bool:
    """Whether a folder in our own is where it seems to be; also one that is not there yet."""
    return not any(map(os.path.islink, (project.own_dir, folder)))


def check_own_folder(project: Project, folder: Path) -> None:
    """Before anything is written into it: behind a link there could be anybody's files."""
    if not is_own_folder(project, folder):
        raise NotAllowed("is a link, or lies behind one", path=folder, hint="Remove the link: dagentd makes a folder.")
