"""Lines as nobody has written them yet: real ones with something dropped, changed, cut or glued. Reading never raises,
never invents, and its answers can be written."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dagentd.agents.conversation import (
    ECHO,
    Agent,
    Event,
    Facts,
    Message,
    Result,
    Summary,
    Title,
    Transcript,
    Usage,
    gather,
)
from dagentd.model import jsontext
from tests.agents.reading import CLAUDE, CODEX, EARLY, sample

OURS = {ECHO, "[image]", "[document]", "!"}
SOURCES: list[tuple[Agent, list[bytes]]] = [
    (CLAUDE, sample("claude-code")),
    (CLAUDE, sample("claude-code-subagent")),
    (CODEX, sample("codex")),
    (CODEX, sample("codex-fork")),
]
if EARLY.exists():
    SOURCES.append(
        (CLAUDE, [each for each in EARLY.read_bytes().splitlines(keepends=True) if len(each) < 20_000][:150])
    )

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, -1, 1 << 70, 1.5, float("inf"), "", "\ud83d", "new-type", [], {}, [None], [[]], {"type": None}]
    ),
    st.text(max_size=20),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=5), st.dictionaries(st.text(max_size=5), st.none()))),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@st.composite
def changed(draw: st.DrawFn, line: bytes) -> bytes:
    """The line with one thing in it dropped or replaced."""
    document = copy.deepcopy(json.loads(line))
    *way, last = draw(st.sampled_from(list(places(document))))
    holder = document
    for key in way:
        holder = holder[key]
    if draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = draw(ODD)
    return json.dumps(document).encode() + b"\n"


@st.composite
def damaged(draw: st.DrawFn, line: bytes) -> bytes:
    """The bytes cut, or with others in them."""
    at = draw(st.integers(0, len(line)))
    put = draw(st.sampled_from([None, b"\xff\xfe", b"\0", rb"\ud800", b'{"type":"user"}', b"[" * 500, b"\xe2\x80\xa8"]))
    return line[:at] if put is None else line[:at] + put + line[at:]


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Agent, list[bytes]]:
    """Some lines of a real transcript, of which a few are not as they were, and some stand in one line."""
    agent, lines = draw(st.sampled_from(SOURCES))
    start = draw(st.integers(0, len(lines) - 1))
    found = []
    for line in lines[start : start + draw(st.integers(1, 8))]:
        how = draw(st.sampled_from(["as it is", "changed", "changed twice", "damaged", "glued"]))
        if how.startswith("changed"):
            line = draw(changed(line))
        if how == "changed twice" and len(json.loads(line)):
            line = draw(changed(line))
        if how == "damaged":
            line = draw(damaged(line))
        found.append(line.rstrip() + line if how == "glued" else line)
    return agent, found


@given(transcripts())
def test_whatever_stands_in_a_line_reading_goes_on(source: tuple[Agent, list[bytes]]) -> None:
    agent, lines = source
    reader = agent.reader(Transcript("01a1ef1f-587c-7c23-adb3-cb945983031d"), None)
    events: list[Event] = []
    for line in lines:
        new = reader.feed(line)
        for event in new:
            check(event, line)
        events += new
        reader = agent.reader(
            Transcript("01a1ef1f-587c-7c23-adb3-cb945983031d"), json.loads(json.dumps(reader.state()))
        )
    for message in gather(events).messages:
        jsontext.encode(message.document()).decode()


def check(event: Event, line: bytes) -> None:
    jsontext.encode(asdict(event)).decode()
    match event:
        case Message():
            assert event.id
            assert isinstance(event.at, str)
            assert event.role in ("user", "assistant")
            assert event.role == "assistant" or is_by_a_user(line)
            from_the_line(event.text, line)
            for use in event.tool_uses:
                assert isinstance(use.id, str)
                from_the_line(use.name.replace("__", " "), line)
        case Result():
            from_the_line(event.text, line)
        case Summary() | Title():
            from_the_line(event.text, line)
        case Usage():
            numbers = (event.input, event.output, event.cache_read, event.cache_write, event.reasoning)
            assert all(type(number) is int and number >= 0 for number in numbers)
        case Facts():
            assert all(value is None or (isinstance(value, str) and value) for value in asdict(event).values())


def is_by_a_user(line: bytes) -> bool:
    told = json.loads(line.decode("utf-8", "replace"))
    return told["type"] in ("user", "attachment") or told["payload"]["role"] == "user"


def from_the_line(text: str, line: bytes) -> None:
    """Every word of it stands in the line."""
    said = " ".join(strings(json.loads(line.decode("utf-8", "replace"))))
    said = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for word in text.replace(ECHO, "").split():
        assert word in said or word in OURS or "\ufffd" in word, f"{word!r} was not said"


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield value.encode().decode("unicode_escape", "replace") if "\\" in value and value.isascii() else ""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)


@pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)
@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"null", b"[]", b"1" * 10_000, b"{" * 100_000, b'{"type":' * 5000, b'{"type": ["user"]}',
     b'{"type": "user", "message": ' + b"[" * 700 + b"]" * 700 + b"}", b"\xff" * 100],
)  # fmt: skip
def test_what_is_no_line_of_a_transcript_says_nothing(agent: Agent, line: bytes) -> None:
    assert agent.reader(Transcript("x"), None).feed(line) == []


@pytest.mark.parametrize("tag", ["<system-reminder>", "<system-reminder></system-reminder>\n", "\n<system-reminder "])
def test_tags_without_end_take_no_longer_than_other_text(tag: str) -> None:
    """A limit of the time of one test would be reached a hundredfold if each of them were searched to the end."""
    text = tag * (4_000_000 // len(tag))
    line = json.dumps({"type": "user", "uuid": "u", "message": {"content": text}}).encode()
    assert len(CLAUDE.reader(Transcript("x"), None).feed(line)) <= 1


def test_a_folder_that_cannot_be_is_not_looked_for() -> None:
    """To look for it would take seconds, whenever an agent begins in its repository."""
    cwd, said = "/shop" + "/a" * 100_000, {"message": {"content": "x"}}
    assert not any(isinstance(each, Facts) for each in _read(CLAUDE, {"type": "user", "cwd": cwd, **said}))
    for kind in ("session_meta", "turn_context"):
        told = _read(CODEX, {"type": kind, "payload": {"id": "x", "cwd": cwd}})
        assert not any(isinstance(each, Facts) and each.cwd for each in told)


def _read(agent: Agent, line: dict[str, Any]) -> list[Event]:
    return agent.reader(Transcript("x"), None).feed(json.dumps(line).encode())
