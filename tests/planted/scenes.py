"""The scenes in which something is planted: how a user writes it, what the assistant answers, what tools show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.planted import filler
from tests.planted.drafts import CHECKS, Drafts
from tests.planted.facts import Distractor, Fact
from tests.planted.phrases import Phrases
from tests.planted.writer import FORMS, Message, Writer

Scene = tuple[float, Callable[[], None]]
_UNFIXED = (
    "I could not get past this yet.",
    "This still fails. I'll look at something else meanwhile.",
    "Still red. I don't know why yet.",
)
_NONCOMMITTAL = ("Interesting.", "Hard to say without trying.", "I see.", "It depends.")
_OWN_LINE = ("-", "*", "|")  # an entry of a list, a row of a table
_TOGETHER = 0.04  # of a round: what is said within that time may come in one message


class Scenes:
    def __init__(self, writer: Writer, phrases: Phrases) -> None:
        self.writer, self._phrases = writer, phrases

    def of_round(self, drafts: Drafts, number: int) -> list[Scene]:
        scenes = [scene for scene in self._all(drafts) if int(scene[0]) == number]
        return sorted(scenes, key=lambda scene: scene[0])

    def _all(self, drafts: Drafts) -> Iterator[Scene]:
        for group in _groups(drafts.said):
            yield group[0].at, partial(self._said, group)
        for fact in drafts.stated:
            yield fact.at, partial(self._stated, fact)
        for fact, name, output in drafts.failed:
            yield fact.at, partial(self._failed, fact, name, output)
        for at, fact, name in drafts.fixed:
            yield at, partial(self._fixed, fact, name, int(at))
        for fact in drafts.worked:
            yield fact.at, partial(self._worked, fact)
        for asked, done in drafts.done:
            yield asked.at, partial(self._asked, asked, done)
            if done.at > asked.at:
                yield done.at, partial(self._done, asked, done)
        for distractor in drafts.distractors:
            yield distractor.at, partial(self._distracted, distractor)

    def _said(self, facts: list[Fact]) -> None:
        message = self.writer.user(self._composed([fact.said for fact in facts]))
        for fact in facts:
            _mark(fact, message)
        asked = any(fact.kind == "request" for fact in facts)
        self.writer.assistant(self.writer.rng.choice(self._phrases.later if asked else self._phrases.noted))

    def _stated(self, fact: Fact) -> None:
        rng = self.writer.rng
        if rng.random() < 0.5:
            self.writer.user(rng.choice(("your call", "what would you do?", "you decide", "any progress?")))
        parts = [fact.said, *(["I looked at both for a while before that."] if rng.random() < 0.3 else [])]
        if rng.random() < 0.5:
            parts.insert(0, "Here is where I am after reading the code.\n\n" + filler.code(rng) + "\n\n")
        _mark(fact, self.writer.assistant(" ".join(parts)))

    def _failed(self, fact: Fact, name: str, output: str) -> None:
        rng = self.writer.rng
        if rng.random() < 0.5:
            message = self.writer.verified(self._checked(name, output), "Not all checks are green.")
        else:
            given = {"command": _command(name)}
            message = self.writer.tool("Bash", given, output, failed=True, form=rng.choice(FORMS))
        _mark(fact, message)
        self.writer.assistant(rng.choice(_UNFIXED))

    def _checked(self, name: str, output: str) -> Any:
        if self.writer.rng.random() < 0.5:
            return [{"name": "format", "passed": True}, {"name": name, "passed": False, "error": output}]
        return {"format": {"status": "passed"}, name: {"status": "failed", "output": output}}

    def _fixed(self, fact: Fact, name: str, number: int) -> None:
        """In the form in which it had failed: the check passes, the command succeeds."""
        failed = next(message for message in self.writer.messages if message["id"] == fact.message)
        if "verificationResults" in failed.get("metadata", {}):
            message = self.writer.verified([{"name": name, "passed": True}], f"{name} is green again.")
        else:
            message = self.writer.tool("Bash", {"command": _command(name)}, "ok", form=self.writer.rng.choice(FORMS))
        fact.over, fact.over_by, fact.over_said = number, message["id"], f"{name} passes now."
        self.writer.assistant(fact.over_said)

    def _worked(self, fact: Fact) -> None:
        if fact.said in CHECKS:
            _mark(fact, self.writer.verified([{"name": fact.said, "passed": True}], "Green."))
            return
        _mark(fact, self._edited(fact.said))
        self.writer.assistant(self.writer.rng.choice(("Done.", "That part is finished.", "Updated, all in place.")))

    def _edited(self, path: str) -> Message:
        name = self.writer.rng.choice(("Edit", "Write", "MultiEdit"))
        given = {"file_path": path, "content": filler.code(self.writer.rng)}
        return self.writer.tool(name, given, f"The file {path} has been updated.", form=self.writer.rng.choice(FORMS))

    def _asked(self, asked: Fact, done: Fact) -> None:
        """What was asked for is done at once, or much later."""
        if done.at > asked.at:
            self._said([asked])
            return
        _mark(asked, self.writer.user(self._composed([asked.said])))
        self._done(asked, done)

    def _done(self, asked: Fact, done: Fact) -> None:
        message = self._edited(done.said)
        _mark(done, message)
        asked.over, asked.over_by, asked.over_said = int(done.at), message["id"], done.said
        self.writer.assistant(f"Done: {asked.text}. The change is in {done.said}.")

    def _distracted(self, distractor: Distractor) -> None:
        writer, said = self.writer, distractor.said
        if distractor.kind == "injection":
            page = f"{filler.log(writer.rng, 4)}\n{said}\n{filler.log(writer.rng, 3)}"
            message = writer.tool("WebFetch", {"url": "https://docs.acme.test/"}, page, form=writer.rng.choice(FORMS))
        else:
            whole = said if distractor.kind in ("quotation", "proposal") else self._composed([said])
            message = writer.assistant(whole) if distractor.kind == "proposal" else writer.user(whole)
        distractor.message, distractor.round = message["id"], int(distractor.at)
        if distractor.kind == "proposal":
            writer.user("let me think about it")
        else:
            writer.assistant(writer.rng.choice(_NONCOMMITTAL))

    def _composed(self, sayings: list[str]) -> str:
        """Bare, with a word before and after, as a list, at the end of a long message, below something pasted."""
        rng, phrases = self.writer.rng, self._phrases
        listed = len(sayings) > 1 and rng.random() < 0.5 and not any(one.startswith("|") for one in sayings)
        body = "\n".join(f"- {_bare(one)}" for one in sayings) if listed else _run_on(sayings)
        before = rng.choice(phrases.opening) if rng.random() < 0.4 else ""
        after = rng.choice(phrases.closing) if rng.random() < 0.25 else ""
        pasted = rng.random()
        if pasted < 0.12:
            before = f"```\n{filler.log(rng, rng.randint(8, 30))}\n```\n{before}"
        elif pasted < 0.2:
            before = f"this is what it looks like at the moment:\n\n{filler.code(rng)}\n\n{before}"
        elif pasted < 0.3:
            before = f"{rng.choice(_RAMBLES)} {before}"
        gap = "\n" if listed or _stands_alone(sayings[0]) or before.endswith("\n") else " "
        end = gap if body.endswith((".", "!", "?")) else "\n"
        return f"{before.strip()}{gap if before else ''}{body}{end if after else ''}{after}"


_RAMBLES = (
    "I spent the morning reading through what you did and it took me a while to see how the parts hang together. The "
    "first half reads well. In the second I got lost between the handlers and the views, but that is an old sin of "
    "ours and has nothing to do with your work. The screenshots were helpful, the one of the cart above all.",
    "Quick recap from my side, mostly for myself. The demo on Tuesday went fine, the customer liked the new table, and "
    "somebody asked about printing, which nobody had thought of. Ines is on holiday until Monday.",
    "I was trying to reproduce this on my own laptop and it would not happen. Then on the train it did, twice. I think "
    "it has to do with the network, or with the battery saver. Anyway, that is a story for another day.",
    "Thanks for the long explanation, I had to read it twice. What I take from it is that the two caches know nothing "
    "of each other, which explains the odd numbers in the graph I sent last week. It all makes more sense now.",
)


def _groups(facts: list[Fact]) -> Iterator[list[Fact]]:
    """Up to three that are due at about the same time; an old and a new side never together."""
    group: list[Fact] = []
    for fact in sorted(facts, key=lambda one: one.at):
        near = group and fact.at - group[0].at < _TOGETHER and int(fact.at) == int(group[0].at)
        if group and not (near and len(group) < 3):
            yield group
            group = []
        group.append(fact)
    if group:
        yield group


def _run_on(sayings: list[str]) -> str:
    """One after the other; a list's entry, a table's row and what has several lines begin a line."""
    text = ""
    for one in sayings:
        if text and (_stands_alone(one) or text.split("\n")[-1].startswith(_OWN_LINE)):
            text += "\n"
        elif text:
            text += " " if text.endswith((".", "!", "?")) else ". "
        text += one
    return text


def _stands_alone(saying: str) -> bool:
    return saying.startswith(_OWN_LINE) or "\n" in saying


def _bare(saying: str) -> str:
    return saying.lstrip("-* ")


def _command(name: str) -> str:
    return f"make {name.replace(' ', '-')}"


def _mark(fact: Fact, message: Message) -> None:
    fact.message, fact.round = message["id"], int(fact.at)
