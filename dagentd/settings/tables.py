"""The settings, their defaults and their rules, one class a table of the TOML file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal, NamedTuple

# What a setting may be: each of these gives a dataclass field with its default and its rule.


class Rule(NamedTuple):
    """`about` says what is set; `allowed` ends the sentence "it must be ..."; `kept` is how the value is held."""

    about: str
    holds: Callable[[Any], bool]
    allowed: str
    kept: Callable[[Any], Any]


def _setting(
    allowed: str,
    holds: Callable[..., bool],
    default: Any,
    *given: Any,
    kept: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """A field of a dataclass, `given` what limits it and, last, what it is about."""
    *limits, about = given
    rule = Rule(about, partial(holds, *limits), allowed.format(*limits), kept)
    return field(default=default, metadata={"rule": rule})


def choice(default: str, *others: str, about: str) -> Any:
    choices = (default, *others)
    return _setting(" or ".join(f'"{each}"' for each in choices), choices.__contains__, default, about)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(low: int, high: int, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 < value <= 1


def _is_auto_or_number(low: float, high: float, value: Any) -> bool:
    return value == "auto" or (_is_number(value) and low <= value <= high)


def _is_text(pattern: str, _: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def _are_texts(pattern: str, allowed: str, value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(pattern, allowed, each) for each in value)


switch = partial(_setting, "true or false", _is_switch)
count = partial(_setting, "a whole number from {} to {}", _is_count)
share = partial(_setting, "a number above 0 and up to 1", _is_share, kept=float)
auto_or_number = partial(_setting, '"auto" or a number from {} to {}', _is_auto_or_number, "auto")
text = partial(_setting, "{1}", _is_text)  # given a pattern, and the same in words
texts = partial(_setting, "{1}", _are_texts, kept=tuple)


# The settings and their defaults, one class a table of the TOML file.

_DAY = 86_400
_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}"
_URL_OR_NONE = r"(https?://[^\s/@?#]+(/[^\s@?#]*)?)?"
_URL_IN_WORDS = "an http or https URL without user, query or fragment, or an empty text"


@dataclass(frozen=True)
class Budget:
    limit: int = count(100_000, 100, 10_000_000, "tokens that a session may fill")
    threshold: float = share(0.9, "above this share of the limit a session is compacted")
    target: float = share(0.6, "down to this share of it")
    prompt_buffer: int = count(1_000, 0, 1_000_000, "tokens kept free for the next message of the user")


@dataclass(frozen=True)
class Tokens:
    # The one vocabulary that ships; another would need the network.
    encoding: str = choice("cl100k_base", about="the vocabulary by which tokens are counted")
    calibration: float | Literal["auto"] = auto_or_number(
        0.7, 2.0, "tokens of the model for each of ours; `auto` learns it from what calls report"
    )


@dataclass(frozen=True)
class Request:
    recent_messages: int = count(0, 0, 1_000_000, "messages of chat that a request has at most; 0 for all")
    share_checkpoints: bool = switch(True, "qa and merge sessions are shown the checkpoint of the task's dev session")


@dataclass(frozen=True)
class Context:
    max_commits: int = count(10, 0, 1_000, "last commits that a context has")
    structure_depth: int = count(3, 0, 20, "levels of folders that a context lists")
    structure_entries: int = count(200, 0, 100_000, "names that it lists at most")
    max_claude_md_tokens: int = count(
        20_000, 0, 1_000_000, "tokens of CLAUDE.md with its imports; PROJECT.md and a spec may have half as many"
    )


@dataclass(frozen=True)
class Compaction:
    enabled: bool = switch(True, "compact sessions that are too full")
    backend: str = choice(
        "auto", "anthropic", "claude-cli", "local", about="who does it; `auto`: a model if there is a key, else `local`"
    )
    model: str = text("claude-haiku-5-5", _MODEL, "the name of a model", "the model that is asked")
    fallback_models: tuple[str, ...] = texts(
        ("claude-haiku-4-5",), _MODEL, "a list of names of models", "those that are asked next"
    )
    keep_recent_tokens: int = count(
        4_000, 0, 10_000_000, "tokens of the last messages that stay in chat; at most a tenth of the budget"
    )
    checkpoint_tokens: int = count(8_000, 100, 1_000_000, "tokens that a checkpoint may have")
    api_key_command: str = text("", r"[^\0]*", "a command, or an empty text", "a command that prints the key")
    base_url: str = text("", _URL_OR_NONE, _URL_IN_WORDS, "the API's address; empty for Anthropic's own")
    max_calls_per_hour: int = count(30, 0, 10_000, "calls of a model")
    max_tokens_per_day: int = count(5_000_000, 0, 10_000_000_000, "tokens sent and received")
    timeout: int = count(300, 1, 3_600, "seconds for one compaction by a model")


@dataclass(frozen=True)
class Migration:
    enabled: bool = switch(True, "make sessions of files of older formats")
    backups: int = count(5, 1, 1_000, "numbered backups kept of one file")


@dataclass(frozen=True)
class Watch:
    enabled: bool = switch(True, "watch files; otherwise the timer alone looks at them")
    settle_ms: int = count(100, 1, 60_000, "milliseconds of quiet after which a change counts")
    ceiling_ms: int = count(1_000, 1, 600_000, "milliseconds after which it counts without")
    reconcile_s: int = count(300, 1, _DAY, "seconds after which everything is looked at once more")
    mode: str = choice("auto", "native", "poll", about="by the system, or by looking at folders in turn")


@dataclass(frozen=True)
class Archive:
    auto: bool = switch(True, "archive sessions whose feature or task has ended")
    keep_days: int = count(0, 0, 36_500, "days for which sessions without a worktree are kept; 0: for good")


@dataclass(frozen=True)
class Log:
    level: str = choice("info", "debug", "warning", "error", about="what the log has at least")
    max_bytes: int = count(5_000_000, 10_000, 1_000_000_000, "bytes after which a new log file is begun")
    files: int = count(3, 1, 100, "log files that are kept")


@dataclass(frozen=True)
class Agx:
    enabled: bool = switch(True, "keep AGX sessions up")
    index_interval_s: int = count(300, 1, _DAY, "seconds after which the global index is checked")
    cleanup_days: int = count(30, 1, 36_500, "days without use after which a session is archived")


@dataclass(frozen=True)
class Agents:
    follow: tuple[str, ...] = texts(
        ("claude-code", "codex"), "claude-code|codex", 'a list of "claude-code" and "codex"',
        "the agents whose conversations are kept; none: an empty list",
    )  # fmt: skip
    scope: str = choice(
        "registered", "all", about="keep conversations in registered projects, or in every folder of this machine"
    )
    ignore_paths: tuple[str, ...] = texts(
        (), r"(/|~/)[^\0]*|~", "a list of absolute paths", "folders whose conversations are left alone"
    )
    keep_days: int = count(0, 0, 36_500, "days for which conversations without new lines are kept; 0: for good")
    max_bytes: int = count(10_000_000_000, 0, 1 << 50, "bytes that all kept conversations may have")
    max_attachment: int = count(1_048_576, 0, 1 << 30, "bytes of a tool's result in a file of its own that is kept")
    context_chars: int = count(4_000, 0, 10_000, "characters that an agent is told at most when it begins")


@dataclass(frozen=True)
class Web:
    port: int = count(0, 0, 65_535, "the port of `dagentd web`; 0: one that is free")
    open: bool = switch(True, "open a browser with it")


@dataclass(frozen=True)
class Settings:
    budget: Budget = field(default_factory=Budget)
    tokens: Tokens = field(default_factory=Tokens)
    request: Request = field(default_factory=Request)
    context: Context = field(default_factory=Context)
    compaction: Compaction = field(default_factory=Compaction)
    migration: Migration = field(default_factory=Migration)
    watch: Watch = field(default_factory=Watch)
    archive: Archive = field(default_factory=Archive)
    log: Log = field(default_factory=Log)
    agx: Agx = field(default_factory=Agx)
    agents: Agents = field(default_factory=Agents)
    web: Web = field(default_factory=Web)


RULES: dict[str, Rule] = {
    f"{table.name}.{key.name}": key.metadata["rule"]
    for table in fields(Settings())
    for key in fields(getattr(Settings(), table.name))
}

# A project is cloned from strangers: it may make itself smaller or switch itself off, and never name a
# command, a URL, a key or a model.
PROJECT_MAY_SET = frozenset(
    key
    for key in RULES
    if key.startswith(("budget.", "request.", "context."))
    or key in ("compaction.enabled", "compaction.keep_recent_tokens", "migration.enabled", "watch.enabled")
)

# What is set up once, with what it is for: a change counts from the next start on.
AT_START = ("watch.enabled", "watch.mode", "watch.settle_ms", "log.max_bytes", "log.files")
