"""The settings and their defaults, one class a table of the TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from dagentd.settings.rules import Rule, auto_or_number, choice, count, share, switch, text, texts

_DAY = 86_400
_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}"
_URL_OR_NONE = r"(https?://[^\s/@?#]+(/[^\s@?#]*)?)?"


@dataclass(frozen=True)
class Budget:
    limit: int = count(100_000, 100, 10_000_000)
    threshold: float = share(0.9)
    target: float = share(0.6)
    prompt_buffer: int = count(1_000, 0, 1_000_000)


@dataclass(frozen=True)
class Tokens:
    encoding: str = choice("cl100k_base")  # the one vocabulary that ships; another would need the network
    calibration: float | Literal["auto"] = auto_or_number(0.7, 2.0)


@dataclass(frozen=True)
class Request:
    recent_messages: int = count(0, 0, 1_000_000)
    share_checkpoints: bool = switch(True)


@dataclass(frozen=True)
class Context:
    max_commits: int = count(10, 0, 1_000)
    structure_depth: int = count(3, 0, 20)
    structure_entries: int = count(200, 0, 100_000)
    max_claude_md_tokens: int = count(20_000, 0, 1_000_000)


@dataclass(frozen=True)
class Compaction:
    enabled: bool = switch(True)
    backend: str = choice("auto", "anthropic", "claude-cli", "local")
    model: str = text("claude-haiku-5-5", _MODEL, "the name of a model")
    fallback_models: tuple[str, ...] = texts(("claude-haiku-4-5",), _MODEL, "a list of names of models")
    keep_recent_tokens: int = count(0, 0, 10_000_000)
    checkpoint_tokens: int = count(8_000, 100, 1_000_000)
    api_key_command: str = text("", r"[^\0]*", "a command, or an empty text")
    base_url: str = text("", _URL_OR_NONE, "an http or https URL without user, query or fragment, or an empty text")
    max_calls_per_hour: int = count(30, 0, 10_000)
    max_tokens_per_day: int = count(5_000_000, 0, 10_000_000_000)
    timeout: int = count(300, 1, 3_600)


@dataclass(frozen=True)
class Migration:
    enabled: bool = switch(True)
    backups: int = count(5, 1, 1_000)


@dataclass(frozen=True)
class Watch:
    enabled: bool = switch(True)
    settle_ms: int = count(100, 1, 60_000)
    ceiling_ms: int = count(1_000, 1, 600_000)
    reconcile_s: int = count(300, 1, _DAY)
    mode: str = choice("auto", "native", "poll")


@dataclass(frozen=True)
class Archive:
    auto: bool = switch(True)
    keep_days: int = count(180, 1, 36_500)


@dataclass(frozen=True)
class Log:
    level: str = choice("info", "debug", "warning", "error")
    max_bytes: int = count(5_000_000, 10_000, 1_000_000_000)
    files: int = count(3, 1, 100)


@dataclass(frozen=True)
class Agx:
    enabled: bool = switch(True)
    index_interval_s: int = count(300, 1, _DAY)
    cleanup_days: int = count(30, 1, 36_500)


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


def _rules() -> dict[str, Rule]:
    defaults = Settings()
    tables = ((table.name, fields(getattr(defaults, table.name))) for table in fields(defaults))
    return {f"{table}.{key.name}": key.metadata["rule"] for table, keys in tables for key in keys}


RULES = _rules()

# A project is cloned from strangers: it may make itself smaller or switch itself off, and never name a
# command, a URL, a key or a model.
PROJECT_MAY_SET = frozenset(
    key
    for key in RULES
    if key.startswith(("budget.", "request.", "context."))
    or key in ("compaction.enabled", "compaction.keep_recent_tokens", "migration.enabled", "watch.enabled")
)
