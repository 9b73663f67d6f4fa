"""A session as Markdown, as a person reads it."""

from __future__ import annotations

from typing import Any

from dagentd.model.export import as_markdown

SESSION = {
    "id": "pm-feature-login", "status": "active", "agentType": "pm", "featureId": "login", "project": "/shop",
    "worktree": "/shop/.dagent-worktrees/login", "createdAt": "2026-11-16T09:00:00.000Z",
    "updatedAt": "2026-11-16T10:00:00.000Z",
}  # fmt: skip
WHOLE = """\
# pm-feature-login

- Status: `active`
- Agent: `pm`
- Feature: `login`
- Project: `/shop`
- Worktree: `/shop/.dagent-worktrees/login`
- Created: 2026-11-16 09:00:00 UTC
- Last changed: 2026-11-16 10:00:00 UTC
- Messages: 4, of which 2 are in chat

*Exported 2026-11-16 11:00:00 UTC.*

## Checkpoint

Version 2, 2026-11-16 09:30:00 UTC.

### Decisions

- Use PostgreSQL 16 (pinned)

### Pending

- Write the tests

## Conversation

### User · 2026-11-16 09:01:00 UTC

> Use PostgreSQL 16.<br>
> And write tests.

### Assistant · 2026-11-16 09:02:00 UTC

> I look first.

<details><summary>Tool call: Bash</summary>

```json
{"command": "psql --version"}
```

</details>

---

*Compacted, 2026-11-16 09:30:00 UTC: 2 messages above left chat; what came of it is in version 2 of the checkpoint.*

### User · 2026-11-16 09:40:00 UTC

<details><summary>Tool error: Bash</summary>

```
psql: not found
```

</details>

<details><summary>System · 2026-11-16 09:41:00 UTC · internal</summary>

> iteration 2

</details>
"""


def said(id: str, role: str, at: str, content: Any, **metadata: Any) -> dict[str, Any]:
    return {"id": id, "role": role, "timestamp": f"2026-11-16T{at}:00.000Z", "content": content, "metadata": metadata}


def export(**more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"checkpoint": None, "messages": [], "inChat": [], "moves": []}
    return {"version": 1, "exportedAt": "2026-11-16T11:00:00.000Z", "session": SESSION, **empty, **more}


def test_all_of_it() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "psql --version"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "psql: not found", "is_error": True}
    checkpoint = {
        "version": 2, "updatedAt": "2026-11-16T09:30:00.000Z",
        "summary": {"decisions": ["Use PostgreSQL 16"], "pending": ["Write the tests"]},
        "items": [{"id": "i1", "list": "decisions", "text": "Use PostgreSQL 16", "sources": [], "pinned": True}],
    }  # fmt: skip
    left = {"at": "2026-11-16T09:30:00.000Z", "what": "left", "why": "compacted", "messageIds": ["1", "2"]}
    shown = as_markdown(
        export(
            checkpoint=checkpoint,
            messages=[
                said("1", "user", "09:01", "Use PostgreSQL 16.\nAnd write tests."),
                said("2", "assistant", "09:02", [{"type": "text", "text": "I look first."}, call]),
                said("3", "user", "09:40", [result]),
                said("4", "system", "09:41", "iteration 2", internal=True),
            ],
            inChat=["3", "4"],
            moves=[{**left, "checkpointVersion": 2}],
        )
    )
    assert shown == WHOLE.replace("<br>", "  ")


def test_one_in_which_nothing_was_said_and_whose_worktree_is_gone() -> None:
    shown = as_markdown(export(session={**SESSION, "worktree": None, "gone": True}))
    assert "- Its worktree is gone.\n" in shown and "Worktree:" not in shown and "Checkpoint" not in shown
    assert shown.endswith("## Conversation\n\nNothing was said yet.\n")


def test_what_left_for_other_reasons_and_what_came_back() -> None:
    at = "2026-11-16T09:30:00.000Z"
    moves = [
        {"at": at, "what": "left", "why": "compacted", "messageIds": ["1"], "checkpointVersion": 2},
        {"at": at, "what": "back", "messageIds": ["1"], "checkpointVersion": 3},
        {"at": at, "what": "left", "why": "cleared", "messageIds": ["1", "2"]},
        {"at": at, "what": "left", "why": "external", "messageIds": ["unknown"]},
        {"at": at, "what": "left", "why": 7, "messageIds": ["2"]},
    ]
    messages = [said("1", "user", "09:01", "a"), said("2", "user", "09:02", "b")]
    shown = as_markdown(export(messages=messages, moves=moves))
    marks = [line for line in shown.splitlines() if line.startswith("*")][1:]
    assert marks == [
        "*Compacted, 2026-11-16 09:30:00 UTC: 1 message above left chat; "
        "what came of it is in version 2 of the checkpoint.*",
        "*Brought back, 2026-11-16 09:30:00 UTC: 1 message above returned to chat.*",
        "*Cleared, 2026-11-16 09:30:00 UTC: 2 messages above left chat.*",
        "*Removed, 2026-11-16 09:30:00 UTC: 1 message above left chat.*",
    ]


def test_tool_uses_of_the_metadata_and_what_is_no_text() -> None:
    use = {"name": "Read", "input": {"path": "a.py"}, "result": "```\n# Not a heading\n```"}
    messages = [said("1", "assistant", "09:01", "", toolUse=use), {"id": "2", "content": None}]
    shown = as_markdown(export(messages=messages))
    assert '```json\n{"path": "a.py"}\n```\n\n````\n```\n# Not a heading\n```\n````\n\n</details>' in shown
    assert shown.endswith("### Unknown\n\n> (empty)\n")


def test_the_goal_the_facts_and_the_words_behind_an_item_are_exported() -> None:
    item = {"id": "a", "list": "decisions", "text": "Writes are allowed", "sources": [], "quote": "do NOT allow writes"}
    summary = {"decisions": ["Writes are allowed"], "goal": "a read-only API", "next": "deploy", "facts": ["port 5433"]}
    exported = {"session": SESSION, "checkpoint": {"version": 1, "summary": summary, "items": [item]}, "messages": [],
                "inChat": [], "moves": [], "exportedAt": "2026-11-16T11:00:00.000Z"}  # fmt: skip
    text = as_markdown(exported)
    for wanted in ("Goal: a read-only API", "Next step: deploy", "### Facts\n\n- port 5433", '"do NOT allow writes"'):
        assert wanted in text
