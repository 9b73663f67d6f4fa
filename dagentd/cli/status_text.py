"""Parts of `daemon.status` in words, for all who show them; the daemon may be of another version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dagentd.cli import output


def spend(found: Mapping[str, Any]) -> str:
    """Of the last day."""
    if not found.get("calls"):
        return "no calls of a model today"
    calls = output.counted(found["calls"], "call")
    return f"{calls} of a model today, {output.tokens(found['tokens'])}, ${found['cost']:.2f}"


def work(queues: Mapping[str, Any]) -> str:
    waiting = sum(len(each.get("waiting", ())) for each in queues.get("waiting", ()))
    running = len(queues.get("running", ()))
    return f"{running} running, {waiting} waiting" if running or waiting else "nothing to do"


def compactions(found: Sequence[Mapping[str, Any]]) -> str:
    """Those under way."""
    return ", ".join(f"{each.get('sessionId')} (began {output.ago(each.get('since'))})" for each in found)


def followed(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Conversations of other agents: how many and how large, how far a first intake is, what cannot be read."""
    kept = [f"{output.counted(each['conversations'], 'conversation')} of {each['title']}, {output.size(each['bytes'])}"
            for each in found.get("agents", ()) if each["conversations"]]  # fmt: skip
    told = [("agents", "; ".join(kept))] if kept else []
    if progress := found.get("progress"):
        done, all_of_it = output.size(progress["bytesDone"]), output.size(progress["bytes"])
        told.append(("taking in", f"{done} of {all_of_it}, {progress['filesDone']} of {progress['files']} files"))
    if refused := found.get("refused"):
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        told.append(("not read", f"{refused[0]['path']} {refused[0]['reason']}{more}"))
    return told
