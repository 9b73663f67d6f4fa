"""Chooses what is planted in a conversation: which facts, in which words, where, and which of them end."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from tests.planted import subjects
from tests.planted.facts import Distractor, Fact, Kind, Needs, chosen, demanded, forbidden, measured, placed
from tests.planted.phrases import Phrases

# How many of each; with five rounds they fit into a checkpoint of 8 000 tokens.
DECISIONS, BY_ASSISTANT, REVERSALS, CHAINS, NEVERS, MUSTS, NUMBERS, RENUMBERINGS = 24, 6, 8, 2, 12, 10, 10, 3
PLACES, REQUESTS, DONE_REQUESTS, DONE_LATER, ERRORS, FIXED, FILES = 10, 14, 6, 3, 7, 4, 12
CHECKS = ("accessibility scan", "load test of the checkout", "licence audit")
_TYPOS = {"because": "becuase", "should": "shoudl", "please": "plese", "with": "wiht", "after": "aftre", "want": "wnat"}

T = TypeVar("T")


@dataclass
class Drafts:
    """In the order in which they are to be planted: what is said, what happens, what ends, what distracts."""

    said: list[Fact] = field(default_factory=list)  # by the user
    stated: list[Fact] = field(default_factory=list)  # by the assistant
    failed: list[tuple[Fact, str, str]] = field(default_factory=list)  # with the tool and its whole output
    fixed: list[tuple[float, Fact, str]] = field(default_factory=list)
    worked: list[Fact] = field(default_factory=list)
    done: list[tuple[Fact, Fact]] = field(default_factory=list)  # a request, and the work that fulfils it
    distractors: list[Distractor] = field(default_factory=list)

    def facts(self) -> list[Fact]:
        failed = [fact for fact, _, _ in self.failed]
        done = [fact for pair in self.done for fact in pair]
        return sorted([*self.said, *self.stated, *failed, *self.worked, *done], key=lambda fact: (fact.at, fact.id))


class Drafting:
    def __init__(self, rng: random.Random, phrases: Phrases, rounds: int) -> None:
        self._rng, self._phrases, self._rounds = rng, phrases, rounds
        self._drafts = Drafts()
        self._bags: dict[str, list[str]] = {}
        self._number = 0

    def drafts(self) -> Drafts:
        topics = self._shuffled(subjects.TOPICS)
        self._decisions(topics)
        self._reversals(topics)
        self._constraints()
        self._numbers_and_places()
        self._work()
        self._failures()
        self._distractors(topics)
        return self._drafts

    def _decisions(self, topics: Iterator[tuple[str, tuple[str, ...]]]) -> None:
        for count in range(DECISIONS):
            topic, (choice, other, *_) = next(topics)
            form = "resolution" if count < BY_ASSISTANT else "decision"
            said = self._say(form, topic=topic, choice=choice, other=other, why=self._rng.choice(subjects.WHYS))
            fact = self._choice("decision", topic, choice, said, self._anywhere())
            (self._drafts.stated if count < BY_ASSISTANT else self._drafts.said).append(fact)

    def _reversals(self, topics: Iterator[tuple[str, tuple[str, ...]]]) -> None:
        for count in range(REVERSALS):
            topic, choices = next(topics)
            sides = self._rng.sample(choices, 3 if count < CHAINS else 2)
            old: Fact | None = None
            for side, at in zip(sides, self._moments(len(sides)), strict=True):
                form = "decision" if old is None else "change" if self._rng.random() < 0.3 else "reversal"
                others = [one for one in choices if one not in sides] or ["anything else"]
                told = {"topic": topic, "choice": side, "other": others[0], "why": self._rng.choice(subjects.WHYS)}
                said = self._say(form, old=sides[sides.index(side) - 1], **told)
                old = self._follow(old, self._choice("reversal" if old else "decision", topic, side, said, at))

    def _constraints(self) -> None:
        nevers, musts = self._shuffled(subjects.NEVERS), self._shuffled(subjects.MUSTS)
        for core, words in (next(nevers) for _ in range(NEVERS)):
            said = self._say("never", core=core)
            self._tell(self._fact("constraint", f"Do not {core}", forbidden(words), said, self._anywhere()))
        for core, words in (next(musts) for _ in range(MUSTS)):
            said = self._say("must", core=core)
            self._tell(self._fact("constraint", f"Always {core}", demanded(words), said, self._anywhere()))
        for core, words in list(nevers)[:6]:
            self._distract("quotation", demanded(words), self._say("quotation", core=core))
        for core, words in list(musts)[:5]:
            self._distract("injection", demanded(words), self._say("injection", core=core))

    def _numbers_and_places(self) -> None:
        numbers = self._shuffled(subjects.NUMBERS)
        for count in range(NUMBERS + RENUMBERINGS):
            subject, word, unit, values = next(numbers)
            old: Fact | None = None
            moments = self._moments(2) if count < RENUMBERINGS else [self._anywhere()]
            for value, before, at in zip(values, (0, *values), moments, strict=False):
                told = {"subject": subject, "value": str(value), "unit": unit, "old": str(before)}
                said = self._say("renumbering" if old else "number", why=self._rng.choice(subjects.WHYS), **told)
                kind: Kind = "reversal" if old else "number"
                new = self._fact(kind, f"{subject}: {value} {unit}", measured(word, value), said, at)
                old = self._follow(old, new)
        for what, word, path in list(self._shuffled(subjects.PLACES))[:PLACES]:
            said = self._say("place", what=what, path=path)
            self._tell(self._fact("path", f"The {what} belong in {path}", placed(word, path), said, self._anywhere()))

    def _work(self) -> None:
        work, files = self._shuffled(subjects.WORK), self._shuffled(subjects.FILES)
        for core, words in (next(work) for _ in range(REQUESTS)):
            said = self._say("request", core=core)
            self._tell(self._fact("request", core[0].upper() + core[1:], demanded(words), said, self._anywhere()))
        for path in (next(files) for _ in range(FILES - DONE_REQUESTS)):
            self._drafts.worked.append(self._fact("completed", f"Changed {path}", ((path,),), path, self._anywhere()))
        for name in CHECKS:
            self._drafts.worked.append(self._fact("completed", f"{name} passed", ((name,),), name, self._anywhere()))
        for count, (path, (core, words)) in enumerate((next(files), next(work)) for _ in range(DONE_REQUESTS)):
            begin, end = self._moments(2)
            asked = self._fact("request", core, demanded(words), self._say("request", core=core), begin)
            at = end if count < DONE_LATER else begin
            self._drafts.done.append((asked, self._fact("completed", f"Changed {path}", ((path,),), path, at)))

    def _failures(self) -> None:
        for count, (name, line, rest) in enumerate(list(self._shuffled(subjects.ERRORS))[: ERRORS + FIXED]):
            begin, end = self._moments(2)
            fact = self._fact("error", line, ((line,),), line, begin)
            self._drafts.failed.append((fact, name, f"{line}\n{rest}"))
            if count < FIXED:
                self._drafts.fixed.append((end, fact, name))

    def _distractors(self, topics: Iterator[tuple[str, tuple[str, ...]]]) -> None:
        for form, many in (("question", 5), ("hypothesis", 5), ("hearsay", 3), ("proposal", 3)):
            for topic, (choice, other, *_) in (next(topics) for _ in range(many)):
                self._distract(form, chosen(topic, choice), self._say(form, topic=topic, choice=choice, other=other))

    def _choice(self, kind: Kind, topic: str, choice: str, said: str, at: float) -> Fact:
        return self._fact(kind, f"Use {choice} for the {topic}", chosen(topic, choice), said, at)

    def _fact(self, kind: Kind, text: str, needs: Needs, said: str, at: float) -> Fact:
        self._number += 1
        lists = {"completed": "completed", "request": "pending", "error": "blockers"}
        return Fact(f"f{self._number}", kind, lists.get(kind, "decisions"), text, needs, said=said, at=at)

    def _tell(self, fact: Fact) -> None:
        self._drafts.said.append(fact)

    def _follow(self, old: Fact | None, new: Fact) -> Fact:
        if old:
            old.successor = new
        self._tell(new)
        return new

    def _distract(self, kind: str, needs: Needs, said: str) -> None:
        self._drafts.distractors.append(Distractor(kind, needs, said, at=self._anywhere()))

    def _say(self, form: str, **slots: str) -> str:
        """Each phrasing once before any comes again; now and then as one types in a hurry."""
        bag = self._bags.setdefault(form, [])
        if not bag:
            bag.extend(self._rng.sample(getattr(self._phrases, form), len(getattr(self._phrases, form))))
        words = bag.pop()
        if form not in ("resolution", "quotation", "injection", "proposal"):
            words = self._hurried(words)
        said = words.format(**slots)
        return said[0].upper() + said[1:] if words[0].isupper() else said

    def _hurried(self, words: str) -> str:
        if self._rng.random() < 0.15 and words[0].isalpha():
            words = words[0].lower() + words[1:].rstrip(".")
        if self._rng.random() < 0.1:
            words = re.sub(r"\w+", lambda found: _TYPOS.get(found[0], found[0]), words)
        return words

    def _shuffled(self, values: Sequence[T]) -> Iterator[T]:
        return iter(self._rng.sample(values, len(values)))

    def _anywhere(self) -> float:
        return self._rng.randrange(self._rounds) + self._rng.uniform(0.02, 0.95)

    def _moments(self, many: int) -> list[float]:
        """One after the other, each at least a tenth of a round later."""
        while True:
            found = sorted(self._anywhere() for _ in range(many))
            if all(later - sooner > 0.1 for sooner, later in pairwise(found)):
                return found
