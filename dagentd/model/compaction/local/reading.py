"""Reads messages in their order: first what was done, then what was said, at last what is in progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import asking, meant, phrases, progress, prose, wishes
from dagentd.model.compaction.local.deeds import Deed, deeds
from dagentd.model.compaction.local.draft import Draft, tokens
from dagentd.model.compaction.local.failures import Failures
from dagentd.model.compaction.local.fragments import is_fragment
from dagentd.model.compaction.local.judging import MEDIUM, STRONG, WEAK
from dagentd.model.compaction.local.matters import Matters
from dagentd.model.compaction.local.own_words import of_person
from dagentd.model.compaction.local.reported import errors
from dagentd.model.compaction.local.statements import Statement, statements
from dagentd.model.compaction.local.subjects import words
from dagentd.model.compaction.local.wishes import Wishes
from dagentd.model.compaction.local.work import Work
from dagentd.model.compaction.operations import ListName, Operation
from dagentd.model.compaction.turns import Turn

# Tokens up to which a statement of that strength is still an item: a checkpoint has some 5 000. When it is full, talk
# leaves first (`checkpoints.within`), but nobody gains by reading more of that than of what was decided.
_ROOM = {STRONG: 1 << 60, MEDIUM: 4_800, WEAK: 4_400}


class Reading:
    def __init__(self, items: Sequence[Item], turns: Sequence[Turn]) -> None:
        self._draft = Draft(items)
        self._turns = [of_person(turn) for turn in turns]
        self._used = sum(tokens(item.text) for item in items)
        self._talk = 400 + 4 * len(turns)  # tokens for what may be talk: early rounds must not fill the room with it
        self._matters, self._wishes = Matters(self._draft), Wishes(self._draft)
        self._failures, self._work = Failures(self._draft), Work(self._draft)
        self._evidence = False  # whether something was achieved since the user spoke last
        self._asked: list[str] = []  # ids of what the user's last message asked for
        self._proposal = self._question = ""
        self._explains = False  # whether the user asked how something is, so that what is told decides nothing

    def operations(self) -> list[Operation]:
        done: dict[int, list[Deed]] = defaultdict(list)
        for at, deed in deeds(self._turns):
            done[at].append(deed)
        for at, turn in enumerate(self._turns):
            self._read(at, turn, done[at])
        last = self._turns[-1].id
        self._work.finish()
        progress.update(self._draft, self._wishes, self._turns)
        self._wishes.cap(last)
        self._failures.cap(last)
        return self._draft.operations()

    def _read(self, at: int, turn: Turn, done: list[Deed]) -> None:
        for deed in done:
            self._failures.take(deed)
            self._evidence = self._work.take(deed) or self._evidence
        if turn.role == "user" and not turn.internal:
            self._from_user(at, turn)
        elif turn.role in ("user", "assistant"):
            self._from_assistant(at, turn)
        elif not turn.tools and (line := errors(turn.words, first_only=True)):
            self._failures.told(line[0], turn.id)

    def _from_user(self, at: int, turn: Turn) -> None:
        said = list(prose.sentences(turn.words))
        if not said and not turn.words.strip():
            return
        self._affirmed(at, turn)
        question, self._question = self._question, ""
        self._evidence, self._asked, self._proposal = False, [], ""
        if len(said) == 1 and is_fragment(said[0].text):
            self._answered(question, said[0].text, at, turn)
            return
        self._explains = any(asking.EXPLAIN.search(one.text.lower()) for one in said)
        for one in said:
            self._wishes.withdrawn(one.text, turn.id)
        for claim in wishes.claims(said):
            self._wishes.done(claim, True, turn.id)
        failed = errors(turn.words)
        for found in statements(said, by_user=True):
            if found.kind != "fact" or not errors(found.text):
                self._stated(found, at, turn)
        for line in failed:
            self._failures.told(line, turn.id)

    def _stated(self, found: Statement, at: int, turn: Turn) -> None:
        if found.kind == "request" and not self._matters.reverses(found, at):
            if self._has_room(found.strength):
                self._asked.append(self._wishes.take(found, turn.id))
            return
        name: ListName = "decisions" if found.by_user or found.kind == "decision" else "completed"
        wanted = self._has_room(found.strength)
        if not wanted and not found.marker:
            return
        if found.by_user and self._wishes.decided(found, turn.id):
            return
        before = len(self._draft)
        self._matters.take(found, name, turn.id, at, wanted)
        if len(self._draft) > before:
            self._took(found)

    def _has_room(self, strength: int) -> bool:
        return self._used < _ROOM[strength] and (strength > WEAK or self._talk > 0)

    def _took(self, found: Statement) -> None:
        size = tokens(found.text)
        self._used += size
        self._talk -= size if found.strength == WEAK else 0

    def _affirmed(self, at: int, turn: Turn) -> None:
        """A short yes makes the assistant's proposal a decision."""
        text = self._proposal
        if meant.asks_leave(text):
            return
        if text and len(turn.words) < 120 and phrases.AFFIRMED.match(turn.words.strip().lower()):
            agreed = prose.shortened(f"{text} (user: {prose.shortened(turn.words, 60)})", 400)
            self._matters.take(Statement("decision", agreed, STRONG, True), "decisions", turn.id, at, True)

    def _answered(self, question: str, text: str, at: int, turn: Turn) -> None:
        """A word or two are a decision together with the question that they answer, and nothing else."""
        low = text.lower()
        idle = phrases.TALK.match(low) or phrases.AFFIRMED.match(low) or meant.weighed(low)
        if words(question) and not idle:
            agreed = Statement("decision", prose.shortened(f"{question} {text}", 400), STRONG, True)
            self._matters.take(agreed, "decisions", turn.id, at, True)

    def _from_assistant(self, at: int, turn: Turn) -> None:
        said = list(prose.sentences(turn.words))
        for found in statements(said, by_user=False):
            if not phrases.BLOCKED.match(found.low) and not (found.only_told and self._explains):
                self._stated(found, at, turn)
        self._claimed(said, turn)
        questions = [one.text for one in said if one.text.endswith(("?", "？"))]
        self._question = prose.ungreeted(questions[-1]) if questions else ""
        if questions:
            self._matters.asked(at)
        for one in said:
            if phrases.PROPOSAL.search(one.text.lower()):
                self._proposal = prose.shortened(prose.ungreeted(one.text))
            elif phrases.BLOCKED.match(one.text.lower()) or one.text in errors(one.text):
                self._failures.told(one.text, turn.id)

    def _claimed(self, said: list[prose.Sentence], turn: Turn) -> None:
        """Done is what is said to be done and what tools show; a bare "Done." answers the last message, and so does
        what has a word of the only thing that was asked there, if nothing is left to do."""
        claims = wishes.claims(said)
        closed = [self._wishes.done(claim, self._evidence, turn.id) for claim in claims]
        if not claims or any(closed) or not self._evidence:
            return
        asked = [item for item in map(self._wishes.get, self._asked) if item is not None]
        if len(asked) == 1 and (len(words(claims[0])) < 2 or wishes.answers(said, claims, asked[0].text)):
            self._wishes.close(asked[0], True, turn.id)
        elif len(claims[0]) > 25 and self._has_room(WEAK):
            self._draft.add("completed", prose.shortened(claims[0]), turn.id)
