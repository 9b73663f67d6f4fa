"""Writes the conversation: the drafts at their places, in messages as people write them, and filler between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dagentd.model.compaction.items import Item
from tests.planted import filler
from tests.planted.drafts import Drafting, Drafts
from tests.planted.facts import Distractor, Fact
from tests.planted.phrases import Phrases
from tests.planted.phrases_blind import BLIND
from tests.planted.phrases_fresh import FRESH
from tests.planted.phrases_further import FURTHER
from tests.planted.phrases_held_out import HELD_OUT
from tests.planted.phrases_judge import JUDGE
from tests.planted.phrases_offhand import OFFHAND
from tests.planted.phrases_seen import SEEN
from tests.planted.phrases_stranger import STRANGER
from tests.planted.scenes import Scenes
from tests.planted.scoring import Score, score
from tests.planted.writer import Message, Writer

Half = Literal["seen", "held_out", "fresh", "further", "offhand", "judge", "blind", "stranger"]
HALVES: dict[Half, Phrases] = {
    "seen": SEEN,
    "held_out": HELD_OUT,
    "fresh": FRESH,
    "further": FURTHER,
    "offhand": OFFHAND,
    "judge": JUDGE,
    "blind": BLIND,
    "stranger": STRANGER,
}


@dataclass(frozen=True)
class Conversation:
    rounds: tuple[tuple[Message, ...], ...]
    facts: tuple[Fact, ...]
    distractors: tuple[Distractor, ...]

    @property
    def messages(self) -> list[Message]:
        return [message for each in self.rounds for message in each]

    def score(self, items: Sequence[Item], rounds: int | None = None) -> Score:
        """Of items that were made from the first `rounds` rounds, or from all."""
        seen = len(self.rounds) if rounds is None else rounds
        ids = {message["id"] for each in self.rounds[:seen] for message in each}
        return score(self.facts, self.distractors, items, seen, ids)


def conversation(seed: int, half: Half = "seen", rounds: int = 5, messages: int = 300) -> Conversation:
    """Equal arguments give an equal one; `messages` is how many a round has, a few more or less."""
    rng = random.Random(f"{seed} {half}")
    drafts = Drafting(rng, HALVES[half], rounds).drafts()
    writer = Writer(rng)
    scenes = Scenes(writer, HALVES[half])
    parts = tuple(_round(scenes, drafts, number, messages) for number in range(rounds))
    facts = tuple(drafts.facts())
    for fact in facts:
        if (new := fact.successor) is not None:
            fact.over, fact.over_by, fact.over_said = new.round, new.message, new.said
    return Conversation(parts, facts, tuple(drafts.distractors))


def _round(scenes: Scenes, drafts: Drafts, number: int, messages: int) -> tuple[Message, ...]:
    """Each scene stands where its moment is, measured in messages; what is due at about the same time and said by the
    user may come in one message."""
    writer = scenes.writer
    start = len(writer.messages)
    for moment, play in scenes.of_round(drafts, number):
        while len(writer.messages) - start < (moment - number) * (messages - 6):
            filler.scene(writer)
        play()
    while len(writer.messages) - start < messages - 3:
        filler.scene(writer)
    filler.quiet_end(writer)
    return tuple(writer.messages[start:])
