"""Tab completion: the words that fit where the cursor is. Asked with every Tab: it loads little, and never fails."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from dagentd.cli import output
from dagentd.cli.completion.grammar import Place, place

_PLAIN = re.compile(r"[\w./+@%,-]+")  # a path that a shell takes as it is

Offers = Iterable[tuple[str, str]]  # each with a line about it


def complete(shell: str, words: Sequence[str]) -> int:
    """Print what fits, and nothing if anything is wrong: a line that is being typed is no place to say so."""
    with contextlib.suppress(Exception):
        given, cut = _rejoined(words) if shell == "bash" else (list(words), "")
        for kind, value, help in _lines(place(given)):
            output.text("\t".join((kind, value.removeprefix(cut), help)))
    return 0


def _rejoined(words: Sequence[str]) -> tuple[list[str], str]:
    """bash takes `a:b` and `--a=b` for three words, and replaces only the last; what comes before that is `cut`."""
    joined: list[str] = []
    cut = ""
    for number, word in enumerate(words):
        if joined and (word in (":", "=") or (number and words[number - 1] in (":", "="))):
            cut = joined[-1] + (word if word in (":", "=") else "")
            joined[-1] += word
        else:
            joined.append(word)
            cut = ""
    return joined, cut


def _lines(here: Place) -> Iterator[tuple[str, str, str]]:
    if here.names is not None:
        yield from _words(here, here.names.items())
    elif isinstance(here.values, list):
        yield from _words(here, ((each, "") for each in here.values))
    elif here.values in ("file", "folder"):
        yield f"{here.values}s", "", ""
    elif here.values:
        yield from _found(here, here.values)


def _found(here: Place, kind: str) -> Iterator[tuple[str, str, str]]:
    """Where folders could be meant too, they are offered if nothing else is."""
    found = [line for each in kind.split("|") for line in _words(here, _offers(each, here))]
    yield from found
    if not found and "project" in kind:
        yield "folders", "", ""


def _words(here: Place, offers: Offers) -> Iterator[tuple[str, str, str]]:
    for value, help in offers:
        if value.startswith(here.typed):
            yield "word", here.prefix + value, help


def _offers(kind: str, here: Place) -> Offers:
    """Nothing where it cannot be found out: this may be no repository."""
    with contextlib.suppress(Exception):
        return list(_SOURCES[kind](here))
    return []


# --- what there is ------------------------------------------------------------------------------------------------


def _sessions(here: Place) -> Offers:
    from dagentd.adapters import git
    from dagentd.store.layout import layout

    project = git.project_at(Path(here.project))
    for tree in layout.trees(project):
        for feature in layout.features(tree):
            yield from ((name, feature.tree.name) for name in layout.session_ids(feature))


def _gone(here: Place) -> Offers:
    """By their journals that have no other name left."""
    from dagentd.adapters import git
    from dagentd.store.journal.kept_journals import KeptJournals

    for name, entries in KeptJournals(git.project_at(Path(here.project))).all().items():
        if any(os.lstat(entry).st_nlink == 1 for entry in entries):
            yield name, "its worktree is gone"


def _worktrees(here: Place) -> Offers:
    from dagentd.adapters import git
    from dagentd.store.layout import layout

    return [(tree.name, "") for tree in layout.trees(git.project_at(Path(here.project)))]


def _features(here: Place) -> Offers:
    from dagentd.adapters import git
    from dagentd.store.layout import layout

    trees = layout.trees(git.project_at(Path(here.project)))
    return [(feature.id, tree.name) for tree in trees for feature in layout.features(tree)]


def _projects(here: Place) -> Offers:
    """Those that are registered; one whose path would have to be quoted is left to the shell."""
    from dagentd import paths
    from dagentd.store.registry import Registry

    roots = [str(each.project.root) for each in Registry(paths.registry_file()).projects()]
    return [(root, "") for root in roots if _PLAIN.fullmatch(root)]


def _agx(here: Place) -> Offers:
    from dagentd.adapters import git
    from dagentd.agx.folder import AgxFolder

    names = os.listdir(AgxFolder(git.project_at(Path(here.project)).root).sessions)
    return [(name.removesuffix(".json"), "") for name in sorted(names) if name[0] != "." and name.endswith(".json")]


_SOURCES: dict[str, Callable[[Place], Offers]] = {
    "session": _sessions, "gone": _gone, "worktree": _worktrees, "feature": _features, "project": _projects,
    "agx": _agx,
}  # fmt: skip
