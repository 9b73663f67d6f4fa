"""How an exchange ended: the last text of the assistant that states something, short."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dagentd.model.compaction.evidence import unmarked
from dagentd.model.compaction.typed import BULLET, FENCE, is_machine, sentences, trimmed

_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*|\**[^*\n]{2,60}\**+:?\s*\**)$")
_TABLE = re.compile(r"\s*\||\s*(?:File|Create|Update)\b.{0,10}:\s*\S+$|(?=\S+[/\\]\S)\S++$")
_DRAWN = re.compile(r"[│├└─]")
_GREETS = re.compile(
    r"^(?:(?:good (?:point|catch|question|idea|news)|thanks?(?: you)?(?: for [^.!,]*)?|perfect|great|excellent"
    r"|good|done|yes|sure|certainly|absolutely|okay|ok|got it|understood|exactly|ah|alright|sorry|right|nice|now"
    r"|(?:you're|you are)(?: absolutely)? (?:right|correct)|i apologi[sz]e[^.!]*|i (?:see"
    r"|understand)(?: the (?:issue|problem)(?: now)?)?)\b[,.!:;—– -]*|✅\s*|🎉\s*"
    # What leads to a finding, in the sentence that has it.
    r"|(?:looking at|based on|after (?:reviewing|looking at|checking)|from) [^,;:]{3,80}, (?=\w+ )"
    r"|(?:i|we) (?:can )?(?:now )?(?:see|found|notice)(?: that)? (?!the (?:issue|problem|error)\b)"
    r"|let me explain[^.:]{0,40}: )+",
    re.I,
)
# Intentions, advice and what leads to code: nothing is stated by them. A question is known by its sign.
_IDLE = re.compile(
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|i can(?!['’]t)|i could|i'd|i would"
    r"|now i|first|next|then|finally|here(?:'s| is| are)|to (?:do|fix|make|use|run|test|add|implement|resolve"
    r"|address|check|ensure|handle|achieve)|you can(?!['’]t)|you (?:could|may|might|need|should|would)|you'll"
    r"|if (?:you|the|this|that|it|any)|make (?:sure|these|the|this)|try|please|what|how|which|when you|once you"
    r"|after (?:this|these|making|that)|for example|note|remember|run|apply|see|looking at|based on|this (?:should"
    r"|will|would|ensures|approach|change|way|version)|these changes|with (?:these|this)|by (?:making|doing|using)"
    r"|no response|key changes|changes|summary|sources?|feel free|happy|hope|replace|in this|in your)\b|\W*$",
)
_MARKS = re.compile(r"\A(?:#+\s*|[✅🎉✨🚀]\s*|\d+\.\s+)+")
_CHOICE = re.compile(r"\b(?:or|oder|ou|o)\b|还是|或者|それとも", re.I)
_PLANS = re.compile(
    r"(?:next|then|now i|i'll|i will|i'm going to|i still|still|remaining|let me(?! know)|als nächstes|jetzt|noch"
    r"|a continuación|ahora|falta|ensuite|je vais|il reste)\b|接下来|下一步|次に",
)
_LEAD = re.compile(r"^(?:(?:next|then|now|i'll|i will|i'm going to|i need to|let me)\b[,:]? )+", re.I)
_LISTED = 5  # points of a list


def ending(said: Sequence[tuple[str, str]], most: int, last: bool) -> tuple[str, str]:
    """The words and the id of their message; empty if nothing was stated. At the very end plans are told with it."""
    stated = ((_stated(words, most), words, source) for source, words in reversed(said))
    text, words, source = next((each for each in stated if each[0]), ("", "", ""))
    return _stated(words, most, True) if last and text else text, source


def choice(said: Sequence[tuple[str, str]]) -> str:
    """The question at the very end that leaves a choice to the user; an offer is none."""
    last = plain(said[-1][1].rstrip().rpartition("\n")[2]) if said else ""
    asked = [*sentences(last)][-1:] if last.endswith(("?", "？")) else []
    return asked[0] if asked and _CHOICE.search(asked[0]) else ""


def planned(said: Sequence[tuple[str, str]]) -> str:
    """The next step, where the last words tell of one."""
    last = plain(FENCE.sub("\n", unmarked(said[-1][1])).rstrip().rpartition("\n")[2]) if said else ""
    told = [*sentences(last)][-1:]
    plans = told and not told[0].endswith(("?", "？")) and _PLANS.match(told[0].lower())
    return _capital(_LEAD.sub("", told[0])) if plans else ""


def _stated(words: str, most: int, plans: bool = False) -> str:
    kept: list[str] = []
    points = 0  # of a list that may follow
    for line in FENCE.sub("\n", unmarked(words)).split("\n"):
        bare = plain(BULLET.sub("", line))
        told = bare and not line.startswith((">", "\t", "      ")) and not is_machine(bare)
        if not told or _TABLE.match(line) or _DRAWN.search(line):
            continue
        listed = BULLET.match(line) is not None
        if listed and points:
            points -= 1
            kept.append(f"{bare.rstrip('.;,')};")
        elif listed or not _HEADING.match(line) or bare.rstrip("*").endswith((".", "!", "?")):
            points = _said(kept, bare, listed, most, plans) or points
        else:
            points = _leads(kept, bare)
        if sum(map(len, kept)) > most:
            break
    while kept and kept[-1].endswith((":", "：")):  # of points that do not follow
        kept.pop()
    return trimmed(" ".join(kept).rstrip(";"), most)


def _said(kept: list[str], line: str, listed: bool, most: int, plans: bool) -> int:
    points = 0
    for each in sentences(line[: 4 * most]):
        told = _GREETS.sub("", each).strip()
        if told.endswith((":", "：")):
            points = _leads(kept, told)
        elif len(told) > 12 and (not _is_idle(told) or (plans and told[-1] == "." and _PLANS.match(told.lower()))):
            kept.append(_capital(told) if told[-1:] in ".!。" or not listed else f"{_capital(told)};")
    return points


def _is_idle(told: str) -> bool:
    return told.endswith(("?", "？", ":", "：")) or _IDLE.match(told.lower()) is not None


def _leads(kept: list[str], line: str) -> int:
    """A line before a list is kept with so many of its points if it says what they are of."""
    told = _GREETS.sub("", line).strip()
    if not told.endswith((":", "：")) or len(told.split()) < 3 or _is_idle(told.rstrip(":： ")):
        return 0
    kept.append(_capital(told))
    return _LISTED


def plain(text: str) -> str:
    """Without the signs of Markdown for bold text and code."""
    return _MARKS.sub("", text.strip().replace("**", "").replace("__", ""), 1).strip()


def _capital(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text if re.search(r"[/._`]\w", first) else text[:1].upper() + text[1:]
