"""Claude Code's transcripts: what is read of real ones, and of what is seldom in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd.agents.conversation import ECHO, Attachment, Message, Result, Transcript, Usage, gather
from dagentd.agents.lines import is_ours
from tests.agents.reading import CLAUDE, EARLY, assistant, conversation, events, line, sample, user

UUID = "0ac5ac35-0774-49b0-a3dc-5bb3dbdff512"


def test_a_real_conversation_is_what_was_said_and_done() -> None:
    found = conversation(CLAUDE, sample("claude-code"))
    assert [(each.role, each.text) for each in found.messages] == [
        ("user", "write the notes"),
        ("assistant", "I write it."),
        ("assistant", "The notes are written."),
        ("user", "ask a subagent"),
        ("assistant", ""),
        ("assistant", "The subagent counted."),
        ("assistant", "The subagent counted."),
        ("user", "/compact"),
        ("user", "make a loud noise"),
        ("assistant", ""),
        ("assistant", ""),
        ("assistant", "Loud."),
        ("user", "enter a worktree"),
        ("assistant", ""),
        ("assistant", "In the worktree now."),
        ("user", "and now?"),
        ("assistant", "In the worktree now."),
    ]
    uses = {use.name: use for message in found.messages for use in message.tool_uses}
    assert list(uses) == ["Write", "Bash", "Agent", "EnterWorktree"]
    assert (uses["Bash"].input["command"], uses["Bash"].result, uses["Bash"].is_error) == ("false", "Exit code 1", True)
    assert (uses["Write"].result or "").startswith("File created successfully at: /home/ada/repo/notes.txt")


def test_lines_of_one_answer_are_one_message_with_its_tools() -> None:
    found = conversation(CLAUDE, sample("claude-code")).messages[1]
    assert found.text == "I write it."
    assert [(use.name, use.result is None) for use in found.tool_uses] == [("Write", False), ("Bash", False)]
    assert found.document()["metadata"]["toolUse"][1]["result"] == "one two"
    assert found.document()["metadata"]["model"] == "claude-sonnet-4-5"


def test_a_compaction_is_a_summary_and_no_users_word() -> None:
    found = conversation(CLAUDE, sample("claude-code"))
    (summary,) = found.summaries
    assert summary.trigger == "manual"
    assert "1. Notes were written." in summary.text
    assert "system-reminder" not in summary.text
    assert found.messages[found.since].text == "/compact"
    assert not any("being continued" in each.text for each in found.messages)


def test_a_conversation_knows_where_it_began_and_where_it_is() -> None:
    found = conversation(CLAUDE, sample("claude-code"))
    assert (found.first.cwd, found.first.branch) == ("/home/ada/repo", "master")
    assert (found.last.cwd, found.last.branch) == ("/home/ada/repo/.claude/worktrees/spike", "worktree-spike")
    assert (found.first.version, found.last.model) == ("2.1.327", "claude-sonnet-4-5")


def test_a_subagents_own_transcript_is_its_conversation_and_in_its_parents_it_is_aside() -> None:
    lines = sample("claude-code-subagent")
    assert [each.text for each in conversation(CLAUDE, lines, Transcript(UUID, "a1")).messages] == [
        "count the files here",
        "",
        "There is one file.",
    ]
    assert conversation(CLAUDE, lines).messages == []
    assert any(isinstance(each, Usage) for each in events(CLAUDE, lines))


def test_an_answer_that_a_fork_has_too_has_the_same_key() -> None:
    def keys(name: str) -> set[str]:
        return {each.key for each in events(CLAUDE, sample(name)) if isinstance(each, Usage) and each.cost is None}

    assert keys("claude-code-fork") - keys("claude-code") == {"msg_0012:req_0012"}
    assert len(keys("claude-code-fork")) == 4


def test_what_it_cost_is_told_by_what_was_added() -> None:
    found = [
        each for each in events(CLAUDE, sample("claude-code")) if isinstance(each, Usage) and each.cost is not None
    ]
    totals = [json.loads(each) for each in sample("claude-code") if b'"cost-state"' in each]
    assert sum(each.cost or 0 for each in found) == pytest.approx(totals[-1]["totalCostUSD"])
    assert len({each.key for each in found}) == len(found)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("<system-reminder>\nsecret\n</system-reminder>\nfix it", "fix it"),
        ([{"type": "text", "text": "<ide_selection>a.py</ide_selection>"}, {"type": "text", "text": "why?"}], "why?"),
        ("why does <system-reminder>x</system-reminder> stand there?", None),
        ("<system-reminder> is never closed", None),
        ("<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>",
         "/review 12"),
        ("<bash-input>git status</bash-input>", "! git status"),
        ("<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>", ""),
        ("<local-command-stdout>done</local-command-stdout>", ""),
        ("[Request interrupted by user for tool use]", ""),
        ([{"type": "image", "source": {"data": "AAAA"}}, {"type": "text", "text": "this"}], "[image]\nthis"),
    ],
)  # fmt: skip
def test_only_what_a_user_typed_is_read(content: object, read: str | None) -> None:
    found = [each.text for each in conversation(CLAUDE, [user(content)]).messages]
    assert found == ([content] if read is None else [read] if read else [])


def test_plumbing_is_left_out() -> None:
    lines = [
        user("told to the model", isMeta=True),
        user("<task-notification>done</task-notification>", origin={"kind": "task-notification"}),
        line(
            type="attachment", uuid="x", attachment={"type": "hook_additional_context", "content": ["told by a hook"]}
        ),
        line(type="api-request-blob", message={"content": "told again"}),
        line(type="never-seen-before", message={"role": "user", "content": "who knows"}),
        assistant([{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
        assistant([{"type": "thinking", "thinking": "hm", "signature": "x"}]),
    ]
    assert conversation(CLAUDE, lines).messages == []


def test_what_a_user_typed_meanwhile_is_read() -> None:
    queued = {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}
    told = {"type": "queued_command", "prompt": "a task is done", "commandMode": "task-notification"}
    lines = [line(type="attachment", uuid=str(number), attachment=each) for number, each in enumerate((queued, told))]
    assert [(each.role, each.text) for each in conversation(CLAUDE, lines).messages] == [("user", "and the tests")]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("mcp__plugin_dagentd_dagentd__search", {"query": "login"}),
        ("mcp__dagentd__brief", {}),
        ("Bash", {"command": "cd /x && dagentd search login"}),
        ("Bash", {"command": "cd /x\ntimeout 5 .venv/bin/dagentd history claude-1"}),
        ("shell", {"command": ["bash", "-lc", "dagentd brief"]}),
    ],
)
def test_what_dagentd_said_is_not_read_again(name: str, given: object) -> None:
    call = {"type": "tool_use", "id": "t1", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "what was said in May"}]}
    (message,) = conversation(CLAUDE, [assistant([call]), user([result])]).messages
    assert message.tool_uses[0].result == ECHO


def test_a_long_command_holds_nobody_up() -> None:
    """It took as long as its square: a command of a megabyte would have stopped the daemon for hours."""
    for command in ("(" * 1_000_000, "; " * 500_000, "dagentd " * 100_000, f"dagentd{' ' * 1_000_000}"):
        assert not is_ours("Bash", {"command": command})


@pytest.mark.parametrize(
    ("told", "expected"),
    [("2026-11-18T12:00:00+02:00", "2026-11-18T10:00:00.000Z"), ("9999-12-31T23:00:00-14:00", ""), ("soon", ""),
     (7, ""), (None, "")],
)  # fmt: skip
def test_what_is_no_moment_is_none(told: object, expected: str) -> None:
    (message,) = conversation(CLAUDE, [line(type="user", timestamp=told, message={"content": "hello"})]).messages
    assert message.at == expected


def test_results_whose_calls_are_missing_are_no_users_words() -> None:
    results = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"late {number}"} for number in (1, 2)]
    found = conversation(CLAUDE, [user([*results, {"type": "text", "text": "stop"}])]).messages
    told = [(each.role, each.text, [use.result for use in each.tool_uses]) for each in found]
    assert told == [("assistant", "", ["late 1"]), ("assistant", "", ["late 2"]), ("user", "stop", [])]


def test_a_line_that_comes_again_adds_nothing() -> None:
    first, second = (
        assistant([{"type": "text", "text": "one"}], "a1"),
        assistant([{"type": "text", "text": "two"}], "a2"),
    )
    assert [each.text for each in conversation(CLAUDE, [first, second, second, first]).messages] == ["one\n\ntwo"]


def test_answers_of_two_terminals_do_not_mix() -> None:
    one = [assistant([{"type": "text", "text": text}], f"a{text}", "msg_1") for text in ("1", "2")]
    other = [assistant([{"type": "text", "text": text}], f"b{text}", "msg_2") for text in ("3", "4")]
    found = conversation(CLAUDE, [one[0], other[0], one[1], other[1]]).messages
    assert [each.text for each in found] == ["1\n\n2", "3\n\n4"]


def test_a_users_title_stays() -> None:
    lines = [line(type="ai-title", aiTitle="Agent's"), line(type="custom-title", customTitle="Mine")]
    title = conversation(CLAUDE, [*lines, lines[0]]).title
    assert title is not None
    assert title.text == "Mine"


def test_reading_goes_on_from_a_state_as_if_it_had_never_stopped() -> None:
    lines, transcript = sample("claude-code"), Transcript(UUID)
    reader = CLAUDE.reader(transcript, None)
    found = []
    for each in lines:
        reader = CLAUDE.reader(transcript, json.loads(json.dumps(reader.state())))
        found += reader.feed(each)
    assert found == events(CLAUDE, lines, transcript)


def test_a_state_stays_small() -> None:
    reader = CLAUDE.reader(Transcript(UUID), None)
    for number in range(2000):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "x" * 1000}}
        reader.feed(assistant([call], f"a{number}", f"msg_{number}"))
    assert len(json.dumps(reader.state())) < 10_000


@pytest.mark.skipif(not EARLY.exists(), reason="the recorded conversation of early 2026 is not beside this repository")
def test_a_recorded_conversation_of_early_2026() -> None:
    lines = EARLY.read_bytes().splitlines(keepends=True)
    told = events(CLAUDE, lines)
    found = gather(told)
    assert [summary.trigger for summary in found.summaries] == ["auto", "auto"]
    results = [each for each in told if isinstance(each, Result)]
    asked = [use for each in found.messages for use in each.tool_uses]
    assert len(results) == len(asked) == sum(each.count(b'"type":"tool_result"') for each in lines)
    assert all(use.result is not None and use.name for use in asked)
    assert len({each.key for each in told if isinstance(each, Usage)}) == 194
    assert sum(isinstance(each, Message) and each.role == "user" for each in told) == 28


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"-home-ada-repo/{UUID}.jsonl", Transcript(UUID)),
        (f"-home-ada-repo/{UUID}/subagents/agent-a5a28.jsonl", Transcript(UUID, "a5a28")),
        (f"-home-ada-repo/{UUID}/subagents/agent-a5a28.meta.json", Attachment(UUID, "subagents/agent-a5a28.meta.json")),
        (f"-home-ada-repo/{UUID}/tool-results/b3.txt", Attachment(UUID, "tool-results/b3.txt")),
        ("-home-ada-repo/memory/MEMORY.md", None),
        ("-home-ada-repo/notes.jsonl", None),
        (f"{UUID}.jsonl", None),
        (f"a/b/{UUID}.jsonl", None),
    ],
)
def test_a_file_is_known_by_its_place(path: str, place: object) -> None:
    assert CLAUDE.place(Path(path)) == place


def test_the_folder_is_where_the_environment_says() -> None:
    assert CLAUDE.roots({}, Path("/home/ada")) == [Path("/home/ada/.claude/projects")]
    assert CLAUDE.roots({"CLAUDE_CONFIG_DIR": "/etc/claude"}, Path("/home/ada")) == [Path("/etc/claude/projects")]
    assert CLAUDE.resume(UUID) == ("claude", "--resume", UUID)
