"""Who compacts: the model that the settings and the keys of this process allow, or nobody but ourselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dagentd.adapters.claude import Answer, CallFailed, Question
from dagentd.settings.tables import Compaction

_PATIENCE = 20.0  # seconds for the command that prints the key

Ask = Callable[[Question], Answer]


@dataclass(frozen=True)
class Backend:
    name: str
    ask: Ask


def chosen(settings: Compaction, environment: Mapping[str, str] = os.environ) -> Backend | None:
    """None: `local`. `auto` calls a model only if this process was given a key; one that was exported for other tools
    counts only for who names the backend."""
    if settings.backend == "claude-cli":
        return Backend("claude-cli", _by_command(settings))
    given = settings.api_key_command or environment.get("DAGENTD_API_KEY")
    if settings.backend == "anthropic" or (settings.backend == "auto" and given):
        return Backend("anthropic", _by_sdk(settings, environment))
    return None


def _by_sdk(settings: Compaction, environment: Mapping[str, str]) -> Ask:
    def ask(question: Question) -> Answer:
        from dagentd.adapters.claude import sdk

        return sdk.ask(question, _key(settings, environment), settings.base_url)

    return ask


def _by_command(settings: Compaction) -> Ask:
    def ask(question: Question) -> Answer:
        from dagentd.adapters.claude import command

        return command.ask(question, settings.base_url)

    return ask


def _key(settings: Compaction, environment: Mapping[str, str]) -> str:
    if settings.api_key_command:
        return _printed(settings.api_key_command)
    names = ("DAGENTD_API_KEY", *(("ANTHROPIC_API_KEY",) if settings.backend == "anthropic" else ()))
    key = next((environment[name] for name in names if environment.get(name)), "")
    if not key:
        raise CallFailed("auth", "there is no key: set compaction.api_key_command, or DAGENTD_API_KEY for the daemon")
    return key


def _printed(command: str) -> str:
    """Its own words are not told: they may be the key. It is ended with all that it started, also when dagentd is."""
    from dagentd.adapters.claude.running import run

    try:
        done = run(["/bin/sh", "-c", command], b"", _PATIENCE, more=dict(os.environ))
    except CallFailed as error:
        if error.kind != "slow":
            raise
        raise CallFailed("auth", f"compaction.api_key_command took longer than {_PATIENCE:.0f} s") from None
    key = done.output.decode(errors="replace").strip()
    if done.status or not key or any(character.isspace() for character in key):
        raise CallFailed("auth", f"compaction.api_key_command printed no key (exit status {done.status})")
    return key
