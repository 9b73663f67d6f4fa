"""What came of a chaos run, as a table to read."""

from __future__ import annotations

from collections import Counter
from statistics import median, quantiles

from tests.torture.chaos.outcome import BOUNDS, Outcome


def table(outcome: Outcome) -> str:
    """Ends with what is wrong, or with the words that nothing is."""
    rows = [*_messages(outcome), *_times(outcome), *_levels(outcome), *_happened(outcome)]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    verdict = [f"WRONG: {told}" for told in outcome.complaints] or ["nothing is wrong"]
    told = "\n".join([f"chaos, seed {outcome.seed}", *lines, *verdict]) + "\n"
    return told.encode("utf-8", "backslashreplace").decode()  # half an emoji is among what was said


def _messages(outcome: Outcome) -> list[tuple[str, str]]:
    truth, found = outcome.truth, outcome.found
    return [
        ("messages acknowledged", f"{len(truth.acknowledged)}, and {len(truth.by_app)} that the app wrote"),
        ("  lost", f"{len(found.lost)}"),
        ("  doubled", f"{len(found.doubled)}"),
        ("unparsable files", f"{len(found.unparsable)}"),
        ("journals read at the end", f"{found.journals} with {found.messages} messages"),
        ("refused, or not answered", f"{len(truth.unanswered)}"),
        ("lost by the app itself", f"{len(truth.excused)}"),
    ]


def _times(outcome: Outcome) -> list[tuple[str, str]]:
    values = [each for _, each in outcome.samples.latency] or [0.0, 0.0]
    slow = quantiles([*values, values[0]], n=100)[-1]
    told = f"median {median(values):.1f} ms, 99 of 100 {slow:.0f} ms, slowest {max(values):.0f} ms"
    return [("until acknowledged", told)]


def _levels(outcome: Outcome) -> list[tuple[str, str]]:
    """Of the process that lived through the last round, beside one that just started."""
    return [
        (name, f"{now:g} where a fresh one has {fresh:g} (allowed: {more:g} more)")
        for name, now, fresh, more in zip(BOUNDS, outcome.survivor, outcome.fresh, BOUNDS.values(), strict=True)
    ]


def _happened(outcome: Outcome) -> list[tuple[str, str]]:
    rows = [("calls to the model", f"{outcome.answers.total()} of {outcome.allowed_calls} allowed")]
    rows += [("  it answered", _counted(outcome.answers)), ("  and the ledger says", _counted(outcome.outcomes))]
    rows += [("happened", _counted(outcome.truth.done))]
    rows += [("refused", f"{count} × {why}") for why, count in outcome.truth.refused.most_common(8)]
    rows += [("git, on a full disk", f"{count} × {why}") for why, count in outcome.truth.without_room.items()]
    return rows + [("not tried here", told) for told in outcome.skipped]


def _counted(times: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(times.items()))
