"""`dagentd compact`, `dagentd undo` and `dagentd pin`: a session's messages become a checkpoint, and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import session_argument
from dagentd.cli.project import json_option, project_option, worktree_option
from dagentd.cli.verbs import Verbs, ask, asking
from dagentd.model.compaction.items import DECISIONS_FIRST, TITLES, with_quote

_LONG = 7500.0  # seconds: the daemon gives up before, after twice the longest compaction.timeout
_TOLD = {"goal": "goal", "next": "next step"}
_METHODS = {"local": "by rules", "anthropic": "by a model", "claude-cli": "by the claude command"}


@click.command()
@session_argument
@click.option("--preview", is_flag=True, help="Show what would change, and ask before it is done.")
@click.option("--again", is_flag=True, help="Once more from history, by a model, what was compacted without one.")
@project_option
@worktree_option
@json_option
def compact(session: str, preview: bool, again: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Let a session's messages become items of its checkpoint.

    The messages stay in history, and `dagentd undo` brings them back into chat.
    """
    if preview and again:
        raise click.UsageError("--preview is of a first compaction, not of --again.")
    with asking(where, _LONG) as verbs:
        whose = {"sessionId": session, "worktree": worktree}
        if preview:
            _preview(verbs, whose, as_json)
        else:
            _tell(session, verbs.call("session.forceCompact", **whose, again=again), as_json)


@click.command()
@session_argument
@project_option
@worktree_option
@json_option
def undo(session: str, where: Path, worktree: str | None, as_json: bool) -> None:
    """Take the last compaction of a session back.

    May be repeated: each time the one before it is taken back.
    """
    done = ask(where, "session.undoCompaction", sessionId=session, worktree=worktree)
    if as_json:
        output.print_json(done)
    else:
        count = output.counted(done["messagesRestored"], "message")
        output.line(f"{count} {'is' if done['messagesRestored'] == 1 else 'are'} back in the chat of {session}.")


@click.command()
@session_argument
@click.argument("what", metavar="ID")
@click.option("--message", is_flag=True, help="ID is of a message, which then stays in chat.")
@click.option("--off", is_flag=True, help="Let it go again.")
@project_option
@worktree_option
def pin(session: str, what: str, message: bool, off: bool, where: Path, worktree: str | None) -> None:
    """Keep an item of the checkpoint, or a message in chat.

    It then stays, whatever is compacted. `dagentd show SESSION` shows the ids of the items, and
    `dagentd messages SESSION --json` those of the messages.
    """
    kind = {"messageId": what} if message else {"itemId": what}
    ask(where, "session.pin", sessionId=session, worktree=worktree, **kind, pinned=not off)
    output.line(f"{what} {'may go' if off else 'stays'}.")


# --- telling --------------------------------------------------------------------------------------------------


def _preview(verbs: Verbs, whose: dict[str, Any], as_json: bool) -> None:
    found, session = verbs.call("session.previewCompaction", **whose), whose["sessionId"]
    if as_json:
        output.print_json(found)
        return
    _print_diff(session, found)
    if _gains(found) and output.on_terminal() and output.can_ask() and click.confirm("\nDo it?"):
        _tell(session, verbs.call("session.forceCompact", **whose, proposalId=found["proposalId"]), as_json)


def _tell(session: str, done: dict[str, Any], as_json: bool) -> None:
    if as_json:
        output.print_json(done)
        return
    if not done["messagesCompacted"]:
        output.line(f"Nothing in the chat of {session} can be compacted.")
        return
    left = output.counted(done["messagesCompacted"], "message")
    output.line(
        f"{left} left the chat of {session}: {output.tokens(done['tokensReclaimed'])} less, {_METHODS[done['method']]}."
    )
    _note(done)
    output.line(f"`dagentd undo {session}` brings them back.")


def _gains(found: dict[str, Any]) -> bool:
    """A checkpoint of a few short messages may be longer than they are."""
    return bool(found["proposalId"]) and found["tokensAfter"] < found["tokensBefore"]


def _note(told: dict[str, Any]) -> None:
    if told.get("note"):
        output.line(f"! {told['note']}{'; it was done without a model' if told['method'] == 'local' else ''}.")
    if told.get("remains"):
        output.line(f"! {told['remains']}.")


def _print_diff(session: str, found: dict[str, Any]) -> None:
    if not found["proposalId"]:
        output.line(f"Nothing in the chat of {session} can be compacted.")
        return
    sizes = f"{output.tokens(found['tokensBefore'])} become {output.tokens(found['tokensAfter'])}"
    leaving = output.counted(len(found["messages"]), "message")
    output.line(f"{leaving} would leave the chat of {session}: {sizes}, {_METHODS[found['method']]}.")
    if not _gains(found):
        output.line("! Nothing is gained by that: the checkpoint would be no shorter than they are.")
    _note(found)
    summary = found["checkpoint"]["summary"]
    if told := [(title, summary[key]) for key, title in _TOLD.items() if summary.get(key)]:
        output.line()
        output.fields(told)
    for name, title in DECISIONS_FIRST.items():
        if lines := _lines(found, name):
            output.line()
            output.heading(title)
        for each in lines:
            output.line(f"  {each}")
    if found["itemsLeft"]:
        output.line(f"\n{found['itemsLeft']} older items would leave the checkpoint; they stay in history.")


def _lines(found: dict[str, Any], name: str) -> list[str]:
    """The changes of one list: `+` is new, `>` comes from another list, `~` replaces something, `-` is over."""
    added = [f"+ {_told(each)}" for each in found["added"] if each["list"] == name]
    moved = [f"> {_told(e)} (from {TITLES[e['before']['list']].lower()})" for e in found["moved"] if e["list"] == name]
    other = [f"~ {_told(e)} (was: {e['before']['text']})" for e in found["superseded"] if e["list"] == name]
    over = [f"- {each['text']} (no longer open)" for each in found["resolved"] if each["list"] == name]
    return [*added, *moved, *other, *over]


def _told(each: dict[str, Any]) -> str:
    return with_quote(each["text"], each.get("quote", ""))
