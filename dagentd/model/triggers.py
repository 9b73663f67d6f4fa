"""Triggers: what a change on disk asks for, decided from names alone, so that the daemon reads nothing to find out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dagentd.model.project import FeatureFolder, Tree

# A context or a role that another program wrote asks for nothing, and a journal has one writer: us.
_JSON = re.compile(r"[^.].*\.json")
_CHAT = re.compile(r"chat(?:_.+)?\.json")
_DOCUMENT = re.compile(r"(?:session|chat|checkpoint|memory)_(.+)\.json")


@dataclass(frozen=True)
class Survey:
    """Folders came or went: find out anew what there is, in one tree or, without one, in the whole project."""

    tree: Tree | None = None


@dataclass(frozen=True)
class Look:
    """Another program may have written documents of this session."""

    feature: FeatureFolder
    session_id: str


@dataclass(frozen=True)
class Renew:
    """A source of this feature's contexts may have changed, or the feature or a task may have ended."""

    feature: FeatureFolder


@dataclass(frozen=True)
class RenewTree:
    """The same for all features of a tree."""

    tree: Tree


@dataclass(frozen=True)
class Moved:
    """HEAD of this tree's checkout may have moved."""

    tree: Tree


@dataclass(frozen=True)
class Reconcile:
    """Anything may have changed in this feature."""

    feature: FeatureFolder


@dataclass(frozen=True)
class Migrate:
    """A file of an older format may have come to this feature, or changed."""

    feature: FeatureFolder


@dataclass(frozen=True)
class Collect:
    """A hook left word."""


@dataclass(frozen=True)
class Agx:
    """AGX files of the project may have changed."""


Trigger = Survey | Look | Renew | RenewTree | Moved | Reconcile | Migrate | Collect | Agx
Triggers = frozenset[Trigger]
OF_FEATURE = (Look, Renew, Reconcile, Migrate)
NOTHING: Triggers = frozenset()


@dataclass(frozen=True)
class Place:
    """A watched folder, and what a change of an entry in it asks for."""

    names: Mapping[str, Triggers] = field(default_factory=dict)  # of entries that mean something
    folders: Triggers = NOTHING  # of any entry that is a folder, or was one that we watch
    any: Triggers = NOTHING  # of whatever entry
    json: Triggers = NOTHING  # of a NAME.json that is not hidden
    sessions_of: FeatureFolder | None = None  # whose sessions have their documents here, with their id in the name
    all: Triggers = NOTHING  # if anything in it may have changed


def in_a_hurry(name: str) -> bool:
    """Whether it is a chat, and taken in at once: its writer may clear it in the next moment."""
    return _CHAT.fullmatch(name) is not None


def triggers_of(place: Place, name: str, *, folder: bool, gone: bool) -> Triggers:
    """A document that is gone is not looked at: it is never made again in reaction to that. One of a session that we
    do not know may be of an older format."""
    asks = place.any | place.names.get(name, NOTHING) | (place.json if _JSON.fullmatch(name) else NOTHING)
    if folder:
        asks |= place.folders
    elif name not in place.names and place.sessions_of is not None and _JSON.fullmatch(name):
        match = _DOCUMENT.fullmatch(name)
        look = (Look(place.sessions_of, match[1]),) if match else ()
        asks = frozenset((*look, Migrate(place.sessions_of)))
    return frozenset(ask for ask in asks if not isinstance(ask, (Look, Migrate))) if gone else asks
