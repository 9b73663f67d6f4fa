"""The tools of the MCP server: short answers, written for a model, with ids to go deeper."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

PATIENCE = 60.0  # seconds: the first search of all reads every conversation
_SAID = 1500  # characters of one message
_TITLE = 100

Object = dict[str, Any]
Ask = Callable[..., Any]


class Place(NamedTuple):
    """Where the asking agent works: the root of its checkout, and of its repository."""

    worktree: str
    project: str
    session: str | None  # its own conversation, where it says which that is

    @classmethod
    def of(cls, cwd: str) -> Place:
        """Read off the files that git keeps: to load what reads them better would take twice our memory."""
        worktree = os.path.realpath(cwd)
        while not os.path.exists(os.path.join(worktree, ".git")) and worktree != os.path.dirname(worktree):
            worktree = os.path.dirname(worktree)
        own = os.environ.get("CLAUDE_CODE_SESSION_ID")
        return cls(worktree, _repository(worktree), f"claude-{own}" if own else None)


def _repository(worktree: str) -> str:
    """Where its git folder is, if that knows of it too: a `.git` that came with files of somebody else could name any
    repository of the user, and would be told of it."""
    marker = os.path.join(worktree, ".git")
    if (pointer := _line(marker)) is None or os.path.islink(marker):  # mostly: it is a folder
        return worktree
    own = os.path.realpath(os.path.join(worktree, pointer.removeprefix("gitdir:").strip()))
    back = _line(os.path.join(own, "gitdir"))
    shared = os.path.dirname(os.path.dirname(own))
    known = back is not None and os.path.realpath(os.path.join(own, back.strip())) == os.path.realpath(marker)
    return os.path.dirname(shared) if known and os.path.basename(shared) == ".git" else worktree


def _line(path: str) -> str | None:
    pipe = os.O_NONBLOCK  # which somebody may have put there, and nobody writes to
    try:
        with open(path, encoding="utf-8", errors="surrogateescape",
                  opener=lambda path, flags: os.open(path, flags | pipe)) as file:  # fmt: skip
            return file.read(4096)
    except OSError:
        return None


class Tool(NamedTuple):
    """`fields` are name: (type, what it is); those in `required` must be given."""

    name: str
    about: str
    fields: dict[str, tuple[str, str]]
    required: tuple[str, ...]
    answer: Callable[[Object, Place, Ask], str]
    reads: bool = True

    def described(self) -> Object:
        given = {name: {"type": kind, "description": about} for name, (kind, about) in self.fields.items()}
        schema = {"type": "object", "properties": given, "required": list(self.required), "additionalProperties": False}
        hints = {"readOnlyHint": self.reads, "destructiveHint": False, "openWorldHint": False}
        return {"name": self.name, "description": self.about, "inputSchema": schema, "annotations": hints}


def called(tool: Tool, given: Any, place: Place) -> tuple[str, bool]:
    """Call a tool; the text of its answer, and whether it failed."""
    from dagentd.errors import DagentdError, NotRunning

    if (wrong := _wrong(tool, given)) is not None:
        return wrong, True
    try:
        return tool.answer(given or {}, place, _ask) or "Nothing.", False
    except NotRunning:
        return "dagentd does not run, so nothing could be looked up. The user can start it: dagentd start", True
    except DagentdError as error:
        return f"{error.message}{f' ({error.hint})' if error.hint else ''}", True


def _ask(method: str, **params: Any) -> Any:
    """By a connection of its own: a daemon that was restarted meanwhile is another one."""
    from dagentd.rpc.client import Client

    with Client(timeout=PATIENCE) as daemon:
        return daemon.call(method, **{name: value for name, value in params.items() if value is not None})


def _wrong(tool: Tool, given: Any) -> str | None:
    """Why the arguments cannot be used."""
    if given is not None and not isinstance(given, dict):
        return "Arguments are an object."
    found: Object = given or {}
    if unknown := [name for name in found if name not in tool.fields]:
        return f"{tool.name} has no {unknown[0]!a}; it has {', '.join(tool.fields) or 'no arguments'}."
    for name in tool.required:
        if name not in found:
            return f"{name} is missing: {tool.fields[name][1]}."
    for name, value in found.items():
        kind = tool.fields[name][0]
        if not isinstance(value, str if kind == "string" else int) or isinstance(value, bool):
            return f"{name} must be of type {kind}."
        if value == "" or (isinstance(value, str) and not value.strip()) or (isinstance(value, int) and value < 1):
            return f"{name} is empty or too small."
    return None


# --- answers --------------------------------------------------------------------------------------------------------


def _search(given: Object, place: Place, ask: Ask) -> str:
    asked = {"query": given["query"], "sessionId": given.get("session"), "limit": min(given.get("limit", 8), 30)}
    hits = ask("session.search", project=place.project, redacted=True, **asked)["hits"]
    if not hits:
        return "Nothing found. All words must occur in one message: try fewer, or others."
    lines = [
        f"{_whose(hit['sessionId'], place)} {hit['role']} {_day(hit)} [{hit['messageId']}]\n  {_clean(hit['snippet'])}"
        for hit in hits
    ]
    return "\n".join([*lines, "", "read(session) shows a conversation; brief(session) sums one up."])


def _sessions(given: Object, place: Place, ask: Ask) -> str:
    found = ask("session.list", project=place.project, worktree=given.get("worktree"))["sessions"]
    newest = sorted(found, key=_active, reverse=True)[: min(given.get("limit", 15), 100)]
    lines = [" ".join(filter(None, _listed(each, place))) for each in newest]
    more = len(found) - len(newest)
    return "\n".join([*lines, *([f"({more} older ones; give limit)"] if more else [])]) or "There is no session yet."


def _listed(session: Object, place: Place) -> list[str]:
    where, title = os.path.basename(_clean(str(session.get("worktree") or ""))), _clean(str(session.get("title") or ""))
    return [
        _whose(session["id"], place),
        str(session.get("status") or ""),
        _active(session)[:16],
        where,
        title[:_TITLE],
    ]


def _check_whose(session: str, place: Place, ask: Ask) -> None:
    """A conversation of another repository is none that this agent is told of, though its user may be."""
    from dagentd.errors import NotFound

    about = ask("session.get", project=place.project, sessionId=session)
    if about.get("type") == "followed" and about.get("project") != place.project:
        raise NotFound(f"no conversation {session!a} of this repository is kept", hint="sessions lists those there are")


def _read(given: Object, place: Place, ask: Ask) -> str:
    _check_whose(given["session"], place, ask)
    asked = {"sessionId": given["session"], "before": given.get("before"), "limit": min(given.get("limit", 10), 50)}
    found = ask("session.getHistory", project=place.project, **asked)
    parts = [f"[{each['id']}] {each['role']} {_day(each)}\n{_shown(each)}" for each in found["messages"]]
    first = found["messages"][0]["id"] if found["messages"] else ""
    return (
        "\n\n".join([*parts, *([f"(earlier: before={first})"] if found["more"] else [])]) or "Nothing was said in it."
    )


def _brief(given: Object, place: Place, ask: Ask) -> str:
    asked: Object = {"project": place.project, "tokens": max(200, min(given.get("tokens", 1500), 8000))}
    named = given.get("session")
    if named is None:
        return str(ask("session.brief", worktree=place.worktree, **asked)["brief"])
    from dagentd.errors import DagentdError, NotFound

    try:
        _check_whose(named, place, ask)
        return str(ask("session.brief", sessionId=named, **asked)["brief"])
    except DagentdError as error:
        if error.code != NotFound.code:
            raise
        return str(ask("session.brief", worktree=named, **asked)["brief"])


def _note(given: Object, place: Place, ask: Ask) -> str:
    where = {"project": place.project, "worktree": place.worktree, "sessionId": place.session}
    made = ask("memory.add", text=given["text"], by="agent", **where)
    return f"Noted as {made['id']} for this worktree. It decides nothing until the user confirms it: " \
           f"dagentd remember --confirm {made['id']}"  # fmt: skip


def _usage(given: Object, place: Place, ask: Ask) -> str:
    found = ask("usage.report", project=place.project, by=given.get("by", "day"), since=given.get("since"))
    lines = [_counted(row) for row in found["rows"][-30:]]
    return "\n".join([*lines, _counted({**found["total"], "name": "total"})])


def _counted(row: Object) -> str:
    cost = "" if row.get("cost") is None else f", ${row['cost']:.2f}"
    cache = f"{row['cacheRead']} from cache, {row['cacheWrite']} to cache"
    return f"{_clean(str(row['name']))}: {row['input']} in, {row['output']} out, {cache}{cost}"


def _whose(session: str, place: Place) -> str:
    return f"{session} (this conversation)" if session == place.session else session


def _active(session: Object) -> str:
    return str(session.get("lastActiveAt") or session.get("updatedAt") or "")


def _day(message: Object) -> str:
    return str(message.get("timestamp") or "")[:16]


def _shown(message: Object) -> str:
    text = _clean(str(message.get("content") or ""))  # and then cut: half of a secret is known by no pattern
    uses = (message.get("metadata") or {}).get("toolUse")  # one, or a list of them
    known = [each for each in (uses if isinstance(uses, list) else [uses]) if isinstance(each, dict)]
    names = ", ".join(dict.fromkeys(_clean(str(each.get("name") or each.get("tool") or "a tool")) for each in known))
    cut = text if len(text) <= _SAID else f"{text[:_SAID]}… [{len(text) - _SAID} characters more]"
    return cut + (f"\n[used {names}]" if names else "")


def _clean(text: str) -> str:
    """Without what could steer a terminal, and without secrets: it goes to the agent's provider."""
    from dagentd.model.oneline import visible
    from dagentd.model.redaction import redacted

    return "\n".join(visible(line.replace("\t", "  ")) for line in redacted(text).splitlines())


_SESSION = ("string", "a session's id, as search and sessions give it")
_EITHER = ("string", "a session's id, or the name of a worktree")
_LIMIT, _TOKENS = ("integer", "how many"), ("integer", "at most so many")
TOOLS = {
    tool.name: tool
    for tool in (
        Tool("search", "Find what was said in this repository's agent conversations, in all worktrees, also compacted "
             "or deleted ones. Use it before asking the user about something that may have been said or decided.",
             {"query": ("string", 'words that all occur, or a "phrase in quotes"'), "session": _SESSION,
              "limit": _LIMIT}, ("query",), _search),
        Tool("sessions", "List the conversations of this repository, the last active first.",
             {"worktree": ("string", "only of this worktree"), "limit": _LIMIT}, (), _sessions),
        Tool("read", "Read a conversation from its end: the last messages, then earlier ones by `before`.",
             {"session": _SESSION, "before": ("string", "a message's id"), "limit": _LIMIT}, ("session",), _read),
        Tool("brief", "A hand-over of a session: goal, the user's decisions, what is done, open and failing. Without "
             "a session, of the last one in this worktree.", {"session": _EITHER, "tokens": _TOKENS}, (), _brief),
        Tool("note", "Note a fact for the next session in this worktree, in one or two sentences. It is kept as a note "
             "of an agent, not as a decision.", {"text": ("string", "at most 1000 characters")}, ("text",), _note,
             reads=False),
        Tool("usage", "The tokens that agents took in this repository.",
             {"by": ("string", "day, model, worktree, session or agent"),
              "since": ("string", "a date as 2026-11-01")}, (), _usage),
    )
}  # fmt: skip
