"""From exchanges and the record before them to the record after them, before anything has to leave it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dagentd.model.compaction.items import Item, Record, new
from dagentd.model.compaction.local import orders, progress
from dagentd.model.compaction.local.endings import choice, ending, planned
from dagentd.model.compaction.local.exchanges import Exchange
from dagentd.model.compaction.local.progress import key_of, runs, telling
from dagentd.model.compaction.typed import sentences, trimmed

ARROW, COMMIT = " → ", "(commit "
_ASKED, _ENDED, _GOAL = 280, 320, 400  # characters
_CHANGES = re.compile(
    r"\b(?:prefer|rather have|instead of|from now on|change of plan|new (?:task|goal|plan)|stattdessen|ab jetzt"
    r"|en lugar de|plutôt)\b|改为|代わりに"
)
_THEN, _SHARED = " Then: ", 2  # words that a request shares with the goal that it changes
_AGAIN = re.compile(
    r"\b(?:still|again|same|errors?|issues?|problems?|fail\w*|broken?|wrong|crash\w*|works?|working|nothing"
    r"|immer noch|fehler|geht nicht|sigue|falla|encore|erreur|bug)\b|还是|错误|不行|まだ|エラー",
    re.I,
)
_EMPTY = re.compile(rf"\b\w+n['’]?t\b|{_AGAIN.pattern}", re.I)  # of what a complaint is about
_THIN = 14  # words up to which a complaint is a link of a chain
_HEARD = 4000  # characters of an answer whose words are known then
_SUBSTANCE = 8  # words; a sign of a script without blanks counts half
_SINGLE = ("files", "commits")  # kinds of which there is one item
_EDITED, _COMMITS, _OPEN = "Edited ", "Commits: ", " Not answered yet: "
_ANSWER = 6  # words that an answer may have and name nothing
_NAMED, _LISTED = 3, 15  # commits of one turn, and those that no turn names
# Who asks somebody else, or comes back to a thing, has left it open.
_PUTS_OFF = re.compile(
    r"\b(?:(?:i'?ll|i will|i(?:'d| would)? (?:have|need) to|let me|i must|i'm going to) (?:have to )?(?:ask (?!you)"
    r"|check with|talk to|come back|think about|find out|decide)|ich (?:frage|kläre)"
    r"|(?:muss ich|ich muss) .{0,30}fragen|(?:lo|le|se lo) pregunt\w+|voy a preguntar|je (?:vais |dois )?demande\w*)",
    re.I,
)
_NAME = re.compile(r"(?<=\w )[A-Z]\w+|\b[A-Z]+-\d+")
_IDLE = re.compile(
    r"^(?:yes|no|ok(?:ay)?|sure|go(?: ahead| on)?|continue|proceed|thanks?(?: you)?|good|great|nice|perfect"
    r"|try again|next|do it|ja|nein|weiter|danke|sí|oui|是|好|はい)\W*$",
    re.I,
)


class _Writer:
    """The items of the record after: those of a kind are taken and put anew, with their ids; all others are `held`."""

    def __init__(self, record: Record, at: str) -> None:
        self._at, self.held = at, list(record.items)
        self.items: dict[tuple[str, str], Item] = {}
        self._before: dict[tuple[str, str], Item] = {}
        self._taken = {item.id for item in record.items}

    def take(self, kind: str) -> list[Item]:
        found = [item for item in self.held if item.kind == kind and not item.pinned]
        self.held = [item for item in self.held if item.kind != kind or item.pinned]
        self._before |= {_place(item): item for item in reversed(found)}
        return found

    def put(self, name: str, text: str, sources: Sequence[str], kind: str) -> None:
        """Once: what is there already in that list stays alone."""
        made = new(name, text, sources, self._at, self._taken, kind)
        place = name, made.text
        if not made.text or place in self.items or any((item.list, item.text) == place for item in self.held):
            return
        if (before := self._before.pop(_place(made), None)) is not None:
            made = replace(made, id=before.id, at=before.at)
        self._taken.add(made.id)
        self.items[place] = made


def _place(item: Item) -> tuple[str, str]:
    return item.kind, "" if item.kind in _SINGLE else asked_of(item.text)


def written(
    record: Record, found: Sequence[Exchange], at: str, more_commits: Sequence[tuple[str, str]], most: int
) -> tuple[Record, int]:
    """The record, and how many orders are not in it: `most` of them may have room."""
    writer = _Writer(record, at)
    uses = [use for each in found for use in each.uses]
    step = _write_todos(writer, found) or trimmed(planned(found[-1].said) if found else "", _ENDED)
    _write_turns(writer, found)
    _write_checks(writer, found)
    _write_commits(writer, [*progress.commits(uses), *more_commits])
    files = _write_files(writer, found)
    for fact in dict.fromkeys([*(item.text for item in writer.take("fact")), *progress.recurring(uses, files)]):
        writer.put("facts", fact, (), "fact")
    left = _write_orders(writer, found, most)
    return Record((*writer.held, *writer.items.values()), _goal(record.goal, found), step), left


def _goal(known: str, found: Sequence[Exchange]) -> str:
    """The first request that has substance, and the newest that changes it."""
    asked = [each.asked for each in found if has_substance(each.asked)]
    first, _, then = known.partition(_THEN)
    if not first and asked:
        first, asked = trimmed(asked[0], _GOAL), asked[1:]
    about = orders.content(first)
    changes = (each for each in asked if _CHANGES.search(each[:_GOAL].lower()))
    changed = [each for each in changes if len(about & orders.content(each)) >= _SHARED]
    then = trimmed(changed[-1], _GOAL // 2) if changed else then
    return f"{first}{_THEN}{then}" if then else first


def has_substance(text: str) -> bool:
    many = len(text[:400].split()) >= _SUBSTANCE
    return many or (not text.isascii() and sum(map("\u2e80".__le__, text)) >= 2 * _SUBSTANCE)


def _write_turns(writer: _Writer, found: Sequence[Exchange]) -> None:
    """The last one is in progress; one that nobody took up, or whose question stands, is pending; all others are over.
    What goes on from before belongs to the last one of the round before."""
    earlier = [(item.list, item.text, [*item.sources]) for item in writer.take("turn")]
    found = _chained(found)
    told = [_told(each, last=at == len(found)) for at, each in enumerate(found, 1)]
    if found and not found[0].asked and not found[0].wordless:
        text, sources = told.pop(0)[1:]
        found = found[1:]
        if earlier:
            name, before, ids = earlier[-1]
            before, _, question = before.partition(_OPEN)
            ended = text.rpartition(ARROW)[2] or before.partition(ARROW)[2]
            put_off = f"{_OPEN}{question}" if _PUTS_OFF.search(question) and _OPEN not in ended else ""
            earlier[-1] = name, ARROW.join(filter(None, (asked_of(before), ended))) + put_off, [*ids, *sources]
        elif text:
            earlier = [("completed", text, sources)]
    for at, (name, text, sources) in enumerate(every := [*earlier, *told]):
        last = at == len(every) - 1
        if not last and _OPEN in text:
            is_open = _is_open(text, [each for each in found[max(0, at + 1 - len(earlier)) :] if each.asked])
            name, text = ("pending", text) if is_open else ("completed", text.partition(_OPEN)[0])
        writer.put("inProgress" if last else "completed" if name == "inProgress" else name, text, sources, "turn")


def _is_open(text: str, said: Sequence[Exchange]) -> bool:
    """Whether a choice stands that the user raised: nothing that they said since is an answer. Right behind it that is
    anything short, or with a word of it; later it has more of them."""
    turn, _, question = text.partition(_OPEN)
    words, asked = orders.content(question), orders.content(asked_of(turn))
    later = any(len(words & each.content) >= _SHARED for each in said)
    if _PUTS_OFF.search(question):
        return not later and not any(name in each.asked for name in _NAME.findall(question) for each in said)
    at_once = said and (len(said[0].asked.split()) < _ANSWER or not (words | asked).isdisjoint(said[0].content))
    return "?" in asked_of(turn) and not words.isdisjoint(asked) and not at_once and not later


def _chained(found: Sequence[Exchange]) -> list[Exchange]:
    """ "Still broken" is a link of the chain before it: what was asked first, and how the last link ended."""
    kept: list[Exchange] = []
    for each in found:
        if kept and kept[-1].asked and _is_link(each, kept[-1]):
            first = kept[-1]
            kept[-1] = replace(first, said=first.said + each.said, uses=first.uses + each.uses,
                               sources=first.sources + each.sources)  # fmt: skip
        else:
            kept.append(each)
    return kept


def _is_link(each: Exchange, last: Exchange) -> bool:
    """A short complaint that names nothing new; what it names first is a request of its own."""
    if not 0 < len(each.asked.split()) <= _THIN or not _AGAIN.search(each.asked):
        return False
    known = orders.content(" ".join((last.asked, *(words[:_HEARD] for _, words in last.said))))
    return orders.content(_EMPTY.sub("", each.asked)) <= known


def _told(each: Exchange, last: bool) -> tuple[str, str, list[str]]:
    most = _ENDED * 2 if last else _ENDED
    ended, source = ("", "") if each.stopped and not each.asked else ending(each.said, most, last)
    made = "; ".join(f"{sha} {subject}" for sha, subject in [*progress.commits(each.uses)][-_NAMED:])
    ended = f"{ended} {COMMIT}{made})".strip() if made else ended
    told = each.asked[:_HEARD] if each.spoken and _PUTS_OFF.search(each.asked) else ""
    put_off = (one for one in sentences(told) if _PUTS_OFF.search(one))
    # What an internal message demands is no decision, and stands nowhere else.
    asked = "" if _IDLE.match(each.asked) else trimmed(_beside_orders(each), _ASKED if each.spoken else 4 * _ASKED)
    if each.wordless and (line := telling(each.pasted, or_last=False)):
        asked = f"(pasted) {line}"
    text = ARROW.join(filter(None, (asked, ended)))
    if question := (choice(each.said) if last or "?" in each.asked else "") or next(put_off, ""):
        text += f"{_OPEN}{trimmed(question, _ENDED)}"
    name = "pending" if asked and not each.answered and not each.stopped else "completed"
    return name, text, [*each.sources, *([source] if source else [])]


def _beside_orders(each: Exchange) -> str:
    """The request without the orders in it, which stand among the decisions; unless there was nothing else."""
    said = {one.text for one in each.orders}
    every = sentences(each.asked[: 5 * _ASKED])
    rest = " ".join(one for one in every if one not in said or orders.is_request(one))
    return rest if has_substance(rest) or not said else each.asked


def _write_todos(writer: _Writer, found: Sequence[Exchange]) -> str:
    """Write what is open of the todo list; its next step."""
    known = [(item.text, item.list, item.sources[0]) for item in writer.take("todo") if item.sources]
    listed = progress.todos((use for each in found for use in each.uses), known)
    for text, status, source in listed:
        writer.put("inProgress" if status.startswith("in") else "pending", trimmed(text, 200), [source], "todo")
    begun = (each for each in listed if each[1].startswith("in"))
    return next((text for text, *_ in (*begun, *listed)), "")


def _write_checks(writer: _Writer, found: Sequence[Exchange]) -> None:
    """Those whose last run failed are blockers; a later pass of the same check closes an earlier failure."""
    failing = {_key(item.text): (item.text, item.sources) for item in writer.take("check")}
    for run in (run for each in found for run in runs(each)):
        passed = run.passed and "test" in run.key  # where output was pasted, nobody knows which program ran the tests
        for key in [key for key in failing if key == run.key or (passed and key == "tests")]:
            del failing[key]
        if not run.passed:
            failing[run.key] = run.shown, (run.source,)
    for text, sources in failing.values():
        writer.put("blockers", text, sources, "check")


def _key(text: str) -> str:
    """Of a check that was written down."""
    match = re.match(r"`([^`]+)`(?: (in \S+))?", text)
    return " ".join(filter(None, (key_of(match[1]) or match[1], match[2]))) if match else text


def _write_commits(writer: _Writer, found: Sequence[tuple[str, str]]) -> None:
    """Those that no turn names, the newest if there are many."""
    told = [item.text.removeprefix(_COMMITS) for item in writer.take("commits")]
    every = [each for text in told for each in text.split("; ")] + [f"{sha} {subject}" for sha, subject in found]
    turns = "\n".join(item.text for item in writer.items.values())
    rest = [each for each in dict.fromkeys(every) if each.split(" ", 1)[0] not in turns]
    if rest:
        writer.put("completed", _COMMITS + "; ".join(rest[-_LISTED:]), (), "commits")


def _write_files(writer: _Writer, found: Sequence[Exchange]) -> Counter[str]:
    held, sources = Counter[str](), list[str]()
    for item in writer.take("files"):
        held += progress.from_folders(item.text.removeprefix(_EDITED))
        sources += item.sources
    files = progress.edited((use for each in found for use in each.uses), held)
    sources += [use.source for each in found for use in each.uses if use.paths]
    if files:
        writer.put("completed", _EDITED + progress.by_folder(files.most_common(40)), sources, "files")
    return files


def _write_orders(writer: _Writer, found: Sequence[Exchange], most: int) -> int:
    """Each where it was said last; of the oldest ones no more than their number is known."""
    said = {item.text: item.sources[0] if item.sources else "" for item in writer.take("order")}
    for one in (one for each in found for one in each.orders):
        said.pop(one.text, None)
        said[one.text] = one.source
    newest = [orders.Order(text, source) for text, source in said.items()][-most:]
    for one in orders.standing(newest):
        writer.put("decisions", one.text, [one.source] if one.source else [], "order")
    return len(said) - len(newest)


def asked_of(text: str) -> str:
    """A turn without how it ended."""
    return text.partition(ARROW)[0]
