"""What a file held when it was heard of: read at once, and kept until it is taken in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd.adapters.files import atomic
from dagentd.adapters.watch import batches
from dagentd.adapters.watch.batches import keep, peek


def is_chat(name: str) -> bool:
    return name == "chat.json"


def chat(*texts: str, indent: int | None = 2) -> bytes:
    return json.dumps({"messages": [{"content": each} for each in texts], "total": len(texts)}, indent=indent).encode()


def test_only_what_is_in_a_hurry_and_not_ours_is_read(tmp_path: Path) -> None:
    for name in ("chat.json", "other.json"):
        (tmp_path / name).write_bytes(b"x")
    assert [peek(is_chat, tmp_path, name) for name in ("chat.json", "other.json")] == [b"x", None]
    atomic.put(tmp_path / "chat.json", b"ours")
    assert peek(is_chat, tmp_path, "chat.json") is None


def test_what_cannot_be_read_is_told_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(is_chat, tmp_path, "chat.json") == b""
    (tmp_path / "chat.json").write_bytes(b"long")
    monkeypatch.setattr(batches, "_LARGE", 3)
    assert peek(is_chat, tmp_path, "chat.json") == b""


@pytest.mark.parametrize("indent", [None, 2])
def test_of_a_chat_that_grew_only_the_latest_is_kept(indent: int | None) -> None:
    held: list[bytes] = []
    for count in range(1, 5):
        keep(held, chat(*"abcd"[:count], indent=indent))
    assert held == [chat(*"abcd", indent=indent)]
    for content in (chat(indent=indent), b"", chat("e", indent=indent)):  # cleared, and begun anew
        keep(held, content)
    assert held == [chat(*"abcd", indent=indent), chat("e", indent=indent)]


def test_too_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST", 5)
    held: list[bytes] = []
    for content in (b"one", b"two", b"3"):
        keep(held, content)
    assert held == [b"two", b"3"]
