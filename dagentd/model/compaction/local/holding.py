"""How an assistant tells what holds from now on, without a word that says that it was decided.

The small words tell it: `resized on upload, not on request`; `only admins can see it`; `I kept polling, since ...`."""

from __future__ import annotations

import re

from dagentd.model.compaction.local.phrases import any_of

# What it does at the moment, found or measured: over with the message.
_MOMENT = any_of(
    r"^\W*(?:(?:now|next|first|then|ok(?:ay)?|so),? )*(?:i['’]m|i am|i['’]ll|i will|i can|let me|i (?:see|saw|found"
    r"|think|noticed|ran|read|looked|checked|tried|tested|had|was|know|understand)|we (?:see|saw|know)"
    r"|there (?:is|are|was|were)|(?:it|this|that) (?:looks|seems|took|takes|dates|does|walks|is because|happens|means)"
    r"|here (?:is|are)|looking|running|reading|checking|you)\b(?! (?:using|keeping|sticking|going with|leaving))",
    r"\b(?:took|failed|fails|failing|pass(?:e[sd])?|works?|green|red|crashe[sd]|seconds? ago|yesterday"
    r"|last (?:week|year|time)"
    r"|former|previously|at the moment|currently|still|seems?|looks? like|probably|likely|would|could|might"
    r"|tell me|let me know)\b",
)
# Here and nowhere else, so and never otherwise. Not `each` and `all`, which explanations are full of.
_WHOLLY = any_of(
    r"\b(?:only|never|always|nowhere|everywhere|no longer|by default|(?:at|no) (?:most|least|more than)|up to|at once"
    r"|strictly|stays?|remains?|from (?:here|now) on)\b",
)
_CONTRAST = any_of(
    r"[,;] (?:and |but )?(?:not|never|rather than|instead of) \w", r"\b(?:instead of|rather than|otherwise)\b"
)
_NOW = any_of(r"\b(?:are|have|use|get|live|\w+s) (?:[\w-]+ ){0,6}now\b", r"\bnow (?:are|have|\w+s)\b")
_DID = any_of(
    r"\b(?:i|we)(?:['’]ve| have)? (?:now |therefore |also |just )?(?:\w+ed|made|put|left|kept|wrote|set|went|took|chose"
    r"|built|split|cut|gave|ended up|am using|am keeping|am leaving)\b",
    r"\b(?:i['’]m|we['’]re) (?:using|keeping|leaving)\b",
)
_WHY = any_of(
    r"\b(?:because|since|so that|so (?:the|it|we|i|a|that|forms?|they|no)\b|otherwise|in order to|for the sake of)\b"
    r"|^\W*(?:to|for) [^,]{3,50} i\b|; "
)
_REASON = re.compile(r"(?<=\w)[,;]? (?:because|since|otherwise|so that)\b.*")
_ASKED = any_of(r"\bas (?:you |we )?(?:asked|requested|wanted|told|agreed|wished|ordered)\b")


def holds(low: str) -> bool:
    if _MOMENT.search(_REASON.sub("", low)):
        return False
    if _DID.search(low):
        return bool(_WHY.search(low) or _CONTRAST.search(low) or _WHOLLY.search(low))
    return any(told.search(low) for told in (_CONTRAST, _ASKED, _WHOLLY, _NOW))


def gives_numbers(low: str) -> bool:
    """`Timeouts: connect 2 s, read 10 s.`"""
    return bool(re.match(r"\W*[a-z][\w -]{2,40}: [^?]*\d", low)) and not _MOMENT.search(low)
