"""Where a worktree's HEAD is, off the files git keeps: asked at every hint of a change, so no process is started."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import beneath, disk, files, git, settling
from dagentd.adapters.git.command import ask
from dagentd.errors import CorruptFile, DagentdError, NotFound
from dagentd.waiting import pause

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_OF_ONE_WORKTREE = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")
_LINKS = 5  # git follows as many refs that point to refs
_REF_LIMIT = 1 << 20
_PACKED_LIMIT = 1 << 28  # three million refs
_PART, _LONGEST_ID = 1 << 20, 64  # bytes
_PATIENCE = 0.1  # seconds for a HEAD that is being made
_NO_BRANCH = b"refs/heads/.invalid"  # what HEAD says where the refs are in a reftable


@dataclass(frozen=True)
class Head:
    branch: str | None  # its short name, also of one without commits; None when HEAD is detached
    commit: str | None  # the full id; None when there are no commits yet


def head(worktree: Path, own: Path | None = None) -> Head:
    """A DagentdError says why it cannot be known. `own` is its git folder, where that was looked up before."""
    own = own or git.git_dir(worktree)
    if own is None:
        raise NotFound("is not the worktree of a git repository", path=worktree, hint="Try `git status` there.")
    with disk.explained(own / "HEAD"):
        content = b"" if (own / "HEAD").is_symlink() else _settled(own / "HEAD")
        if not content or content == b"ref: " + _NO_BRANCH:
            return _as_git_says(worktree, own)
        return _resolved(own, content)


def rebasing(worktree: Path) -> bool:
    """A rebase or `git am` is under way: HEAD moves many times before it means something."""
    own = git.git_dir(worktree)
    return own is not None and any((own / name).is_dir() for name in ("rebase-merge", "rebase-apply"))


def _settled(file: Path) -> bytes:
    """`git worktree add` first writes a HEAD of zeros, and other programs may truncate it and write; git itself puts
    it in place by a rename."""
    while not (content := files.read(file, _REF_LIMIT).strip()).strip(b"0"):
        if settling.age(file, content) > _PATIENCE:
            settling.settled(file)
            raise CorruptFile("names no commit yet", path=file, hint="Try `git symbolic-ref HEAD refs/heads/main`.")
        pause(0.005)
    settling.settled(file)
    return content


def _resolved(own: Path, content: bytes) -> Head:
    branch = None
    for _ in range(_LINKS):
        if _ID.fullmatch(content):
            return Head(branch, content.decode())
        if not content.startswith(b"ref:") or b"\0" in content:
            break
        name = content.removeprefix(b"ref:").strip()
        if not name.startswith(b"refs/") or b".." in name:  # git refuses such; as a path it could lead anywhere
            break
        branch = os.fsdecode(name.removeprefix(b"refs/").removeprefix(b"heads/"))
        found = _ref(own, name)
        if found is None:
            return Head(branch, None)
        content = found
    raise CorruptFile("names neither a commit nor a branch", path=own / "HEAD", hint="Try `git status` there.")


def _ref(own: Path, name: bytes) -> bytes | None:
    """Loose before packed: git writes the packed one first and then removes the loose one."""
    common = git.common_dir(own)
    folder = own if name.startswith(_OF_ONE_WORKTREE) else common
    refs = beneath.real(folder / "refs")  # below it, no link is followed to a branch of another repository
    loose = refs / os.fsdecode(name.removeprefix(b"refs/"))
    try:
        return files.read(loose, _REF_LIMIT, refs).strip() if loose.is_file() else _packed(common / "packed-refs", name)
    except FileNotFoundError:
        return _packed(common / "packed-refs", name)


def _packed(file: Path, name: bytes) -> bytes | None:
    """Piece by piece: a search through all of a large one would hold up every other thread for seconds."""
    wanted, held = b" " + name + b"\n", b"\n"
    try:
        with files.opened(file) as source:
            if os.fstat(source.fileno()).st_size > _PACKED_LIMIT:
                raise CorruptFile("is larger than three million refs", path=file, hint="Try `git pack-refs` there.")
            while part := source.read(_PART):
                held += part
                if (found := _id_before(wanted, held)) is not None:
                    return found
                held = held[-len(wanted) - _LONGEST_ID - 1 :]
    except FileNotFoundError:
        return None
    return _id_before(wanted, held + b"\n")


def _id_before(wanted: bytes, held: bytes) -> bytes | None:
    at = held.find(wanted)
    while at >= 0:
        found = held[max(0, at - _LONGEST_ID - 1) : at].rpartition(b"\n")
        if found[1] and _ID.fullmatch(found[2]):
            return found[2]
        at = held.find(wanted, at + 1)
    return None


def _as_git_says(worktree: Path, own: Path) -> Head:
    there = f"--git-dir={own}"
    full = ask(worktree, there, "symbolic-ref", "-q", "HEAD", answers=(0, 1)).strip()
    try:
        commit = ask(worktree, there, "rev-parse", "--verify", "HEAD^{commit}").strip()
    except DagentdError:
        if not full:
            raise
        commit = ""
    return Head(full.removeprefix("refs/").removeprefix("heads/") or None, commit or None)
