"""Codex' rollouts: what is read of real ones, and of what older versions wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.agents.conversation import ECHO, Message, Transcript, Usage
from tests.agents.reading import CODEX, conversation, events, item, line, sample

UUID = "01a1ef1f-587c-7c23-adb3-cb945983031d"
PARENT, TURN_BEFORE, TURN = "01a1e000-0000-7000-8000-000000000000", "01a1e001-0000-7000-8000-000000000000", "01a1ef20"


def test_a_real_conversation_is_what_was_said_and_done() -> None:
    found = conversation(CODEX, sample("codex"), Transcript(UUID))
    assert [(each.role, each.text, [use.name for use in each.tool_uses]) for each in found.messages] == [
        ("user", "write the notes", []),
        ("assistant", "I write it.", ["exec_command"]),
        ("assistant", "The notes are written.", []),
        ("user", "make a loud noise", []),
        ("assistant", "", ["exec_command"]),
        ("assistant", "", ["exec_command"]),
        ("assistant", "Loud.", []),
        ("user", "and now?", []),
        ("assistant", "Loud.", []),
    ]
    written, failed = found.messages[1].tool_uses[0], found.messages[4].tool_uses[0]
    assert (written.input, written.result, written.is_error) == (
        {"cmd": "echo hello > notes.txt; cat notes.txt"},
        "hello\n",
        False,
    )
    assert (failed.input, failed.result, failed.is_error) == ({"cmd": "false"}, "", True)
    assert found.first.cwd == "/home/ada/repo"
    assert (found.first.branch, found.last.model, found.last.version) == ("master", "gpt-5.5", "0.169.0")


def test_a_compaction_is_a_summary_and_what_replaced_the_history_was_not_said() -> None:
    found = conversation(CODEX, sample("codex"), Transcript(UUID))
    (summary,) = found.summaries
    assert summary.text.endswith("1. Notes were written. SUMMARY")
    assert found.since == 5
    assert not any("SUMMARY" in each.text for each in found.messages)


def test_each_answer_is_counted_once_also_in_a_fork() -> None:
    def used(name: str) -> list[Usage]:
        return [each for each in events(CODEX, sample(name), Transcript(UUID)) if isinstance(each, Usage)]

    assert [each.key for each in used("codex")] == [f"codex:resp_{n:04}" for n in (1, 2, 3, 4, 5, 6, 13)]
    (fork,) = used("codex-fork")
    assert (fork.key, fork.input, fork.cache_read, fork.output, fork.reasoning) == ("codex:resp_0007", 77, 30, 47, 5)


def test_a_fork_and_a_subagent_say_where_they_come_from() -> None:
    fork = conversation(CODEX, sample("codex-fork"))
    assert (fork.first.forked_from, [each.text for each in fork.messages]) == (UUID, ["what did we do", "Loud."])
    subagent = conversation(CODEX, sample("codex-subagent"))
    assert subagent.first.parent == "01a1ef1f-81cf-7800-bd71-1734c2f7638d"
    assert [each.text for each in subagent.messages] == ["count the files here", "", "There is one file."]


def counted(total: int, last: int, at: str = "2026-11-18T10:00:00.000Z") -> bytes:
    def usage(number: int) -> dict[str, int]:
        return {"input_tokens": number, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": number}

    info = {"total_token_usage": usage(total), "last_token_usage": usage(last)}
    return line(timestamp=at, type="event_msg", payload={"type": "token_count", "info": info})


def meta(id: str, **fields: Any) -> bytes:
    return line(timestamp="2026-11-18T10:00:00.000Z", type="session_meta", payload={"id": id, "cwd": "/r", **fields})


def taken(*lines: bytes) -> list[int]:
    return [each.input for each in events(CODEX, list(lines), Transcript(UUID)) if isinstance(each, Usage)]


def test_older_versions_are_counted_by_what_the_total_gained() -> None:
    assert taken(meta(UUID), counted(100, 100), counted(100, 100), counted(250, 150), counted(250, 150)) == [100, 150]
    assert taken(meta(UUID), counted(250, 150), counted(80, 80)) == [250, 80]


def test_a_thread_that_came_from_another_begins_with_its_total() -> None:
    assert taken(meta(UUID, forked_from_id=PARENT), counted(1000, 70), counted(1100, 100)) == [70, 100]


@pytest.mark.parametrize("turns", [True, False])
def test_what_a_fork_replays_was_said_elsewhere(turns: bool) -> None:
    def turn(id: str, at: str) -> bytes:
        return line(timestamp=at, type="turn_context", payload={"cwd": "/r", **({"turn_id": id} if turns else {})})

    now, later = "2026-11-18T10:00:00.100Z", "2026-11-18T10:00:09.000Z"
    lines = [
        meta(UUID, forked_from_id=PARENT),
        meta(PARENT),
        turn(TURN_BEFORE, now),
        item(now, type="message", role="user", content=[{"type": "input_text", "text": "long ago"}]),
        counted(1000, 70, now),
        turn(TURN, later),
        item(later, type="message", role="user", content=[{"type": "input_text", "text": "now"}]),
        counted(1100, 100, later),
    ]
    assert [each.text for each in conversation(CODEX, lines, Transcript(UUID)).messages] == ["now"]
    assert taken(*lines) == [100]


@pytest.mark.parametrize(
    ("output", "text", "failed"),
    [
        ('{"output":"no such file\\n","metadata":{"exit_code":2}}', "no such file\n", True),
        ('{"output":"fine","metadata":{"exit_code":0}}', "fine", False),
        ({"content": "refused", "success": False}, "refused", True),
        (
            [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:"}],
            "seen\n[image]",
            False,
        ),
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\nboom", "boom", True),
        ("plain", "plain", False),
        (None, "", False),
    ],
)
def test_a_tools_output_in_all_its_shapes(output: Any, text: str, failed: bool) -> None:
    lines = [
        item(type="function_call", call_id="c1", name="shell", arguments='{"command": ["ls"]}'),
        item(type="function_call_output", call_id="c1", output=output),
    ]
    (use,) = conversation(CODEX, lines).messages[0].tool_uses
    assert (use.result, use.is_error) == (text, failed)


def test_tools_without_json_and_of_a_namespace() -> None:
    lines = [
        item(type="custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch"),
        item(type="function_call", call_id="c2", name="search", namespace="mcp__dagentd", arguments="{not json"),
        item(type="function_call_output", call_id="c2", output="what was said in May"),
        item(type="web_search_call", action={"query": "x"}),
    ]
    one, other = conversation(CODEX, lines).messages
    assert [(use.name, use.input, use.result) for use in (*one.tool_uses, *other.tool_uses)] == [
        ("apply_patch", "*** Begin Patch", None),
        ("mcp__dagentd__search", "{not json", ECHO),
        ("web_search_call", {"query": "x"}, None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/r</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>",
        "<user_instructions>be kind</user_instructions>",
    ],
)
def test_plumbing_is_left_out(text: str) -> None:
    lines = [item(type="message", role="user", content=[{"type": "input_text", "text": text}])]
    lines += [item(type="message", role="developer", content=[{"type": "input_text", "text": "be kind"}])]
    lines += [item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}])]
    assert events(CODEX, lines) == []


def test_what_has_no_id_has_that_of_its_line() -> None:
    said = item(type="message", role="user", content=[{"type": "input_text", "text": "hello"}])
    one, same = (each for each in events(CODEX, [said, said.rstrip()]) if isinstance(each, Message))
    assert one.id == same.id
    assert one.id.startswith("x-")


def test_reading_goes_on_from_a_state_as_if_it_had_never_stopped() -> None:
    lines, transcript = sample("codex"), Transcript(UUID)
    reader, found = CODEX.reader(transcript, None), []
    for each in lines:
        reader = CODEX.reader(transcript, json.loads(json.dumps(reader.state())))
        found += reader.feed(each)
    assert found == events(CODEX, lines, transcript)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"2026/11/18/rollout-2026-11-18T14-46-11-{UUID}.jsonl", Transcript(UUID)),
        (f"2026/11/18/rollout-2026-11-18T14-46-11-{UUID}.jsonl.zst", Transcript(UUID, compressed=True)),
        (f"rollout-2026-11-18T14-46-11-{UUID}_{PARENT}.jsonl", Transcript(UUID)),
        ("2026/11/18/notes.jsonl", None),
    ],
)
def test_a_file_is_known_by_its_name(path: str, place: object) -> None:
    assert CODEX.place(Path(path)) == place


def test_the_folders_are_where_the_environment_says() -> None:
    assert CODEX.roots({}, Path("/h")) == [Path("/h/.codex/sessions"), Path("/h/.codex/archived_sessions")]
    assert CODEX.roots({"CODEX_HOME": "/c"}, Path("/h")) == [Path("/c/sessions"), Path("/c/archived_sessions")]
    assert CODEX.resume(UUID) == ("codex", "resume", UUID)
