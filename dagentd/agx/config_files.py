"""The two configuration files of AGX: read as they are, changed key by key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters.files import lockfile
from dagentd.agx import configuration, dated_copies, document_files
from dagentd.agx.configuration import Keys
from dagentd.agx.folder import AgxFolder, make_private, sweep
from dagentd.agx.schema import CURRENT, is_older, migrate_document
from dagentd.agx.values import Raw, changed
from dagentd.errors import CorruptFile, DagentdError, InvalidInput


@dataclass(frozen=True)
class ConfigFile:
    path: Path
    keys: Keys
    lock: Path
    backups: Path


@dataclass(frozen=True)
class Loaded:
    """`raw` is what the file says, `believed` is that of it which makes sense; `errors` say what does not."""

    raw: Raw
    believed: Raw
    errors: tuple[DagentdError, ...] = ()


def user() -> ConfigFile:
    file = paths.agx_config_file()
    return ConfigFile(file, configuration.GLOBAL, file.with_name(".index.lock"), file.parent / "backups")


def of_project(folder: AgxFolder) -> ConfigFile:
    folder.is_there()  # or is barred, because it leads elsewhere
    return ConfigFile(folder.config_file, configuration.PROJECT, folder.lock_file, folder.backups)


def load(config: ConfigFile) -> Loaded:
    """A file that is damaged, of another major version or barred says nothing, and stops nobody."""
    try:
        raw = document_files.read(config.path)
        is_older(raw, config.path)
    except FileNotFoundError:
        return Loaded({}, {})
    except DagentdError as error:
        return Loaded({}, {}, (error,))
    believed, wrong = configuration.believed(config.keys, raw)
    hint = "Mend it, or set it anew with `dagentd agx config`; until then the default counts."
    return Loaded(raw, believed, tuple(CorruptFile(each, path=config.path, hint=hint) for each in wrong))


def migrate(config: ConfigFile, keep: int, now: datetime) -> None:
    """One of an older format becomes current, beside a backup; what cannot be read is left."""
    try:
        older = is_older(document_files.read(config.path), config.path)
    except (FileNotFoundError, DagentdError):
        return
    if older:
        with lockfile.held(config.lock):
            document_files.edit(config.path, lambda raw: _current(config, raw, keep, now))


def put(config: ConfigFile, key: str, value: Any, keep: int, now: datetime) -> None:
    """Set one key; null takes back what was said."""
    wrong = configuration.unknown_keys(config.keys, key) or configuration.key_mistake(config.keys, key, value)
    if wrong:
        raise InvalidInput(wrong, hint="`dagentd agx config` shows all keys.")
    section, name = key.split(".")

    def apply(raw: Raw) -> Raw:
        before = _current(config, raw, keep, now)
        after = changed(before, section, **{name: value})
        if after != before:
            dated_copies.back_up(config.path, config.backups, keep, now)
        return after

    make_private(config.path.parent, config.lock.parent)
    with lockfile.held(config.lock):
        sweep(config.path.parent, config.lock.parent, config.backups)
        if config.path.exists():
            document_files.edit(config.path, apply)
        else:
            document_files.create(config.path, changed({"version": CURRENT}, section, **{name: value}))


def _current(config: ConfigFile, raw: Raw, keep: int, now: datetime) -> Raw:
    """The document in today's format; where that is another, what it was is kept."""
    if not is_older(raw, config.path):
        return raw
    dated_copies.back_up(config.path, config.backups, keep, now)
    return migrate_document(raw, lambda _: {})
