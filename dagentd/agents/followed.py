"""All that is kept of other agents' conversations, opened together: by the daemon, a command, or the bulk process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.agents import finding, removing
from dagentd.agents.conversation import Agent, Transcript
from dagentd.agents.finding import Found
from dagentd.agents.following import Following, Gained
from dagentd.agents.known import Known
from dagentd.agents.reading import Reading
from dagentd.agents.sessions import Sessions
from dagentd.agents.table import AGENTS
from dagentd.model.project import Registered
from dagentd.settings.tables import Agents as Settings
from dagentd.settings.tables import Compaction


class Followed:
    """In one folder of the user's state: `agents` has what is kept, and two caches stand beside it."""

    def __init__(
        self, state: Path, settings: Callable[[], Settings], projects: Callable[[], list[Registered]],
        checkpoint_tokens: Callable[[], int] = lambda: Compaction().checkpoint_tokens,
        announce: Callable[[Gained, int], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        self._settings, self._checkpoint_tokens, self._announce = settings, checkpoint_tokens, announce
        there = (state / "agents").is_dir()  # who only reads makes nothing
        self.known = Known(state / "agents.sqlite3" if there else None)
        self.following = Following(state / "agents", self.known, settings, projects, tuple(AGENTS.values()))
        self.reading = Reading(self.known, state / "agents-words.sqlite3" if there else None)
        self.sessions = Sessions(self.following, self.reading)

    def agents(self) -> list[dict[str, Any]]:
        """Each agent: whether it is followed, where its transcripts are, how many are kept and how large these are."""
        followed = {agent.name for agent in self.following.agents()}
        return [
            {
                "name": agent.name,
                "title": agent.title,
                "followed": agent.name in followed,
                "folders": [str(root) for root in finding.roots(agent)],
                "kept": str(self.following.keep(agent).folder),
                "conversations": sum("." not in key for key in self.following.keep(agent).all()),
                "bytes": self.following.keep(agent).stored(),
            }
            for agent in self.following.all_agents
        ]

    def checkpoint(self, session_id: str) -> dict[str, Any] | None:
        """Loads what compaction needs with its first use."""
        from dagentd.agents import kept_checkpoint

        return kept_checkpoint.of(self.sessions, session_id, self._checkpoint_tokens())

    def pin(self, session_id: str, *, item: str | None, message: str | None, pinned: bool) -> None:
        from dagentd.agents import kept_checkpoint

        if item is not None:
            kept_checkpoint.pin(self.sessions, session_id, item, pinned, self._checkpoint_tokens())
        if message is not None:
            self.sessions.pin(session_id, message, pinned)

    def take_in(self, agent: Agent, uuid: str, transcript: Path | None) -> None:
        """Take in what an agent wrote until now: to the transcript that it names, else to those that we know."""
        known = [seen.path for seen in self.following.known.seen_of(agent.name, uuid)]
        for path in [transcript] if transcript is not None else known:
            found = finding.look_at(path, [each for each in self.following.agents() if each is agent])
            if not isinstance(found, Found) or found.what != Transcript(uuid):
                continue
            while (gained := self.following.take(found)) is not None:
                self._announce(gained, self.reading.catch_up(gained.agent, gained.name, gained.part))
                if not gained.more:
                    break

    def tidy(self) -> None:
        """Seal what has been idle for a day; remove what has been for longer than the settings allow, if they do."""
        self.following.tidy()
        if days := self._settings().keep_days:
            self.purge(removing.expired(self.sessions, days))

    def purge(self, session_ids: list[str]) -> None:
        """Remove these; an agent that still has one may have it kept again later."""
        every = self.sessions.all()
        for session_id in session_ids:
            removing.forget(self.following, self.reading, self.sessions, session_id, every=every, barred=False)

    def restore(self, session_id: str) -> list[Path]:
        return removing.restore(self.following, self.sessions, session_id)

    def forget(self, session_id: str) -> list[Path]:
        return removing.forget(self.following, self.reading, self.sessions, session_id)

    def close(self) -> None:
        self.reading.close()
        self.known.close()
