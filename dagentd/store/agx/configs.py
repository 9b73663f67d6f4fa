"""The two configuration files of AGX: read as they are, changed key by key."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters import lockfile
from dagentd.errors import InvalidInput
from dagentd.model.agx import Raw, changed, shapes
from dagentd.model.agx.config import DEFAULT_GLOBAL
from dagentd.model.agx.versions import CURRENT, is_older
from dagentd.model.documents import Document
from dagentd.store.agx import backups, documents
from dagentd.store.agx.folder import AgxFolder, make_private, sweep

_NEW_OF_PROJECT: Raw = {"version": CURRENT}


def user() -> Raw:
    """The user's own; empty if there is none."""
    return _loaded(paths.agx_config_file(), shapes.GlobalConfig)


def of_project(folder: AgxFolder) -> Raw:
    return _loaded(folder.config_file, shapes.ProjectConfig) if folder.is_there() else {}


def set_user(key: str, value: Any, keep: int, now: datetime) -> None:
    file = paths.agx_config_file()
    make_private(file.parent)
    with lockfile.held(file.with_name(".index.lock")):
        sweep(file.parent, file.parent / "backups")
        _set(file, shapes.GlobalConfig, DEFAULT_GLOBAL, key, value, file.parent / "backups", keep, now)


def set_project(folder: AgxFolder, key: str, value: Any, keep: int, now: datetime) -> None:
    folder.make()
    with lockfile.held(folder.lock_file):
        sweep(folder.path, folder.sessions, folder.backups)
        _set(folder.config_file, shapes.ProjectConfig, _NEW_OF_PROJECT, key, value, folder.backups, keep, now)


def migrate_user(keep: int, now: datetime) -> None:
    """One of an older format becomes current, beside a backup."""
    file = paths.agx_config_file()
    if _is_older(file):
        with lockfile.held(file.with_name(".index.lock")):
            documents.edit(
                file, lambda raw: _migrated(raw, file, shapes.GlobalConfig, file.parent / "backups", keep, now)
            )


def migrate_project(folder: AgxFolder, keep: int, now: datetime) -> None:
    if _is_older(folder.config_file):
        with lockfile.held(folder.lock_file):
            documents.edit(
                folder.config_file,
                lambda raw: _migrated(raw, folder.config_file, shapes.ProjectConfig, folder.backups, keep, now),
            )


def _is_older(file: Path) -> bool:
    try:
        return is_older(documents.read(file), file)
    except FileNotFoundError:
        return False


def _migrated(raw: Raw, file: Path, shape: type[Document], folder: Path, keep: int, now: datetime) -> Raw:
    """The document in today's format; where that is another, what it was is kept."""
    if is_older(raw, file):
        backups.back_up(file, folder, keep, now)
    return documents.checked(raw, file, shape, lambda _: {})


def _loaded(file: Path, shape: type[Document]) -> Raw:
    try:
        return documents.load(file, shape, lambda _: {})
    except FileNotFoundError:
        return {}


def _set(
    file: Path, shape: type[Document], new: Raw, key: str, value: Any, folder: Path, keep: int, now: datetime
) -> None:
    *names, last = key.split(".")
    if len(names) != 1 or not all((*names, last)):
        raise InvalidInput(f"{key!a} is no key", hint="Give it as SECTION.NAME, for example session.backupCount.")

    def apply(raw: Raw) -> Raw:
        before = _migrated(raw, file, shape, folder, keep, now)
        after = changed(before, *names, **{last: value})
        _check(after, shape, key)
        if after != before:
            backups.back_up(file, folder, keep, now)
        return after

    if file.exists():
        documents.edit(file, apply)
    else:
        _check(made := changed(new, *names, **{last: value}), shape, key)
        documents.create(file, made)


def _check(raw: Raw, shape: type[Document], key: str) -> None:
    try:
        shape.parse(raw)
    except ValueError as error:
        raise InvalidInput(f"{key}: {error}", hint="dagentd agx config shows what is there.") from None
