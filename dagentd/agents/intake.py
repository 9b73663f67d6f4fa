"""Intake: one thread takes in what agents write, as it is heard of; what is much is taken in by a process of its own.

Reading a gigabyte in a thread would have every client of the daemon wait for its turn at the interpreter."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.agents import finding
from dagentd.agents.conversation import Agent
from dagentd.agents.finding import Found
from dagentd.agents.following import Following, Gained, Parked, Survey
from dagentd.agents.keeping import Part
from dagentd.agents.notes import Notes
from dagentd.agents.reading import Reading
from dagentd.errors import DagentdError, expected
from dagentd.model.problem import Problem

_MUCH = 8 << 20  # bytes that are worth a process
_TIDY = 3600.0  # seconds between two looks for what can be sealed

_log = logging.getLogger(__name__)

Announce = Callable[[Gained, int], None]


@dataclass
class Progress:
    """Of what was there before we looked: files and bytes, and how much of it is done."""

    files: int = 0
    bytes: int = 0
    files_done: int = 0
    bytes_done: int = 0

    def raw(self) -> dict[str, int]:
        done = {"filesDone": self.files_done, "bytesDone": self.bytes_done}
        return {"files": self.files, "bytes": self.bytes, **done}


class Intake:
    """`announce` is told of each conversation that has more, and how many messages it has now; `watched` which folders
    matter."""

    def __init__(
        self, following: Following, reading: Reading, notes: Notes, *, announce: Announce,
        watched: Callable[[list[Path]], None], tidy: Callable[[], None],
        on_bug: Callable[[BaseException], object], process: Callable[[], list[str]] | None,
    ) -> None:  # fmt: skip
        """`process` gives the command that does what is much; None: it is done here."""
        self._following, self._reading, self._notes = following, reading, notes
        self._announce, self._watched, self._tidy_up = announce, watched, tidy
        self._on_bug, self._command = on_bug, process
        self._changed = threading.Condition()
        self._heard: dict[Path, None] = {}
        self._look = True
        self._closing = False
        self._child: subprocess.Popen[bytes] | None = None
        self._tidied = float("-inf")
        self._problems: dict[str, Problem] = {}
        self.survey = Survey()
        self.progress: Progress | None = None
        self.kept: list[dict[str, Any]] = []  # of each agent, as of the last look
        self._thread = threading.Thread(target=self._run, name="agents", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop; what is not taken in yet is still the agent's, and taken in after the next start."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            if self._child is not None:
                self._child.terminate()
        if self._thread.is_alive():
            self._thread.join()

    def hear(self, paths: Iterable[Path]) -> None:
        """Something happened to these files or folders."""
        with self._changed:
            self._heard.update(dict.fromkeys(paths))
            self._changed.notify()

    def look_at_all(self) -> None:
        with self._changed:
            self._look = True
            self._changed.notify()

    def problems(self) -> list[Problem]:
        return list(self._problems.values())

    # --- the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._wait():
            try:
                self._work()
            except Exception as error:
                self._tell("agents", self._following.folder, error)

    def _wait(self) -> bool:
        with self._changed:
            while not (self._closing or self._heard or self._look):
                self._changed.wait()
            return not self._closing

    def _work(self) -> None:
        self._take_heard()
        with self._changed:
            look, self._look = self._look, False
        if not look:
            return
        self.survey = survey = self._following.survey()
        self._watched([*survey.watched, self._notes.spool])
        self._count()
        unread = [each for _, behind in _behind(self._following, self._reading) for each in behind]
        due = {"parked", *(str(found.path) for found in survey.due), *(str(part.path) for _, part, _ in unread)}
        self._problems = {key: each for key, each in self._problems.items() if key in due}  # others are over
        if survey.size + sum(size for _, _, size in unread) > _MUCH and self._command is not None:
            self._by_process(survey)
            if self._look:  # with others, which may have as much
                return
            survey = self._following.survey()  # what the process left, or was written meanwhile
        self._here(survey.due)
        self._read_rest()
        self.progress = None
        self._count()
        if clock.monotonic() - self._tidied >= _TIDY:
            self._tidied = clock.monotonic()
            self._tidy_up()

    def _take_heard(self) -> None:
        self.hear(self._named())
        with self._changed:
            heard, self._heard = list(self._heard), {}
        agents = self._following.agents()
        for path in heard:
            found = finding.look_at(path, agents)
            if isinstance(found, Found):
                self._take(found)
            elif found is None:  # a folder that came or went, or a file that moved
                self._look = self._look or os.path.isdir(path) or not os.path.lexists(path)

    def _named(self) -> Iterator[Path]:
        """The transcripts that hooks told of, where last seen; if they were not, all that is new is looked for."""
        for note in self._notes.take():
            seen = self._following.known.seen_of(note.agent, note.uuid) if note.uuid is not None else []
            self._look = self._look or not seen
            yield from (each.path for each in seen)

    def _here(self, due: list[Found]) -> None:
        self.progress = Progress(len(due), sum(found.status.st_size for found in due)) if due else None
        for found in due:
            if self._closing or not self._take(found):
                return
            if self.progress is not None:
                self.progress.files_done += 1
                self.progress.bytes_done += found.status.st_size
            self._take_heard()

    def _read_rest(self) -> None:
        """Read what is kept: not read before an end, or by another version of ours, or forgotten with something."""
        for agent, behind in _behind(self._following, self._reading):
            for key, part, _ in behind:
                if self._closing:
                    return
                try:
                    self._reading.catch_up(agent, key, part)
                except Exception as error:
                    self._tell(str(part.path), part.path, error)
                self._take_heard()

    def _take(self, found: Found) -> bool:
        """False where there is no room for anything more."""
        try:
            while (gained := self._following.take(found)) is not None and not self._closing:
                self._announce(gained, self._reading.catch_up(gained.agent, gained.name, gained.part))
                if not gained.more:
                    break
            self._problems.pop(str(found.path), None)
            self._problems.pop("parked", None)
        except Parked as error:
            self._tell("parked", found.path, error)
            return False
        except Exception as error:
            self._tell(str(found.path), found.path, error)
        return True

    def _by_process(self, survey: Survey) -> None:
        """Lines that are written meanwhile are taken in here, as they are heard of. Where the projects or the settings
        are others then, it ends: it could take in what nobody wants kept any more."""
        assert self._command is not None
        self.progress, begun, command = Progress(len(survey.due), survey.size), time.time(), self._command()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
            with self._changed:
                self._child = child
                if self._closing:
                    child.terminate()
            teller = threading.Thread(target=self._hear_progress, args=(child, self.progress), daemon=True)
            teller.start()
            while self._wait_beside(child):
                if self._command() != command:
                    child.terminate()
                    break
                self._take_heard()
                self._take_since(begun)
            teller.join()
        self._look = self._look or self._command() != command
        if child.returncode and not self._closing and not self._look:
            _log.warning("conversations were not taken in at once (exit %d); they are one by one", child.returncode)

    def _hear_progress(self, child: subprocess.Popen[bytes], progress: Progress) -> None:
        assert child.stdout is not None
        for line in child.stdout:
            told = json.loads(line)
            progress.files_done, progress.bytes_done = told["filesDone"], told["bytesDone"]
        with self._changed:
            self._child = None
            self._changed.notify()

    def _wait_beside(self, child: subprocess.Popen[bytes]) -> bool:
        """False when it is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._child is not child or self._heard or self._look)
            return self._child is child

    def _take_since(self, begun: float) -> None:
        """Files written since, where folders came that are not watched yet; the rest is the process's."""
        with self._changed:
            look, self._look = self._look, False
        if look:
            survey = self._following.survey()
            self._watched([*survey.watched, self._notes.spool])
            for found in survey.due:
                if found.status.st_mtime > begun:
                    self._take(found)

    def _count(self) -> None:
        keeps = [(agent, self._following.keep(agent)) for agent in self._following.all_agents]
        self.kept = [
            {"name": agent.name, "title": agent.title, "conversations": sum("." not in key for key in keep.all()),
             "bytes": keep.stored()}
            for agent, keep in keeps
        ]  # fmt: skip

    # --- what is wrong ------------------------------------------------------------------------------------------

    def _tell(self, key: str, path: Path, raised: Exception) -> None:
        error = expected(raised)
        if error is None:
            self._on_bug(raised)
            error = DagentdError(f"an internal error, {type(raised).__name__}", path=path, hint="dagentd logs")
        known = self._problems.get(key)
        if known is None or known.message != error.message:
            _log.warning("%s", error)
            kind = "agents-parked" if isinstance(error, Parked) else "agents-transcript"
            self._problems[key] = Problem.of(kind, error, clock.stamp())


def _behind(following: Following, reading: Reading) -> Iterator[tuple[Agent, list[tuple[str, Part, int]]]]:
    return ((agent, reading.behind(agent, following.keep(agent).all())) for agent in following.all_agents)


def take_everything(following: Following, reading: Reading, told: Callable[[Progress], None]) -> list[DagentdError]:
    """All that is due now, the newest first; what could not be taken in."""
    errors: list[DagentdError] = []
    due = following.survey().due
    progress = Progress(len(due), sum(found.status.st_size for found in due))
    for found in due:
        try:
            while (gained := following.take(found)) is not None:
                reading.catch_up(gained.agent, gained.name, gained.part)
                if not gained.more:
                    break
        except Parked as error:
            errors.append(error)
            break
        except (DagentdError, OSError) as error:
            known = expected(error)
            errors += [known] if known is not None else []
        progress.files_done += 1
        progress.bytes_done += found.status.st_size
        told(progress)
    for agent, behind in _behind(following, reading):
        for key, part, _ in behind:
            try:
                reading.catch_up(agent, key, part)
            except DagentdError as error:
                errors.append(error)
            told(progress)
    return errors


def command(arguments: dict[str, Any]) -> list[str]:
    """By which `dagentd.agents.bulk` is run."""
    return [sys.executable, "-m", "dagentd.agents.bulk", json.dumps(arguments)]
