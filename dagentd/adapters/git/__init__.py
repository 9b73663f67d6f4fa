"""Git repositories: which one a path belongs to, where its folders are, its linked worktrees, and what HEAD is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dagentd.adapters.files import beneath, disk, fileio
from dagentd.adapters.git.command import ask
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, NotFound
from dagentd.model.project import Project

_POINTER, _CONFIG = 1 << 13, 1 << 20  # bytes: a path has at most 4096
# `\s` would take line breaks too, and a megabyte of these took hours in which no other thread could run.
_BARE = re.compile(r"^[ \t]*bare[ \t]*=[ \t]*true", re.MULTILINE)


def project_at(path: Path) -> Project:
    """The project that a path lies in: from a linked worktree, the repository it was linked from. Read off the
    files git keeps, because opening a repository with libgit2 costs 100 ms and 21 MB."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if (own := git_dir(folder)) is not None:
            common = common_dir(own)
            return Project(_root(folder, common), common)
    raise NotFound("is not in a git repository", path=start, hint="Run `git init` there, or give another path.")


def checkout_at(path: Path) -> Path:
    """The root of the checkout that a path lies in, its links followed: a worktree's, or the main one's."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if git_dir(folder) is not None:
            return folder
    raise NotFound("is not in a git repository", path=start, hint="Run `git init` there, or give another path.")


def check_there(project: Project) -> None:
    """NotAllowed or another error in words, if its git folder is not there or may not be looked into."""
    with disk.explained(project.root):
        if project.common_dir.is_symlink():
            hint = f"If that is meant: dagentd init {project.root}"
            raise NotAllowed("became a link, which is not followed", path=project.common_dir, hint=hint)
        if disk.is_missing(project.common_dir) or not project.common_dir.is_dir():
            hint = f"If it was moved, run `dagentd init` in its new place; else `dagentd remove {project.root}`."
            raise NotAllowed("the repository is not there", path=project.root, hint=hint)
        os.stat(os.path.join(project.common_dir, "."))


def git_dir(worktree: Path) -> Path | None:
    """The git folder of this checkout alone: .git, or .git/worktrees/NAME of a linked one; a bare repository is its
    own. None if the folder is no checkout, or no longer one. Read off the files."""
    marker = worktree / ".git"
    with disk.explained(marker):
        if marker.is_dir():
            return beneath.real(marker) if marker.is_symlink() else marker
        if marker.is_file():
            try:
                kind, _, target = _pointer(marker).partition(":")
            except (FileNotFoundError, CorruptFile):  # removed at this moment, or none that git writes
                return None
            linked = beneath.real(worktree / target.lstrip())
            return linked if kind == "gitdir" and linked.is_dir() else None
        bare = (worktree / "HEAD").is_file() and (worktree / "objects").is_dir() and (worktree / "refs").is_dir()
        return worktree if bare else None


def common_dir(git_dir: Path) -> Path:
    """The git folder that all worktrees of the repository share, with refs, objects and config."""
    pointer = git_dir / "commondir"
    with disk.explained(pointer):  # a worktree may be removed between two looks
        if not pointer.is_file():
            return git_dir
        return beneath.real(git_dir / _pointer(pointer))


def checked_dir(worktree: Path, common: Path) -> Path:
    """The git folder of a checkout, as one look found it, before git's view becomes part of what its agent is told: an
    agent can write into the `.git` of its worktree, and would be shown the commits of any repository of the user. So
    it must lie in the project's, and is what is read: between two looks at `.git`, it may be another. One that lies in
    the worktree itself is not read either, since what is in it may be a link at any moment."""
    own = git_dir(worktree)
    if own is None:
        raise NotFound("is not the worktree of a git repository", path=worktree, hint="Try `git status` there.")
    with disk.explained(worktree):  # a link may be exchanged while it is followed
        own, home = beneath.real(own), beneath.place_of(common)
    if not own.is_relative_to(home):
        raise NotAllowed("is the worktree of another repository", path=worktree, hint="Look at its .git.")
    return own


def is_bare(git_dir: Path) -> bool:
    """No checkout belongs to this git folder. With `extensions.worktreeConfig` that is said in a file of its own; the
    git folder of a linked worktree has neither."""
    configs = (git_dir / "config", git_dir / "config.worktree")
    return any(_BARE.search(_content(config, _CONFIG)) for config in configs if config.is_file())


def _pointer(path: Path) -> str:
    """The folder that a file names."""
    found = _content(path, _POINTER).rstrip("\n")
    if "\0" in found:
        raise CorruptFile("names a folder that no system can have", path=path, hint="Try `git status` there.")
    return found


def _content(path: Path, limit: int) -> str:
    """Of a small file that git keeps, behind links too as git follows them. An agent can put one of any size there."""
    return os.fsdecode(fileio.read(beneath.real(path), limit))


def _root(folder: Path, common: Path) -> Path:
    """The main checkout; a bare repository itself. Where the git folder lies elsewhere (a submodule's, a separate
    one), only the place of the worktree tells."""
    if (folder / ".git").is_symlink():
        return folder
    if common.name == ".git":
        return common.parent
    if folder.parent.name == ".dagent-worktrees":
        return folder.parent.parent
    return folder if (folder / ".git").is_file() and not is_bare(common) else common


# The linked worktrees of a repository, read off the files git keeps about them.


def linked_worktrees(common: Path) -> dict[str, Path]:
    """Where each is checked out, by the name git gave it; those whose folder is gone are left out."""
    try:
        names = sorted(os.listdir(common / "worktrees"))
    except OSError:  # git removes the folder with the last one
        return {}
    return {name: path for name in names if (path := checkout_of(common, name)) is not None}


def checkout_of(common: Path, name: str) -> Path | None:
    try:
        pointer = os.fsdecode(fileio.read(common / "worktrees" / name / "gitdir")).rstrip("\n")
    except (FileNotFoundError, DagentdError):
        return None
    # Relative to the file itself where worktree.useRelativePaths is set.
    marker = Path(os.path.normpath(common / "worktrees" / name / pointer))
    return marker.parent if marker.name == ".git" and os.path.exists(marker) else None


# Where a worktree's HEAD is, off the files git keeps: asked at every hint of a change, so no process is started.

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
    own = own or git_dir(worktree)
    if own is None:
        raise NotFound("is not the worktree of a git repository", path=worktree, hint="Try `git status` there.")
    with disk.explained(own / "HEAD"):
        named = partial(_named, own / "HEAD")
        link = (own / "HEAD").is_symlink()
        content = b"" if link else fileio.read_when_settled(own / "HEAD", named, _PATIENCE, _REF_LIMIT)
        if not content or content == b"ref: " + _NO_BRANCH:
            return _as_git_says(worktree, own)
        return _resolved(own, content)


def rebasing(worktree: Path, own: Path | None = None) -> bool:
    """A rebase or `git am` is under way: HEAD moves many times before it means something. `own` as `head` has it."""
    own = own or git_dir(worktree)
    return own is not None and any((own / name).is_dir() for name in ("rebase-merge", "rebase-apply"))


def _named(file: Path, content: bytes) -> bytes:
    """`git worktree add` first writes a HEAD of zeros, and other programs may truncate it and write; git itself puts
    it in place by a rename."""
    if not content.strip().strip(b"0"):
        raise CorruptFile("names no commit yet", path=file, hint="Try `git symbolic-ref HEAD refs/heads/main`.")
    return content.strip()


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
    common = common_dir(own)
    folder = own if name.startswith(_OF_ONE_WORKTREE) else common
    refs = beneath.real(folder / "refs")  # below it, no link is followed to a branch of another repository
    loose = refs / os.fsdecode(name.removeprefix(b"refs/"))
    try:
        return (
            fileio.read(loose, _REF_LIMIT, refs).strip() if loose.is_file() else _packed(common / "packed-refs", name)
        )
    except FileNotFoundError:
        return _packed(common / "packed-refs", name)


def _packed(file: Path, name: bytes) -> bytes | None:
    """Piece by piece: a search through all of a large one would hold up every other thread for seconds."""
    wanted, held = b" " + name + b"\n", b"\n"
    try:
        with fileio.opened(file) as source:
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
