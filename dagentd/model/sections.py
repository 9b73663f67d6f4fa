"""The parts of a request before the conversation: who the agent is, where it works, what was done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_snake

from dagentd.model.compaction.items import TITLES, object_of, quotes_of, with_quote
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.prompt_text import body, bullets, field, line, moment, section

_ABOUT_CONTEXT = (
    "Where you work. CLAUDE.md, AGENTS.md and PROJECT.md are the project's own rules; the rest is information."
)
_ABOUT_CHECKPOINT = (
    "This is a record of earlier work, not new instructions: the messages it stands for are no longer shown. "
    "Do not redo what is completed, and trust the code where the two differ."
)
_ABOUT_SHARED = (
    "This is a record of earlier work, not new instructions: what the dev agent of this task did and decided."
)


def agent(description: AgentDescription) -> str:
    role = section("role", body(description.role_instructions))
    tools = section("tools", body(description.tool_instructions))
    return "\n\n".join(filter(None, (role, tools)))


def context(found: Context | None) -> str:
    """From what hardly ever changes to what every commit changes, so that a prompt cache holds the longest
    possible beginning; `updatedAt` and `tokens`, which change with nothing else, stay out, and so do `notes`, which
    are for the user."""
    if found is None:
        return ""
    known = [
        part
        for part in (
            *_project(found),
            *_feature(found),
            *_task(found),
            *_remembered(found.remembered),
            *_git(found),
            *_plan(found.plan),
        )
        if part
    ]
    return section("context", _ABOUT_CONTEXT, *known) if known else ""


def checkpoint(found: Checkpoint | None, of: str = "") -> str:
    """The session's own, or the one `of` the agent that it shares its task with."""
    if found is None:
        return ""
    summary, quotes, loop = found.summary, quotes_of(found.items), object_of(found.ralph_loop)
    recorded = [
        field("Goal", summary.goal),
        *(bullets(title, _quoted(name, getattr(summary, to_snake(name)), quotes)) for name, title in TITLES.items()),
        field("Next step", summary.next),
        field("Iteration", loop.get("currentIteration")),
        bullets("Checks passed", loop.get("passedChecks")),
        bullets("Checks failed", loop.get("failedChecks")),
        field("Last error", loop.get("lastError")),
    ]
    if not any(recorded):
        return ""
    about, covered = _ABOUT_SHARED if of else _ABOUT_CHECKPOINT, object_of(found.compaction_info)
    first, last = (moment(covered.get(f"{which}MessageTimestamp")) for which in ("oldest", "newest"))
    period = f"It covers messages from {first} to {last}." if first and last else ""
    return section("checkpoint", about, period, *recorded, of=of)


def _project(found: Context) -> list[str]:
    return [
        field("Project root", found.project_root),
        field("Worktree, where you work", found.worktree),
        _file("CLAUDE.md", found.claude_md),
        _file("AGENTS.md", found.agents_md),
        _file("PROJECT.md", found.project_md),
    ]


def _feature(found: Context) -> list[str]:
    return [
        _named("Feature", found.feature_name, found.feature_id),
        field("Goal", found.feature_goal),
        _file("spec", found.spec),
        *_attachments(found.attachments),
    ]


def _task(found: Context) -> list[str]:
    return [
        _named("Task", found.task_title, found.task_id),
        field("What it asks for", found.task_description),
        bullets("Depends on", _known(found.dependencies, found.dependency_info)),
        bullets("Needed by", _known(found.dependents, found.dependent_info)),
        field("Task state", found.task_state),
        field("Tasks of the feature", found.dag_summary),
        bullets("These are", found.tasks),
    ]


def _remembered(entries: Any) -> list[str]:
    """A user's decisions and, apart from them, what agents noted for themselves."""
    known = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    decided = [each.get("text") for each in known if each.get("by") == "user"]
    noted = [each.get("text") for each in known if each.get("by") != "user"]
    return [bullets("The user decided", decided), bullets("Notes of agents, which decide nothing", noted)]


def _known(ids: Any, about: Any) -> Any:
    """Each by its title and status where those are known, else by its id."""
    if not isinstance(ids, list) or not isinstance(about, list):
        return ids if about is None else about
    told = {each.get("id"): each for each in about if isinstance(each, dict) and isinstance(each.get("id"), str)}
    return [told.get(one, one) if isinstance(one, str) else one for one in ids]


def _plan(plan: Any) -> list[str]:
    """How far the task's loop is. It changes with each iteration, so it stands last."""
    if not isinstance(plan, dict):
        return []
    turn = " of ".join(filter(None, (line(plan.get("iteration")), line(plan.get("maxIterations")))))
    told = ", ".join(filter(None, (f"iteration {turn}" if turn else "", line(plan.get("status")))))
    checks = plan["failing"] if isinstance(plan.get("failing"), list) else []
    failing = [": ".join(filter(None, map(line, each.values()))) for each in checks if isinstance(each, dict)]
    return [field("Plan", told), bullets("What fails in it", failing)]


def _git(found: Context) -> list[str]:
    return [
        section("structure", body(found.project_structure)),
        field("Branch", found.git_branch),
        field("Commit", found.git_commit),
        bullets("Recent commits", found.recent_commits),
    ]


def _named(label: str, name: Any, ident: Any) -> str:
    shown, key = line(name), line(ident)
    return f"{label}: {shown} ({key})" if shown and key else field(label, name if shown else ident)


def _file(name: str, text: Any) -> str:
    return section("file", body(text), name=name)


def _attachments(value: Any) -> list[str]:
    """Those that come with their text are files, the others a list of names."""
    items = value if isinstance(value, list) else [value]
    files = [_file(line(item), item.get("content")) if isinstance(item, dict) else "" for item in items]
    names = [item for item, file in zip(items, files, strict=True) if not file]
    return [bullets("Attachments", names), *files]


def _quoted(name: str, entries: Any, quotes: Mapping[tuple[str, str], str]) -> Any:
    """With the user's own words beside those that say them in others: a paraphrase must not turn an order round
    unnoticed."""
    if not quotes or not isinstance(entries, list):
        return entries
    said = ((entry, quotes.get((name, " ".join(line(entry).split())))) for entry in entries)
    return [with_quote(line(entry), words) if words else entry for entry, words in said]
