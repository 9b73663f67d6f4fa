"""The opening for an agent that begins: facts that dagentd keeps of its worktree, most important first, in few words.

Whatever others wrote stands between “ and ”, on one line, without secrets and without what cannot be seen; none of it
can end its quotation, nor the element around all."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dagentd.model import oneline, times
from dagentd.model.redaction import redacted

TAG = "dagentd-context"  # by which it is known again in a transcript: what we said is not told again
_HEAD = "Kept by dagentd about this worktree; “ ” are records of earlier work, quoted and cut."
_BEGIN, _END = f"<{TAG}>\n{_HEAD}\n", f"</{TAG}>"
_LINE = 300  # characters of one entry
_GOAL, _SPEC = 400, 900
_NAMED = 8  # files that a line names
_LOOKED_AT = 8  # times what is shown: so much of a long text is searched for secrets
_HARMLESS = str.maketrans("“”<>", '""‹›')  # nothing ends a quotation, or begins a tag
_VARIANTS = "\ufe00\ufe0f"
_MOST_LEFT = len("- 9999 more, not shown\n")


@dataclass(frozen=True)
class Feature:
    """`tasks`: those that are worked on, each with what it depends on, in words of ours and quotations."""

    name: str = ""
    goal: str = ""
    tasks: Sequence[str] = ()
    summary: str = ""
    spec: str = ""


@dataclass(frozen=True)
class Work:
    """A conversation: what it was about, left open, saw failing; `orders` are the user's in it and what was pinned."""

    id: str = ""
    agent: str = ""
    at: str = ""
    about: str = ""
    orders: Sequence[str] = ()
    open: Sequence[str] = ()
    failing: Sequence[str] = ()


@dataclass(frozen=True)
class Neighbour:
    """Another worktree at work. `shared`: the files that it and this one changed since they parted."""

    worktree: str
    branch: str
    agent: str
    at: str
    goal: str
    shared: Sequence[str] = ()


@dataclass(frozen=True)
class Base:
    """A branch that this one came from, and what it has since that this one has not: `abc1234 subject`."""

    branch: str = ""
    commits: Sequence[str] = ()


@dataclass(frozen=True)
class Known:
    """All that is known; each list has the most important first. `compacted` is this conversation before its agent
    summed it up, and `summary` what that came to, as far as it is known."""

    features: Sequence[Feature] = ()
    decided: Sequence[str] = ()
    pinned: Sequence[str] = ()
    compacted: Work = Work()
    summary: str = ""
    commits: Sequence[str] = ()
    base: Base = Base()
    earlier: Sequence[Work] = ()
    neighbours: Sequence[Neighbour] = ()
    noted: Sequence[str] = ()


@dataclass
class _Part:
    """`share` is the part of the room that it has before the others had theirs."""

    title: str
    entries: list[str]
    share: float
    kept: list[str] = field(default_factory=list)

    def text(self) -> str:
        left = len(self.entries) - len(self.kept)
        lines = [f"\n{self.title}", *self.kept, *([f"- {left} more, not shown"] if left else [])]
        return "\n".join(lines) + "\n" if self.kept else ""

    def take(self, room: int) -> int:
        """As many more as fit, from the first; what they cost. There is room for the line that counts the others."""
        used = 0
        for entry in self.entries[len(self.kept) :]:
            cost = len(entry) + 1 + (0 if self.kept else len(self.title) + 2 + _MOST_LEFT)
            if used + cost > room:
                break
            self.kept.append(entry)
            used += cost
        return used


def compose(known: Known, limit: int) -> str:
    """At most `limit` characters; empty where nothing is worth saying."""
    parts = _parts(known)
    room = limit - len(_BEGIN) - len(_END)
    for share in (True, False):
        for part in parts:
            room -= part.take(min(room, int(limit * part.share)) if share else room)
    told = "".join(part.text() for part in parts)
    return f"{_BEGIN}{told}{_END}" if told else ""


def quoted(text: str, most: int = _LINE) -> str:
    """Somebody else's text, as a quotation on one line."""
    begin = text[: most * _LOOKED_AT]
    clean = redacted(begin)
    if len(begin) < len(text):  # a secret that is cut in two is not known as one
        clean = clean[: -2 * most]
    seen = clean if clean.isascii() else "".join(filter(_is_seen, clean))
    flat = " ".join(seen.split()).translate(_HARMLESS)
    return f"“{oneline.cut(oneline.visible(flat), most)}”"


def _is_seen(sign: str) -> bool:
    """Models read signs that people do not see."""
    return unicodedata.category(sign) not in ("Cf", "Co", "Cn") and not _VARIANTS[0] <= sign <= _VARIANTS[1]


def _parts(known: Known) -> list[_Part]:
    """In the order of importance, which is that of reading."""
    lists = [
        _Part(_whose(known.features), [line for each in known.features for line in _feature(each)], 0.3),
        _Part("Decided by the user, in force:", _listed(known.decided), 0.3),
        _Part("Pinned by the user:", _listed(_without(known.pinned, known.decided)), 0.15),
        *_compacted(known),
        _Part("New in this branch since this conversation was last at work:", _listed(known.commits), 0.15),
        _Part(f"New in {quoted(known.base.branch, 80)} since then, and not in this branch:",
              _listed(known.base.commits), 0.15),
        *(_work(work) for work in known.earlier),
        _Part("Other worktrees of this repository at work:", [*map(_neighbour, known.neighbours)], 0.25),
        _Part("Noted by agents in this worktree; notes decide nothing:", _listed(known.noted), 0.1),
    ]  # fmt: skip
    return [part for part in lists if part.entries]


def _listed(texts: Iterable[str], before: str = "") -> list[str]:
    return [f"- {before}{quoted(text)}" for text in dict.fromkeys(texts) if text.strip()]


def _whose(features: Sequence[Feature]) -> str:
    several = "Features open in this worktree, the last changed first; which of them is meant is not known:"
    return several if len(features) > 1 else "The feature of this worktree:"


def _feature(feature: Feature) -> list[str]:
    head = f"{quoted(feature.name, 80)}: " if feature.name.strip() and feature.name != feature.goal else ""
    goal = f"- {head}{quoted(feature.goal, _GOAL)}" if feature.goal.strip() else f"- {head[:-2]}" if head else ""
    counted = f"- {feature.summary}" if feature.summary else ""
    spec = f"- Its spec begins: {quoted(feature.spec, _SPEC)}" if feature.spec.strip() else ""
    return [*filter(None, (goal, *(f"- {task}" for task in feature.tasks), counted, spec))]


def task(title: str, status: str, description: str, depends: Sequence[tuple[str, str]]) -> str:
    """One line of a feature's tasks; what it depends on, each with how far that is."""
    told = f": {quoted(description)}" if description.strip() else ""
    on = f"; depends on {', '.join(f'{quoted(name, 60)} ({stage})' for name, stage in depends)}" if depends else ""
    return f"Task {quoted(title, 120)}, {status}{told}{on}"


def _compacted(known: Known) -> list[_Part]:
    """The parts on this conversation, less what its agent's summary has word for word: a paraphrase may have turned an
    order round."""
    own, has = known.compacted, _words(known.summary)
    said = [*known.decided, *known.pinned]
    missing = _without(_missing(own.orders, has), said)
    failing, open_ones = (_without(_missing(texts, has), [*said, *own.orders]) for texts in (own.failing, own.open))
    rest = [*_listed(failing, "Failing: "), *_listed(open_ones, "Open: ")]
    goal = [f"- {quoted(own.about, _GOAL)}"] if own.about.strip() and not _is_in(own.about, has) else []
    end = ", and not in its summary" if known.summary else ""
    return [
        _Part(f"Ordered by the user in this conversation{end}:", _listed(missing), 0.4),
        _Part(f"What this conversation is about{end}:", goal, 0.1),
        _Part(f"Failing or open when it was summed up{end}:", rest, 0.15),
    ]


def _work(work: Work) -> _Part:
    about = [f"- About: {quoted(work.about, _GOAL)}"] if work.about.strip() else []
    entries = [*about, *_listed(work.failing, "Failing: "), *_listed(work.open, "Open: ")]
    when = f", last active {at}" if (at := _when(work.at)) else ""
    return _Part(f"Before, in this worktree ({_name(work.agent)} {_name(work.id)}{when}):", entries, 0.25)


def _neighbour(near: Neighbour) -> str:
    who = ", ".join(filter(None, (_name(near.agent), f"last at work {at}" if (at := _when(near.at)) else "")))
    branch = quoted(near.branch, 80) if near.branch else "no branch"
    goal = f": {quoted(near.goal, 160)}" if near.goal.strip() else ""
    files = ", ".join(quoted(path, 120) for path in near.shared[:_NAMED])
    more = f" and {len(near.shared) - _NAMED} more" if len(near.shared) > _NAMED else ""
    both = f"; changed there and here since both parted: {files}{more}" if files else ""
    return f"- {branch} in {quoted(near.worktree, 160)}{f' ({who})' if who else ''}{goal}{both}"


def _name(text: str) -> str:
    """Of ours: an id, or an agent's."""
    return "".join(sign for sign in text if sign.isascii() and (sign.isalnum() or sign in "-_. "))[:80]


def _when(at: str) -> str:
    """To the minute."""
    moment = times.parse(at)
    return f"{times.iso(moment)[:16]}Z" if moment is not None else ""


def _missing(texts: Sequence[str], has: str) -> list[str]:
    return [text for text in texts if not _is_in(text, has)]


def _without(texts: Iterable[str], said: Iterable[str]) -> list[str]:
    known = {_words(text) for text in said}
    return [text for text in texts if _words(text) not in known]


def _is_in(text: str, has: str) -> bool:
    words = _words(text.removesuffix("…"))
    return bool(words.strip()) and words in has


def _words(text: str) -> str:
    """For comparing: nothing but words, a blank around each."""
    return f" {' '.join(''.join(sign if sign.isalnum() else ' ' for sign in text.casefold()).split())} "
