"""Repositories of every kind that git makes, each as a function that makes one and gives the worktree to look at."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.conftest import git

Kind = Callable[[Path], Path]
_ODD_NAMES = (
    ":(top)x",
    ":!x",
    "-n",
    " space ",
    "[a].log",
    "caf\udce9",
    "caf\udce9.log",
    "two\nlines",
    'q"uote',
    "tab\t",
)
ODD = "a 'b' \"c\"\n$d ü"


def plain(place: Path, *options: str) -> Path:
    """Four commits, three levels, something ignored and something new."""
    root = place / "plain"
    git(place, "init", "-q", *options, str(root))
    write(root, ".gitignore", "*.log\n/build/\n/modules/\n")
    write(root, "src/app/main.py", "main\n")
    write(root, "src/app/deep/er/still.py", "deep\n")
    commit(root, "Start")
    for name in ("README.md", "src/lib.py", "src-old/x"):
        write(root, name, "text\n")
        commit(root, f"Add {name}")
    for name in ("new.txt", "debug.log", "build/out.o", "notes/today.md", ".dagent/feature.json", ".agx/x"):
        write(root, name, "untracked\n")
    return root


def merged(place: Path) -> Path:
    root = plain(place)
    git(root, "checkout", "-q", "-b", "side", "HEAD~2")
    write(root, "side.txt", "side\n")
    commit(root, "Work on the side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    return root


def detached(place: Path) -> Path:
    root = plain(place)
    git(root, "checkout", "-q", "--detach", "HEAD~1")
    return root


def unborn(place: Path) -> Path:
    root = place / "unborn"
    git(place, "init", "-q", "-b", "first/try", str(root))
    write(root, "new.txt", "new\n")
    write(root, "staged.txt", "staged\n")
    git(root, "add", "staged.txt")
    return root


def orphan(place: Path) -> Path:
    root = plain(place)
    git(root, "checkout", "-q", "--orphan", "other")
    git(root, "rm", "-q", "-r", "--cached", ".")
    return root


def linked(place: Path) -> Path:
    git(plain(place), "worktree", "add", "-q", "-b", "feature/ünï/x", ".dagent-worktrees/feat")
    write(place / "plain/.dagent-worktrees/feat", "own.txt", "own\n")
    return place / "plain/.dagent-worktrees/feat"


def bare(place: Path) -> Path:
    git(place, "clone", "-q", "--bare", str(plain(place)), "bare.git")
    return place / "bare.git"


def worktree_of_bare(place: Path) -> Path:
    git(bare(place), "worktree", "add", "-q", "-b", "feat", ".dagent-worktrees/feat")
    return place / "bare.git/.dagent-worktrees/feat"


def bare_behind_a_file(place: Path) -> Path:
    """A folder of worktrees, as many people who live in worktrees lay it out."""
    root = place / "folder"
    git(place, "clone", "-q", "--bare", str(plain(place)), str(root / ".bare"))
    write(root, ".git", "gitdir: ./.bare\n")
    git(root, "worktree", "add", "-q", "main")
    return root


def configured_per_worktree(place: Path) -> Path:
    root = linked(place)
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "core.autocrlf", "false")
    return root


def outer(place: Path) -> Path:
    inside = plain(place)
    root = place / "outer"
    git(place, "init", "-q", str(root))
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inside), "lib/inner")
    commit(root, "Take the inner one in")
    return root


def submodule(place: Path) -> Path:
    return outer(place) / "lib/inner"


def shallow(place: Path) -> Path:
    git(place, "clone", "-q", "--depth", "2", f"file://{plain(place)}", "shallow")
    return place / "shallow"


def made_shallow(place: Path) -> Path:
    """The older commits are still there; git has been told to end before them."""
    git(place, "clone", "-q", str(plain(place)), "made shallow")
    git(place / "made shallow", "fetch", "-q", "--depth", "1", f"file://{place / 'plain'}")
    return place / "made shallow"


def packed(place: Path) -> Path:
    root = plain(place)
    git(root, "gc", "-q")
    return root


def borrowing(place: Path) -> Path:
    git(place, "clone", "-q", "--shared", str(plain(place)), "borrowing")
    return place / "borrowing"


def sparse(place: Path) -> Path:
    git(place, "clone", "-q", str(plain(place)), "sparse")
    git(place / "sparse", "sparse-checkout", "init", "--cone", "--sparse-index")
    git(place / "sparse", "sparse-checkout", "set", "src-old")
    return place / "sparse"


def split(place: Path) -> Path:
    root = plain(place)
    git(root, "update-index", "--split-index")
    return root


def replaced(place: Path) -> Path:
    """An object that stands for another: libgit2 does not know of it, and so we show what was committed."""
    root = plain(place)
    git(root, "replace", "--graft", "HEAD", "HEAD~2")
    return root


def partial(place: Path, what: str = "blob:none") -> Path:
    git(plain(place), "config", "uploadpack.allowFilter", "true")
    git(place, "clone", "-q", "--no-checkout", f"--filter={what}", f"file://{place / 'plain'}", "partial")
    return place / "partial"


def partial_checked_out(place: Path) -> Path:
    git(partial(place, "tree:0"), "checkout", "-q")
    return place / "partial"


def odd_path(place: Path) -> Path:
    (place / ODD).mkdir()
    return linked(place / ODD)


def no_text_path(place: Path) -> Path:
    (place / "caf\udce9").mkdir()
    return linked(place / "caf\udce9")


def odd_names(place: Path) -> Path:
    """Names that are patterns to git, links, no text, several lines; ignored ones among them."""
    root = plain(place)
    write(root, "folder/x", "odd\n")
    for name in _ODD_NAMES:
        write(root, name, "odd\n")
        write(root, f"tracked/{name}", "odd\n")
    git(root, "add", "-f", "tracked")
    git(root, "commit", "-q", "-m", "Add odd names")
    os.symlink("folder", root / "modules")  # /modules/ is ignored, but a link is no folder
    os.symlink("nowhere", root / "dangling")
    return root


def linked_root(place: Path) -> Path:
    os.symlink(plain(place), place / "link")
    return place / "link"


def sha256(place: Path) -> Path:
    return plain(place, "--object-format=sha256")


def old_partial(place: Path) -> Path:
    """Partial clones made by git before 2.24 say so by an extension, which libgit2 refuses."""
    root = partial_checked_out(place)
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.partialClone", "origin")
    return root


BOTH: list[Kind] = [
    plain, merged, detached, unborn, orphan, linked, bare, worktree_of_bare, bare_behind_a_file,
    configured_per_worktree, outer, submodule, shallow, made_shallow, packed, borrowing, sparse, split, replaced,
    partial, partial_checked_out, odd_path, no_text_path, odd_names, linked_root,
]  # fmt: skip
GIT_ALONE: list[Kind] = [sha256, old_partial]


def write(root: Path, name: str, content: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(content)


def commit(root: Path, message: str) -> None:
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", message)


def raw(root: Path, *arguments: str, told: bytes | None = None) -> bytes:
    """What git prints, byte for byte."""
    return subprocess.run(["git", *arguments], cwd=root, input=told, check=True, capture_output=True).stdout
