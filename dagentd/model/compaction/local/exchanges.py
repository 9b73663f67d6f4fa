"""A conversation as exchanges: what a user asked, what was said and done for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from dagentd.model.compaction.evidence import Check, ToolUse
from dagentd.model.compaction.local import orders as orders_of
from dagentd.model.compaction.turns import Turn
from dagentd.model.compaction.typed import COMMAND, Typed, typed

# What the program says for a user who refused a call or answered a question; their own words come behind it.
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>)?(?:The user (?:doesn't|does not) want|The tool use was rejected|User rejected"
    r"|The user denied)"
)
_ANSWERED = re.compile(r"\s*(?:User has answered|The user (?:answered|selected|responded)|<answer>)")
_BEHIND = re.compile(
    r"(?:the user (?:said|provided)[^:\n]*:|<feedback>|<answer>|your questions?:)\s*(.{2,4000}?)\s*(?:</feedback>"
    r"|</answer>|\Z)",
    re.S | re.I,
)
_ASKING = re.compile(r"ask|question|followup", re.I)
_WRITING = re.compile(r"edit|write|patch|plan|replace|insert|create", re.I)
_REPEATED = 40  # characters from which on the same message at once again is no second request
_HEARD = 20_000  # characters of a request in many messages; its orders are heard to the last
_STOPPED = re.compile(r"\[Request interrupted")


@dataclass
class Exchange:
    """`asked` is empty for what goes on from before, for a command of the program, and where `wordless`: a message with
    output or a picture, and nothing that the user typed."""

    asked: str = ""
    spoken: list[tuple[str, bool]] = field(default_factory=list)  # by a user, paragraph by paragraph
    sources: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)  # id and text
    uses: list[ToolUse] = field(default_factory=list)
    checks: list[tuple[Check, str]] = field(default_factory=list)
    pasted: str = ""
    stopped: bool = False
    wordless: bool = False

    @cached_property
    def orders(self) -> list[orders_of.Order]:
        return [*orders_of.orders(self.spoken, self.sources[0] if self.sources else "")]

    @cached_property
    def content(self) -> frozenset[str]:
        return orders_of.content(self.asked)

    @property
    def answered(self) -> bool:
        return bool(self.said or self.uses)


def exchanges(turns: Iterable[Turn]) -> list[Exchange]:
    """In order; the first may have no request."""
    found, command = [Exchange()], False
    calls = dict[str, tuple[Exchange, int]]()
    for turn in turns:
        if _STOPPED.search(turn.words[:200]):
            found[-1].stopped = True
        if turn.role == "user":
            said = typed(turn.words) if not command else Typed((), "")
            if not command and found[-1].answered and _is_wordless(said, turn):
                found.append(Exchange(sources=[turn.id], wordless=True))
            if command := COMMAND in turn.words:
                found.append(Exchange(stopped=True))
            if said.text and not (said.text == found[-1].asked and len(said.text) > _REPEATED):
                _asked(found, said, turn)
            else:
                found[-1].pasted += f"\n{said.pasted}" if said.pasted else ""
        elif turn.role == "assistant" and turn.words.strip():
            found[-1].said.append((turn.id, turn.words))
        found[-1].checks += [(check, turn.id) for check in turn.checks]
        for tool in turn.tools:
            use = _taken(tool, turn.id, found[-1], calls)
            if (told := own_words(use)) is not None:
                _asked(found, typed(told), turn)
    return [each for each in found if each.asked or each.answered or each.checks or each.wordless]


def _is_wordless(said: Typed, turn: Turn) -> bool:
    """Whether it says nothing: what is answered next belongs to it, not to the request before. Notices have words."""
    return not said.text and not turn.tools and (bool(said.pasted) or not re.search(r"\w", turn.words))


def _asked(found: list[Exchange], said: Typed, turn: Turn) -> None:
    """Two messages in a row are one request."""
    last = found[-1]
    if not last.asked or last.answered:
        found.append(last := Exchange(said.text))
    elif len(last.asked) < _HEARD:
        last.asked += f"\n{said.text}"
    last.spoken += () if turn.internal else said.spoken
    last.sources.append(turn.id)
    last.pasted += said.pasted


def _taken(tool: ToolUse, source: str, current: Exchange, calls: dict[str, tuple[Exchange, int]]) -> ToolUse:
    """A result goes to its call, in whatever exchange that was; without an id to the last call of its name."""
    key = tool.id or tool.name
    if (not tool.name or tool.input is None) and tool.failed is not None and key in calls:
        exchange, at = calls.pop(key)
        use = replace(exchange.uses[at], result=tool.result, failed=tool.failed)
        exchange.uses[at] = use
        return use
    use = replace(tool, source=source)
    if tool.name and tool.failed is None:
        calls[key] = current, len(current.uses)
    current.uses.append(use)
    return use


def own_words(use: ToolUse) -> str | None:
    """The text that a user typed into a call that they refused, or answered to a question. Only what the program itself
    says for them: a file that begins with its words is no user."""
    asks = _ASKING.search(use.name)
    answers = use.failed is True or asks or _WRITING.search(use.name)
    said = answers and (_REFUSED.match(use.result) or (asks and _ANSWERED.match(use.result)))
    match = _BEHIND.search(use.result) if said else None
    return match[1] if match else None
