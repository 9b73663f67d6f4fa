"""Hand-overs: what is known of a session, put together for whoever goes on with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dagentd.adapters import clock, tokens
from dagentd.jobs.scales import Sizes
from dagentd.model import brief
from dagentd.model.brief import Handover
from dagentd.model.compaction import local
from dagentd.model.compaction.items import Record, record_of
from dagentd.model.compaction.turns import turn
from dagentd.model.redaction import redacted, redacted_value
from dagentd.settings import Settings
from dagentd.store.memory import Entry
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store

_LATEST = 500  # messages in chat that are read for it


def of_session(store: Store, session: Session, about: dict[str, Any], settings: Settings, limit: int) -> str:
    """Of a session of ours: its checkpoint, and what was said since, which is summed up by rules and not kept."""
    said, _ = session.messages(_LATEST, include_internal=True)
    room = max(limit, settings.compaction.checkpoint_tokens)
    record = summed_up(session.checkpoint(), said, room, tokens.count)
    context = session.read("context") or {}
    goal = record.goal or str(context.get("featureGoal") or "")
    named = {"branch": context.get("gitBranch"), "featureName": context.get("featureName")}
    commits = context.get("recentCommits")
    remembered = store.memory.told([session.folder.feature.id], str(session.folder.feature.tree.worktree))
    known = Handover({**named, **about}, replace(record, goal=goal), last_exchange(said),
                     commits=[str(each) for each in commits] if isinstance(commits, list) else ())  # fmt: skip
    return written(known, remembered, settings, limit)


def of_conversation(
    about: dict[str, Any], checkpoint: dict[str, Any] | None, said: Sequence[dict[str, Any]],
    remembered: Sequence[Entry], settings: Settings, limit: int,
) -> str:  # fmt: skip
    """Of another agent's conversation: its checkpoint is of all of it."""
    record = record_of(checkpoint) if checkpoint else Record()
    summary = (checkpoint or {}).get("agentSummary")
    told = str(summary.get("text") or "") if isinstance(summary, dict) else ""
    return written(Handover(about, record, last_exchange(said), agent_summary=told), remembered, settings, limit)


def written(known: Handover, remembered: Sequence[Entry], settings: Settings, limit: int) -> str:
    decided, noted = ([each.text for each in remembered if each.decides is kind] for kind in (True, False))
    safe = _without_secrets(replace(known, decided=decided, noted=noted))
    return redacted(brief.compose(safe, limit, Sizes(settings).count))


def _without_secrets(known: Handover) -> Handover:
    """Before anything is cut: half of a secret is known by no pattern."""
    record = known.record
    items = tuple(replace(item, text=redacted(item.text), quote=redacted(item.quote)) for item in record.items)
    return Handover(
        redacted_value(dict(known.session)),
        Record(items, redacted(record.goal), redacted(record.next)),
        redacted_value(list(known.last)),
        redacted_value(list(known.decided)),
        redacted_value(list(known.noted)),
        redacted_value(list(known.commits)),
        redacted(known.agent_summary),
    )


def summed_up(
    checkpoint: dict[str, Any] | None, said: Sequence[dict[str, Any]], room: int, count: Callable[[str], int]
) -> Record:
    """A checkpoint and what was said since, by rules; it is not kept."""
    turns = [turn(redacted_value(message) | {"id": message["id"]}) for message in said]
    return local.compacted(record_of(checkpoint), turns, room, count, clock.stamp())[0]


def last_exchange(said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The user's last message, and the last answer after it."""
    spoken = [each for each in said if not (each.get("metadata") or {}).get("internal") and each.get("content")]
    begin = next((at for at in reversed(range(len(spoken))) if spoken[at].get("role") == "user"), None)
    if begin is None:
        return spoken[-1:]
    answers = [each for each in spoken[begin + 1 :] if each.get("role") == "assistant"]
    return [spoken[begin], *answers[-1:]]
