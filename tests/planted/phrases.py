"""The forms of words for each kind of fact; each set of them says first whether rules were tuned on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrases:
    """Slots: topic, choice, other, old, why, core, subject, value, unit, what, path."""

    decision: tuple[str, ...]  # said by the user
    resolution: tuple[str, ...]  # a decision that the assistant states
    reversal: tuple[str, ...]  # names what it replaces
    change: tuple[str, ...]  # names only the topic
    never: tuple[str, ...]
    must: tuple[str, ...]
    number: tuple[str, ...]
    renumbering: tuple[str, ...]
    place: tuple[str, ...]
    request: tuple[str, ...]
    later: tuple[str, ...]  # the assistant's answer to a request that stays open
    noted: tuple[str, ...]  # its answer to anything else
    opening: tuple[str, ...]  # what stands before a fact in the same message
    closing: tuple[str, ...]
    # what looks like a fact and is none
    question: tuple[str, ...]
    hypothesis: tuple[str, ...]
    hearsay: tuple[str, ...]
    proposal: tuple[str, ...]  # by the assistant, waiting for an answer
    quotation: tuple[str, ...]  # of somebody's documentation
    injection: tuple[str, ...]  # in what a tool gave back
