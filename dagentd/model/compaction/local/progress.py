"""What is in progress: what the last exchange is about. What an earlier round found there goes where it belongs now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagentd.model.compaction.local import asking, phrases, prose
from dagentd.model.compaction.local.draft import Draft
from dagentd.model.compaction.local.passages import passages
from dagentd.model.compaction.local.wishes import Wishes
from dagentd.model.compaction.turns import Turn

_BACK = 12  # messages in which the last thing that the user said is looked for
_PREFIX = "Last asked: "


def update(draft: Draft, wishes: Wishes, turns: Sequence[Turn]) -> None:
    found = _last_asked(turns)
    earlier = [item for item in draft.open("inProgress") if item.sources and item.text.startswith(_PREFIX)]
    if found is None:
        return
    text, source = found
    for item in earlier[1:]:
        draft.resolve(item, source)
    if earlier:
        draft.supersede(earlier[0], text, source)
    else:
        draft.add("inProgress", text, source)


def _last_asked(turns: Sequence[Turn]) -> tuple[str, str] | None:
    spoken = [turn for turn in turns[-_BACK:] if turn.role == "user" and not turn.internal and turn.words.strip()]
    for turn in reversed(spoken):
        if sentence := next(_substance(turn.words), ""):
            return f"{_PREFIX}{prose.shortened(sentence, 200)}", turn.id
    return None


def _substance(words: str) -> Iterator[str]:
    """Requests and questions first; whatever has some length else."""
    said = [prose.shortened(prose.ungreeted(one.text)) for one in passages(prose.sentences(words))]
    yield from (one for one in said if _asks(one.lower()))
    yield from (one for one in said if len(one) > 12 and not phrases.AFFIRMED.match(one.lower()))


def _asks(low: str) -> bool:
    asked = low.endswith(("?", "？")) or asking.REQUEST.search(low)
    return bool(asked or (len(low) > 12 and asking.MOMENTARY.search(low)))
