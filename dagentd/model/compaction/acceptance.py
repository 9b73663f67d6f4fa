"""Whether operations of a model may be performed: each is judged alone, and rests on what was really said."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from dagentd.model.compaction import operations
from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.local.exchanges import own_words
from dagentd.model.compaction.local.orders import is_order
from dagentd.model.compaction.operations import Add, Drop, ListName, Move, Operation, Raw, Resolve, Set, Supersede
from dagentd.model.compaction.turns import Turn
from dagentd.model.compaction.typed import sentences, trimmed, typed
from dagentd.model.jsontext import Undecodable
from dagentd.model.prompt_text import json_text
from dagentd.model.redaction import redacted

# What a reader would take for a fact, and whether it was said: paths, numbers, names, options, quoted text.

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# What everybody calls things in prose, whatever they are called in the messages.
_COMMON = (
    "api", "cli", "css", "csv", "gui", "html", "http", "https", "json", "readme", "rest", "sql", "todo", "url", "utc",
)  # fmt: skip
_EXACT = re.compile(
    r"`(?P<code>[^`\n]{1,200})`|(?P<path>(?:[\w.@~-]+)?(?:/[\w.@~-]+)+/?|\b[\w-]+\.[A-Za-z]\w{1,5}\b)"
    r"|(?P<name>\b[A-Za-z]\w*_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b|\b[A-Z][A-Z0-9]{2,}\b|--[a-z][\w-]+)"
    r"|(?<![\w.])v?(?P<number>\d+(?:[.,:_]\d+)*)"
)
_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")  # 10,000 and 10_000 are 10000


def plain(text: str) -> str:
    """As `missing` wants what was said."""
    return " ".join(_GROUPED.sub("", text).lower().split())


def missing_facts(text: str, said: str) -> list[str]:
    """The facts of a text that were not said; `said` is plain."""
    return [match[0].strip() for match in _EXACT.finditer(text) if not _occurs(match, said)]


def _occurs(exact: re.Match[str], said: str) -> bool:
    if exact["number"]:
        return _number_occurs(plain(exact["number"]), said)
    wanted = plain(exact[exact.lastgroup or 0]).strip(".,:;").rstrip("/")
    if wanted in said or wanted in _COMMON:
        return True
    # Words, said apart, may only look like a path: `create/update/delete`, `Node.js`. A real path stays whole.
    in_words = exact["path"] and re.fullmatch(r"[a-z]+(?:/[a-z]+)+|[a-z]+\.js", wanted)
    return bool(in_words) and all(word in said for word in wanted.removesuffix(".js").split("/"))


def _number_occurs(wanted: str, said: str) -> bool:
    if re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(wanted)}(?!\d)", said):
        return True
    names = [words[int(wanted)] for words in (_WORDS, _ORDINALS) if wanted.isdecimal() and int(wanted) < len(words)]
    return any(re.search(rf"\b{name}\b", said) for name in names)


_LONGEST, _FACT, _QUOTED = 600, 120, 240  # characters of an item, of a fact, and of a user's words
_THEIRS = ("decisions", "pending")  # the lists of what only who takes part in the conversation can say


class Unfounded(Exception):
    """str() says why, in words for whoever answered."""


@dataclass(frozen=True)
class Bad:
    """An operation that is not taken, as it was written, and why."""

    raw: Raw
    why: str


class Judge:
    """Of the answers about one portion. `named` are its messages by the names that they have there."""

    def __init__(self, record: Record, named: Mapping[str, Turn]) -> None:
        self._items = {item.id: item for item in record.items}
        self._record, self._named = record, named
        self._changed: set[str] = set()
        self._said = cache(lambda alias: plain(_said_in(named[alias])))
        self._typed = cache(lambda alias: _typed_by_user(named[alias]))
        self._shown = cache(lambda alias: plain(_all_of(named[alias])))

    def judge(self, answered: Iterable[Raw]) -> tuple[list[Operation], list[Bad]]:
        """Judge operations: those taken, complete and with the messages by their own ids, and those that are not."""
        good, bad = list[Operation](), list[Bad]()
        for raw in answered:
            try:
                good.append(self._taken(operations.parse_operation(raw)))
            except (Undecodable, Unfounded) as error:
                bad.append(Bad(raw, str(error)))
        return good, bad

    def _taken(self, operation: Operation) -> Operation:
        item = None if isinstance(operation, Add | Set) else self._free(operation)
        cited = [alias for alias in operation.sources if alias in self._named]
        if isinstance(operation, Set):
            cited = self._completed(operation.text, "", item, cited)
            return replace(operation, text=redacted(operation.text), sources=self._ids(cited))
        if isinstance(operation, Add | Supersede) or (isinstance(operation, Move) and operation.text):
            taken: Operation = self._worded(operation, item, cited)
        else:
            if not isinstance(operation, Drop):
                _check_evidence(operation.to if isinstance(operation, Move) else "", self._turns(cited), True)
            taken = replace(operation, sources=self._ids(cited))
        if item is not None:
            self._changed.add(item.id)
        return taken

    def _worded(self, operation: Add | Move | Supersede, item: Item | None, cited: list[str]) -> Operation:
        """With all its sources, and with the user's words where it has a user's order or wish in its own."""
        given: ListName | str = operation.list if isinstance(operation, Add) else (item.list if item else "")
        target = operation.to if isinstance(operation, Move) else given
        cited = self._completed(operation.text, target, item, cited)
        turns = self._turns(cited)
        users = list(filter(None, map(self._typed, cited)))
        if target == "decisions" and not users:
            if not isinstance(operation, Add):
                raise Unfounded("a decision is superseded only by what a user said: cite that message")
            is_fact = len(operation.text) <= _FACT and _EXACT.search(operation.text)
            operation = replace(operation, list="facts" if is_fact else "completed")
            target = operation.list
        _check_evidence(target, turns, bool(users))
        quote = quote_for(operation.text, operation.quote, users) if target in _THEIRS else ""
        return replace(operation, text=redacted(operation.text), quote=quote, sources=self._ids(cited))

    def _free(self, operation: Move | Resolve | Supersede | Drop) -> Item:
        item = self._items.get(operation.item)
        if item is None:
            raise Unfounded(f"there is no item {operation.item}")
        if item.pinned:
            raise Unfounded(f"item {item.id} is pinned")
        if item.id in self._changed:
            raise Unfounded(f"item {item.id} is changed twice")
        if item.list == "decisions" and isinstance(operation, Move | Resolve):
            raise Unfounded(f"item {item.id} is a decision, which can only be superseded")
        if isinstance(operation, Move) and operation.to == "decisions":
            raise Unfounded("what was no decision does not become one by moving")
        quotes = item.list == "decisions" and not item.passed_over and (item.quote or is_order(item.text))
        if isinstance(operation, Drop) and quotes:
            raise Unfounded(f"item {item.id} has a user's words: only what a user said later supersedes it")
        return item

    def _completed(self, text: str, target: str, item: Item | None, cited: list[str]) -> list[str]:
        """With the messages that have those facts of a text which the cited ones do not have. Not for decisions and
        requests what a tool returned: it would become the word of whoever is cited beside it."""
        longest = _FACT if target == "facts" else _LONGEST
        if not 0 < len(text) <= longest:
            raise Unfounded(f"its text is longer than {longest} characters" if text else "its text is empty")
        said = self._said if target in _THEIRS else self._shown
        known = [one.text for one in self._items.values() if one is item or target not in _THEIRS]
        held = "\n".join([*map(said, cited), plain("\n".join([*known, self._record.goal, self._record.next]))])
        wanted = missing_facts(text, held)
        found = {fact: next((one for one in self._named if not missing_facts(fact, said(one))), "") for fact in wanted}
        if nowhere := [fact for fact, alias in found.items() if not alias]:
            raise Unfounded(f"not in the messages: {', '.join(nowhere)}")
        return sorted({*cited, *found.values()}, key=list(self._named).index)

    def _turns(self, cited: Sequence[str]) -> list[Turn]:
        if not cited:
            raise Unfounded("it names no message of these in sources")
        return [self._named[alias] for alias in cited]

    def _ids(self, cited: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._named[alias].id for alias in cited)


def _check_evidence(target: str, turns: Sequence[Turn], by_user: bool) -> None:
    """Only who takes part in the conversation asks for something; only what shows success is done."""
    if target == "pending" and not by_user and not any(turn.role == "assistant" for turn in turns):
        raise Unfounded("pending comes from what the user or the assistant said, not from what a tool returned")
    failed = [tool.failed for turn in turns for tool in turn.tools if tool.failed is not None]
    failed += [not check.passed for turn in turns for check in turn.checks]
    if target == "completed" and failed and all(failed):
        raise Unfounded("its sources show only failures")


def _typed_by_user(turn: Turn) -> str:
    """The words a user typed, also into a call that they refused; not a paste, nor what a program said for them."""
    if turn.internal:
        return ""
    told = filter(None, map(own_words, turn.tools))
    said = [turn.words, *told] if turn.role == "user" else told
    return "\n".join(filter(None, (typed(words).text for words in said)))


def _said_in(turn: Turn) -> str:
    """The words of the user or the assistant, also to a tool; not what that returned, which may be anybody's words."""
    given = (json_text(tool.input) for tool in turn.tools if tool.input is not None)
    return "\n".join([turn.words, *given]) if turn.role in ("user", "assistant") else ""


def _all_of(turn: Turn) -> str:
    told = [f"{check.name} {check.error}" for check in turn.checks]
    return "\n".join([turn.text, *(path for tool in turn.tools for path in tool.paths), *told])


# --- the user's own words behind an item that says them in others: a paraphrase must not turn an order round ----------


def quote_for(text: str, given: str, said: Sequence[str]) -> str:
    """The quotation for an item: the one that the model gave if a user really said it, else the sentence that is
    nearest to the text. Nothing where the text is a whole sentence of theirs: a part of one may mean the contrary."""
    every = [sentence for words in said for sentence in sentences(words)]
    if any(_plain(sentence) == _plain(text) for sentence in every):
        return ""
    if given and any(_plain(given) in _plain(words) for words in said):
        return trimmed(next((one for one in every if _plain(given) in _plain(one)), given), _QUOTED)
    return trimmed(max(every, key=lambda sentence: _nearness(sentence, text), default=""), _QUOTED)


def _nearness(sentence: str, text: str) -> float:
    """By pairs of letters, which every language has; a long sentence has many of them by chance."""
    own, wanted = (set(pairwise(_plain(each))) for each in (sentence, text))
    return len(own & wanted) / math.sqrt(max(1, len(own)))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()
