"""Nothing that a session says can steer the terminal or stop the printing, at any width, in any locale."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.model import figures

HOSTILE = "a\x1b[31mb\x07\x9b2J\u202ec\ud83d\r\x00"
COLUMNS = [Column("session"), Column("tokens", right=True), Column("title", wrap=True)]
ROWS = [("pm-feature-login", "12.3k tokens", "Add a login form with a forgotten password"), ("qa-x", "7 tokens", None)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Draw = Callable[..., str]


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """What a table looks like on a terminal of that width."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def table(width: int, columns: Sequence[Column] = COLUMNS, rows: Sequence[Sequence[object]] = ROWS) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        with contextlib.redirect_stdout(Terminal()) as screen:
            output.table(columns, rows)
        return screen.getvalue()

    return table


def test_clean_shows_what_would_steer_a_terminal() -> None:
    assert output.clean(HOSTILE) == r"a\x1b[31mb\x07\x9b2J\u202ec\ud83d\r\x00"
    assert output.clean("one\r\n\ttwo\n") == "one\n\ttwo\n"
    assert output.clean("naïve 日本 👍 עברית") == "naïve 日本 👍 עברית"


def test_a_pipe_gets_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(COLUMNS, ROWS)
    assert capsys.readouterr().out == (
        "session                 tokens  title\n"
        "pm-feature-login  12.3k tokens  Add a login form with a forgotten password\n"
        "qa-x                  7 tokens\n"
    )


def test_cells_stay_on_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([Column("a"), Column("b")], [("x\ny\tz", HOSTILE)])
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("x y z  a\\x1b")
    assert len(out.splitlines()) == 2


def test_a_sentence_breaks_between_words_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    said = "- hooks in /home/you/a/long/path/to/hooks are there\n  twice"
    output.line(said)
    assert capsys.readouterr().out == f"{said}\n"
    with contextlib.redirect_stdout(Terminal()) as screen:
        output.line(said)
        output.text(said)
    wrapped = "- hooks in\n  /home/you/a/long/path/to/hooks\n  are there\n  twice\n"
    assert screen.getvalue() == f"{wrapped}{said}\n"


@pytest.mark.parametrize(
    ("hint", "told"), [("dagentd start", "Try: dagentd start\n"), ("Add --yes.", "Add --yes.\n"), ("", "")]
)
def test_an_error_ends_with_what_to_type(hint: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.error("it does not run", hint)
    assert capsys.readouterr().err == f"dagentd: it does not run\n{told}"


def test_what_was_estimated_is_told_apart_from_what_was_counted() -> None:
    told = [figures.budget({"share": part, "estimated": True}) for part in (0, 0.002, 0.42)]
    assert told == ["0 %", "<1 %", "~42 %"]
    assert figures.budget({"share": 0.42, "estimated": False}) == "42 %"


@pytest.mark.parametrize(("part", "told"), [(0, "0 %"), (0.002, "<1 %"), (0.956, "96 %"), (1.2, "120 %")])
def test_a_share_is_told_in_percent(part: float, told: str) -> None:
    assert output.share(part) == told


def test_no_rows_are_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(COLUMNS, [], empty="No sessions.")
    assert capsys.readouterr().out == "No sessions.\n"


def test_fields(capsys: pytest.CaptureFixture[str]) -> None:
    output.fields([("id", "x"), ("status", "active")])
    assert capsys.readouterr().out == "id      x\nstatus  active\n"


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_terminal_of_any_width_shows_ids_whole(width: int, draw: Draw) -> None:
    shown = draw(width)
    assert "pm-feature-login" in shown
    assert "12.3k tokens" in shown


@pytest.mark.parametrize("width", [60, 80])
def test_a_table_does_not_pass_the_right_margin(width: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    shown = draw(width)
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= width


def test_below_the_width_of_a_table_each_row_is_a_block(draw: Draw) -> None:
    assert draw(40) == (
        "pm-feature-login\n"
        "  tokens  12.3k tokens\n"
        "  title   Add a login form with a forgotten password\n"
        "qa-x\n"
        "  tokens  7 tokens\n"
    )


def test_colour_unless_it_is_not_wanted(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    cyan = [Column("id", style="cyan")]
    assert "\x1b[36mx" in draw(80, cyan, [("x",)])
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in draw(80, cyan, [("x",)])


def test_a_terminal_gets_no_markup_and_no_escapes_from_cells(draw: Draw) -> None:
    shown = draw(80, [Column("x")], [("[red]:smile:[/red]",), ("\x1b]0;title\x07",)])
    assert "[red]:smile:[/red]" in shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown


def test_json_is_exact_and_safe(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": HOSTILE, "more": "ü 日本 👍", "big": 1e400}
    output.print_json(value)
    out = capsys.readouterr().out
    assert output.clean(out) == out
    assert "ü 日本 👍" in out
    assert json.loads(out) == {**value, "big": None}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_where_stdout_is_not_utf8(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    output.prepare()
    output.print_json("ü 👍 \ud83d")
    assert json.loads(raw.getvalue().decode("ascii")) == "ü 👍 \ud83d"


def test_an_ascii_stdout_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.prepare()
    output.line("ü 👍 \ud83d")
    assert raw.getvalue() == rb"\xfc \U0001f44d \ud83d" + b"\n"


def test_without_stdout_and_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    output.prepare()
    output.line("x")
    output.error("y")
    output.print_json(1)
    output.table(COLUMNS, ROWS)


def test_a_real_terminal_in_the_c_locale() -> None:
    script = (
        "from dagentd.cli import output as o; o.prepare();"
        "o.table([o.Column('a'), o.Column('b', wrap=True)], [('x' * 10, '\\u00fc\\ud83d ' * 30)])"
    )
    master, slave = os.openpty()
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "40"}
    done = subprocess.run([sys.executable, "-c", script], stdout=slave, stderr=subprocess.PIPE, env=environment)
    os.close(slave)
    shown = os.read(master, 1 << 16)
    os.close(master)
    assert done.stderr == b""
    assert b"xxxxxxxxxx" in shown
    assert rb"\xfc\ud83d" in shown


def test_signs_of_ours_have_plain_ones_where_there_is_only_ascii() -> None:
    script = f"from dagentd.cli import output; output.prepare(); output.line({'the «cookie» … ü'!a})"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment)
    assert (done.stdout, done.stderr) == (rb"the <<cookie>> ... \xfc" + b"\n", b"")


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=60), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(days=2, hours=5), "2 d ago"),
        (timedelta(days=40), "2026-10-07"),
        (timedelta(days=-2), "2026-11-18"),
    ],
)
def test_times_in_words(age: timedelta, words: str) -> None:
    assert output.ago(NOW - age, NOW) == words
    assert output.ago((NOW - age).isoformat(), NOW) == words


def test_what_is_no_time_says_nothing() -> None:
    assert output.ago(None) == output.ago("yesterday") == ""


@pytest.mark.parametrize(
    ("count", "bytes_", "tokens"),
    [
        (0, "0 B", "0 tokens"),
        (1, "1 B", "1 token"),
        (999, "999 B", "999 tokens"),
        (1_000, "1 kB", "1k tokens"),
        (12_345, "12.3 kB", "12.3k tokens"),
        (999_960, "1 MB", "1M tokens"),
        (5 * 10**15, "5000 TB", "5000000G tokens"),
    ],
)
def test_sizes_and_tokens_have_units(count: int, bytes_: str, tokens: str) -> None:
    assert output.size(count) == bytes_
    assert output.tokens(count) == tokens


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (-5, "0 s"), (59.9, "59 s"), (60, "1 min"), (90, "1 min 30 s"), (3600, "1 h"), (5400, "1 h 30 min"),
     (3661, "1 h 1 min"), (86400 + 59, "1 d"), (90000, "1 d 1 h")],
)  # fmt: skip
def test_durations(seconds: float, shown: str) -> None:
    assert output.duration(seconds, 2) == shown
    assert output.duration(seconds) == " ".join(shown.split()[:2])
