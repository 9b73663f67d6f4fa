from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dagentd
from dagentd.adapters import tokens
from dagentd.errors import CorruptFile

ROOT = Path(dagentd.__file__).parent.parent

# What tiktoken's cl100k_base itself gives.
KNOWN = {
    "": 0,
    "hello world": 2,
    "antidisestablishmentarianism": 6,
    "def f(x):\n    return x + 1\n": 11,
    "お誕生日おめでとう": 9,
    "<|endoftext|>": 7,
    "\0": 1,
}

OFFLINE = """
import socket, sys

def refuse(*arguments, **options):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.create_connection = socket.getaddrinfo = refuse
from dagentd.adapters import tokens
assert "tiktoken" not in sys.modules, "loaded too early"
assert tokens.upper_bound("hello world") == 11
assert "tiktoken" not in sys.modules, "loaded for a bound"
print(tokens.count("hello world"))
"""


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_remembered", {})


@pytest.fixture
def plugin() -> ModuleType:
    tokens.count("load it")
    return sys.modules["tiktoken_ext.dagentd_vocabulary"]


@pytest.mark.parametrize(("text", "expected"), KNOWN.items())
def test_counts_are_those_of_cl100k_base(text: str, expected: int) -> None:
    assert tokens.count(text) == expected


@pytest.mark.parametrize("cache", [None, ""])
def test_counting_touches_neither_the_network_nor_a_cache(cache: str | None, home: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT), "HOME": "", "TMPDIR": str(home / "tmp")}
    if cache is not None:
        environment |= {"TIKTOKEN_CACHE_DIR": cache, "DATA_GYM_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", OFFLINE], env=environment, cwd=home, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr
    assert os.listdir(home / "tmp") == []


@pytest.mark.parametrize("text", ["\ud83d", "cut \ud83d emoji", "\udc00\ud800" * 9, "\ud83d\ude00", "a\0b\x1f\x7f"])
def test_any_text_is_counted_within_its_bound(text: str) -> None:
    assert 0 < tokens.count(text) <= tokens.upper_bound(text)


@given(st.text(st.characters()))
def test_no_text_has_more_tokens_than_bytes(text: str) -> None:
    assert tokens.count(text) <= tokens.upper_bound(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a" * 1_000_000, 125_000), (" " * 1_000_000 + "x", 7_814), ("\n" * 1_000_000, 31_250), ("=" * 1_000_000, 15_625)],
)
def test_a_long_run_is_counted_without_harm(text: str, expected: int) -> None:
    assert tokens.count(text) == pytest.approx(expected, rel=0.001)


WORDS = ["word", " two", "3.14", "don't", "\n", "\n\n  ", "  ", " \t", "\r\n", '{"a":[1]}', "漢字。", "é", "👍", "!\n"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40), st.integers(0, 50))
def test_cutting_a_long_text_does_not_change_its_count(words: list[str], shift: int) -> None:
    line = "".join(words) + " end."
    text = "x" * shift + line * (40_000 // len(line))
    assert tokens.count(text) == len(tokens._encoding().encode_ordinary(text))


def test_a_text_is_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Mock(return_value=[1, 2, 3])
    monkeypatch.setattr(tokens, "_encoding", lambda: Mock(encode_ordinary=encode))
    monkeypatch.setattr(tokens, "_remembered", {})
    assert [tokens.count(text) for text in ("one", "two", "one")] == [3, 3, 3]
    assert encode.call_args_list == [call("one"), call("two")]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_REMEMBERED", 5)
    for number in range(20):
        tokens.count(f"message {number}")
    assert len(tokens._remembered) == 5


def test_threads_load_the_vocabulary_once(plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(wraps=plugin._checked)
    monkeypatch.setattr(plugin, "_checked", read)
    monkeypatch.setattr(sys.modules["tiktoken.registry"], "ENCODINGS", {})
    tokens._encoding.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokens.count, [f"text {number}" for number in range(8)])) == [3] * 8
    read.assert_called_once()


def test_a_damaged_vocabulary_is_refused(plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_bytes(b"IQ== 0\n")
    monkeypatch.setattr(plugin.resources, "files", lambda package: tmp_path)
    with pytest.raises(CorruptFile, match="is not the vocabulary"):
        plugin.cl100k_base()
