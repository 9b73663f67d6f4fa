"""Kept conversations as sessions: from the lines of Claude Code to what is listed, read, searched and counted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import beneath
from dagentd.agents import kept_checkpoint, removing, usage
from dagentd.agents import reading as reading_module
from dagentd.agents import sessions as sessions_module
from dagentd.agents.conversation import Agent
from dagentd.agents.following import Following
from dagentd.agents.keeping import Keep, Part
from dagentd.agents.known import Known
from dagentd.agents.reading import Reading
from dagentd.agents.sessions import Sessions
from dagentd.agents.table import AGENTS
from dagentd.errors import Conflict, CorruptFile, InvalidInput, NotAllowed, NotFound
from dagentd.model import scrubbed_text, times
from dagentd.model.project import Project, Registered
from dagentd.settings.tables import Agents
from tests.agents.claude_lines import answer, call, compacted, plumbing, result, said, title, user
from tests.agents.desk import ID, grow, long_ago

CLAUDE = f"claude-{ID}"


class Place:
    """A home with Claude Code's folder, a project, and our state."""

    def __init__(self, home: Path, root: Path, state: Path) -> None:
        self.home, self.root, self.state = home, root, state
        self.settings = Agents()
        self.start()

    def start(self) -> None:
        self.state.mkdir(exist_ok=True)
        self.known = Known(self.state / "agents.sqlite3")
        registered = [Registered("p1", Project(self.root, self.root / ".git"), "")]
        self.following = Following(
            self.state / "agents", self.known, lambda: self.settings, lambda: registered, tuple(AGENTS.values())
        )
        self.reading = Reading(self.known, self.state / "words.sqlite3")
        self.sessions = Sessions(self.following, self.reading)

    def stop(self) -> None:
        self.reading.close()
        self.known.close()

    def path(self, uuid: str = ID) -> Path:
        path = self.home / ".claude/projects/-somewhere" / f"{uuid}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def look(self) -> None:
        for found in self.following.survey().due:
            self.following.take(found)

    def say(self, *lines: bytes, uuid: str = ID) -> None:
        grow(self.path(uuid), b"".join(lines))
        self.look()

    def texts(self, session_id: str = CLAUDE) -> list[str]:
        return [each["content"] for each in self.sessions.history(session_id, None, 1000)[0]]

    def found(self, query: str) -> list[str]:
        return [hit["snippet"] for hit in self.sessions.search(query, None, None, 20)]


@pytest.fixture
def place(home: Path, repo: Path, tmp_path: Path) -> Iterator[Place]:
    place = Place(home, repo, tmp_path / "state")
    yield place
    place.stop()


def test_a_conversation_is_listed_and_read(place: Place) -> None:
    place.say(
        user("please mend the login", place.root), plumbing(5000),
        call("t1", "Read", {"file_path": "a.py"}, place.root),
        result("t1", "the file", place.root), answer("mended the zebra", place.root), title("Login"),
    )  # fmt: skip
    (listed,) = place.sessions.listed()
    assert {**place.sessions.get(CLAUDE), **listed} == place.sessions.get(CLAUDE)
    expected = {
        "id": CLAUDE, "type": "followed", "agent": "claude-code", "title": "Login", "model": "claude-opus-5",
        "project": str(place.root), "worktree": str(place.root), "branch": "main", "featureId": None,
        "status": "idle", "messages": 3, "total": 3, "tokens": 115, "transcript": "present",
        "size": place.path().stat().st_size,
    }  # fmt: skip
    assert listed.items() >= expected.items()
    messages, total = place.sessions.messages(CLAUDE, 10)
    assert (total, [each["role"] for each in messages]) == (3, ["user", "assistant", "assistant"])
    assert messages[1]["metadata"]["toolUse"] == [
        {"id": "t1", "name": "Read", "input": {"file_path": "a.py"}, "result": "the file", "isError": False}
    ]
    assert place.sessions.get(CLAUDE)["resume"] == f"cd {place.root} && claude --resume {ID}"


def test_searching_writes_nothing_so_it_waits_for_no_process_that_writes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that which takes in much does all the time."""
    place.say(user("about the walrus", place.root))
    assert place.found("walrus")
    monkeypatch.setattr(sessions_module, "_WAITED_FOR", 0)
    place.say(user("about the dugong", place.root), uuid="22222222-2222-4333-8444-555555555555")
    with contextlib.closing(sqlite3.connect(place.state / "words.sqlite3", timeout=0)) as writer:
        writer.execute("begin immediate")
        assert len(place.found("walrus")) == 1 and place.found("dugong") == []


@pytest.mark.parametrize("intact", [0, 2 * 4096, 8 * 4096, None], ids=["all", "tables", "words", "gone"])
def test_an_index_of_words_that_is_damaged_or_gone_is_made_again(place: Place, intact: int | None) -> None:
    place.say(user("about the walrus", place.root))
    assert place.found("walrus")
    place.stop()
    file = place.state / "words.sqlite3"
    data = file.read_bytes()
    file.unlink()
    if intact is not None:
        file.write_bytes(data[:intact] + bytes(byte ^ 0x5A for byte in data[intact:]))
    place.start()
    with contextlib.suppress(CorruptFile):
        place.found("walrus")
    assert len(place.found("walrus")) == 1


def test_a_line_is_found_as_soon_as_it_is_kept_also_by_half(place: Place) -> None:
    place.say(user("first words about giraffes", place.root))
    assert place.found("giraffes") == ["first words about «giraffes»"]
    line = answer("then about okapis", place.root)
    place.say(line[:40])
    assert place.found("okapis") == []
    place.say(line[40:])
    assert place.found("okapis") == ["then about «okapis»"]
    assert place.texts() == ["first words about giraffes", "then about okapis"]


def test_only_conversation_is_found(place: Place) -> None:
    place.say(
        user("look for it", place.root), plumbing(100), call("t1", "Bash", {"command": "ls walrus"}, place.root),
        result("t1", "walrus", place.root), user("<system-reminder>walrus</system-reminder>", place.root),
        said("user", "walrus", place.root, isMeta=True), answer("none", place.root),
    )  # fmt: skip
    assert place.found("walrus") == [] and place.found("bbb") == []


def test_messages_are_those_since_the_last_compaction_and_history_is_all(place: Place) -> None:
    place.say(user("one", place.root), answer("two", place.root), compacted("a summary", place.root))
    place.say(user("three", place.root))
    messages, total = place.sessions.messages(CLAUDE, 10)
    assert ([each["content"] for each in messages], total) == (["three"], 1)
    assert place.texts() == ["one", "two", "three"]
    summary = place.sessions.summary(CLAUDE)
    assert summary is not None and (summary.text, summary.trigger) == ("a summary", "auto")
    (listed,) = place.sessions.listed()
    assert (listed["messages"], listed["total"]) == (1, 3)


def test_a_long_history_is_read_page_by_page(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_MARKED", 3000)
    monkeypatch.setattr(reading_module, "_BATCH", 1000)
    monkeypatch.setattr(reading_module, "_BEYOND", 1000)
    said = [f"message {number}" for number in range(100)]
    place.say(*(user(text, place.root) if number % 2 else answer(text, place.root) for number, text in enumerate(said)))
    read: list[str] = []
    before, more = None, True
    while more:
        page, more = place.sessions.history(CLAUDE, before, 7)
        read, before = [each["content"] for each in page] + read, page[0]["id"]
    assert read == said
    with pytest.raises(NotFound, match="no message"):
        place.sessions.history(CLAUDE, "unknown", 7)


def test_a_rewritten_one_is_one_conversation(place: Place) -> None:
    first, second = user("the same beginning", place.root), answer("the old ending", place.root)
    place.say(first, second)
    place.path().unlink()
    place.say(first, answer("the new ending", place.root))
    assert place.texts() == ["the same beginning", "the old ending", "the new ending"]
    assert len(place.found("beginning")) == 1 and len(place.found("ending")) == 2
    (listed,) = place.sessions.listed()
    assert listed["total"] == 3
    with place.sessions.raw(CLAUDE) as raw:
        assert b"".join(raw) == place.path().read_bytes()


def test_a_fork_says_of_what_it_is_one_and_what_it_is_about(place: Place) -> None:
    origin = "22222222-2222-4333-8444-555555555555"
    place.say(user("/compact", place.root), answer("ok", place.root, requestSessionId=origin, sessionId=ID))
    assert place.sessions.get(CLAUDE)["title"] == "/compact"
    place.say(user("/src/app.py fails", place.root), user("and the tests", place.root))
    found = place.sessions.get(CLAUDE)
    assert (found["title"], found["forkedFrom"]) == ("/src/app.py fails", f"claude-{origin}")


def test_subagents_are_listed_by_their_parent(place: Place) -> None:
    place.say(user("delegate", place.root))
    inner = place.path().with_suffix("") / "subagents/agent-a1b2.jsonl"
    inner.parent.mkdir(parents=True)
    inner.write_bytes(user("dig", place.root, isSidechain=True, agentId="a1b2"))
    place.look()
    assert [each["id"] for each in place.sessions.listed()] == [CLAUDE]
    assert [each["id"] for each in place.sessions.listed(parent=CLAUDE)] == [f"{CLAUDE}.a1b2"]
    assert place.sessions.get(CLAUDE)["subagents"] == [f"{CLAUDE}.a1b2"]
    assert place.texts(f"{CLAUDE}.a1b2") == ["dig"]


def test_lists_are_narrowed(place: Place) -> None:
    other = "22222222-2222-4333-8444-555555555555"
    place.say(user("one", place.root))
    place.say(user("two", place.root, timestamp=times.iso(clock.now())), uuid=other)
    ids = [each["id"] for each in place.sessions.listed()]
    assert ids == [f"claude-{other}", CLAUDE]
    since = times.iso(clock.now() - timedelta(minutes=1))
    for narrowed in ({"since": since}, {"status": "active"}, {"limit": 1}):
        assert [each["id"] for each in place.sessions.listed(**narrowed)] == ids[:1]
    assert place.sessions.listed(agent="codex") == [] and place.sessions.listed(roots={"/elsewhere"}) == []
    assert len(place.sessions.listed(agent="claude", worktree=place.root.name, roots={str(place.root)})) == 2


def test_archived_until_it_goes_on_and_pinned(place: Place) -> None:
    place.say(user("one", place.root, uuid="m1"))
    assert place.sessions.archive(CLAUDE)["status"] == "archived"
    assert place.sessions.archive(CLAUDE, archived=False)["status"] == "idle"
    place.sessions.archive(CLAUDE)
    place.say(user("more", place.root, timestamp=times.iso(clock.now() + timedelta(seconds=5))))
    assert place.sessions.get(CLAUDE)["status"] == "active"
    place.sessions.pin(CLAUDE, "m1", True)
    assert place.sessions.get(CLAUDE)["pinned"] == ["m1"]
    with pytest.raises(NotFound):
        place.sessions.pin(CLAUDE, "unknown", True)
    place.sessions.pin(CLAUDE, "m1", False)
    assert place.sessions.get(CLAUDE)["pinned"] == []


def test_an_answer_counts_once_over_all_files(place: Place) -> None:
    fork = "33333333-2222-4333-8444-555555555555"
    lines = [answer("half", place.root, output=3, answer="m"), answer("whole", place.root, output=9, answer="m")]
    place.say(user("go", place.root), *lines)
    place.say(user("go", place.root), *lines, answer("more", place.root), uuid=fork)
    for each in (CLAUDE, f"claude-{fork}"):
        place.sessions.get(each)
    (row,) = usage.report(place.sessions.uses(), "worktree", UTC)
    assert (row.name, row.answers, row.output, row.cache_read) == (str(place.root), 2, 19, 200)


def test_an_answer_is_its_conversations_and_no_forks_that_was_read_first(place: Place) -> None:
    fork = "33333333-2222-4333-8444-555555555555"
    place.say(answer("once", place.root, answer="m", sessionId=fork, requestSessionId=ID), uuid=fork)
    assert uses_after(place, f"claude-{fork}") == [f"claude-{fork}"]
    place.say(answer("once", place.root, answer="m", sessionId=ID))
    assert uses_after(place, CLAUDE) == [CLAUDE]


def uses_after(place: Place, session_id: str) -> list[str]:
    place.sessions.get(session_id)
    return [use.session for use in place.sessions.uses()]


def test_everything_is_there_after_all_has_gone(place: Place) -> None:
    place.say(user("about the elephant", place.root), answer("it never forgets", place.root))
    data = place.path().read_bytes()
    shutil.rmtree(place.home / ".claude")
    shutil.rmtree(place.root)
    place.stop()
    for name in ("agents.sqlite3", "words.sqlite3"):
        (place.state / name).unlink()
    place.start()
    place.look()
    assert place.found("elephant") == ["about the «elephant»"]
    assert place.texts() == ["about the elephant", "it never forgets"]
    assert place.sessions.get(CLAUDE)["transcript"] == "deleted"
    with place.sessions.raw(CLAUDE) as raw:
        assert b"".join(raw) == data
    assert len(place.sessions.export(CLAUDE)["messages"]) == 2


def test_sealed_ones_are_read_and_searched(place: Place) -> None:
    place.say(user("about the elephant", place.root), answer("it never forgets", place.root))
    part = place.sessions.find(CLAUDE).parts[0]
    long_ago(part.path)
    place.following.tidy()
    assert part.is_sealed
    assert place.found("elephant") == ["about the «elephant»"] and len(place.texts()) == 2


def test_one_that_is_damaged_holds_up_no_other(place: Place) -> None:
    """A disk may fail. The index has its words, its file has a beginning or not even that."""
    other = "22222222-2222-4333-8444-555555555555"
    place.say(*(user(f"about elephant {number}", place.root) for number in range(9)))
    place.say(user("about the zebra and the elephant", place.root), uuid=other)
    assert len(place.found("elephant")) == 10
    part = place.sessions.find(CLAUDE).parts[0]
    long_ago(part.path)
    place.following.tidy()
    data = part.sealed_path.read_bytes()
    for damaged in (data[:60] + bytes(20) + data[80:], data[:60], b"nonsense", b""):
        part.sealed_path.write_bytes(damaged)
        grow(place.path(other), user("and more", place.root))
        assert {each["id"] for each in place.sessions.listed()} == {CLAUDE, f"claude-{other}"}
        assert f"claude-{other}" in [hit["sessionId"] for hit in place.sessions.search("elephant", None, None, 20)]
    with pytest.raises(CorruptFile, match="cannot be unpacked"):
        place.sessions.get(CLAUDE)


def test_a_repository_that_moved_has_its_conversations(place: Place, tmp_path: Path) -> None:
    place.say(user("hello", place.root), user("and", place.root / ".dagent-worktrees/x"))
    later = "22222222-2222-4333-8444-555555555555"
    before, place.root = place.root, place.root.rename(tmp_path / "moved")
    place.stop()
    place.start()
    place.say(user("seen only afterwards", before), uuid=later)
    listed = place.sessions.listed(roots={str(place.root)})
    assert {(each["id"], each["worktree"]) for each in listed} == {
        (CLAUDE, str(place.root)), (f"claude-{later}", str(place.root))
    }  # fmt: skip


def test_one_that_was_purged_is_whose_it_is_when_it_is_kept_again(place: Place) -> None:
    """Another process purges; the daemon knows its owner still."""
    place.say(user("hello", place.root))
    assert place.sessions.listed()
    knowing = place.following
    place.start()
    removing.forget(place.following, place.reading, place.sessions, CLAUDE, barred=False)
    for found in knowing.survey().due:
        knowing.take(found)
    place.start()
    assert [each["project"] for each in place.sessions.listed()] == [str(place.root)]


def test_a_deleted_one_is_put_back_where_it_was(place: Place) -> None:
    place.say(user("hello", place.root))
    folder = place.path().with_suffix("")
    for name in ("subagents/agent-a1.jsonl", "tool-results/r.txt", "subagents/agent-a1.meta.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(user("aside", place.root))
    place.look()
    before = {path: path.read_bytes() for path in place.home.rglob(".claude/projects/**/*") if path.is_file()}
    with pytest.raises(Conflict, match="the agent has this conversation"):
        removing.restore(place.following, place.sessions, CLAUDE)
    shutil.rmtree(place.home / ".claude")
    written = removing.restore(place.following, place.sessions, CLAUDE)
    assert sorted(written) == sorted(before)
    assert {path: path.read_bytes() for path in before} == before
    place.look()
    assert len(place.sessions.find(CLAUDE).parts) == 1
    assert place.sessions.get(CLAUDE)["transcript"] == "present"


@pytest.mark.parametrize("where", ["project", "conversation", "put there just then"])
def test_nothing_is_put_back_through_a_link(
    place: Place, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.say(user("hello", place.root))
    folder, outside = place.path().with_suffix(""), tmp_path / "outside"
    (folder / "subagents").mkdir(parents=True)
    (folder / "subagents" / "agent-a1.jsonl").write_bytes(user("aside", place.root))
    place.look()
    outside.mkdir()
    shutil.rmtree(folder.parent)
    if where == "conversation":
        folder.parent.mkdir()
        folder.symlink_to(outside)
    else:
        folder.parent.symlink_to(outside)
    if where == "put there just then":
        monkeypatch.setattr(beneath, "leads_out", lambda _: False)
    with pytest.raises(NotAllowed, match="link"):
        removing.restore(place.following, place.sessions, CLAUDE)
    assert list(outside.iterdir()) == [] and not place.path().exists()


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_what_is_in_the_place_of_a_deleted_one_is_named(place: Place, kind: str) -> None:
    place.say(user("hello", place.root))
    place.path().unlink()
    place.path().mkdir() if kind == "folder" else os.mkfifo(place.path())
    with pytest.raises(Conflict, match="is there already"):
        removing.restore(place.following, place.sessions, CLAUDE)
    assert [path.name for path in place.path().parent.iterdir()] == [place.path().name]


def test_one_is_put_back_where_the_folder_of_all_is_a_link(place: Place, tmp_path: Path) -> None:
    place.say(user("hello", place.root))
    shutil.move(place.home / ".claude", tmp_path / "dotfiles")
    (place.home / ".claude").symlink_to(tmp_path / "dotfiles")
    before = place.path().read_bytes()
    shutil.rmtree(place.path().parent)
    assert removing.restore(place.following, place.sessions, CLAUDE) == [place.path()]
    assert place.path().read_bytes() == before


def test_nothing_is_put_back_where_the_agent_does_not_look(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.say(user("hello", place.root))
    place.path().unlink()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.home / "other"))
    with pytest.raises(NotAllowed, match="does not look there"):
        removing.restore(place.following, place.sessions, CLAUDE)
    assert not place.path().exists()


def test_one_that_moves_to_and_fro_is_put_back_where_it_was_last(place: Place) -> None:
    place.say(user("hello", place.root))
    there = place.path().parent.with_name("-worktree") / place.path().name
    there.parent.mkdir()
    for one, other in ((place.path(), there), (there, place.path())):
        one.rename(other)
        place.look()
        assert place.sessions.get(CLAUDE)["transcript"] == "present"
    place.path().unlink()
    assert removing.restore(place.following, place.sessions, CLAUDE) == [place.path()]


def test_one_that_is_nowhere_else_expires_only_where_that_is_asked_for(place: Place) -> None:
    other = "22222222-2222-4333-8444-555555555555"
    place.say(user("the agent still has it", place.root), uuid=other)
    place.say(user("an only copy", place.root))
    place.path().unlink()
    for kept in place.sessions.all():
        long_ago(kept.parts[0].path)
    assert removing.expired(place.sessions, 100_000) == []
    assert removing.expired(place.sessions, 30) == [CLAUDE]


def holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.parametrize("instead", ["nothing", "an empty folder"])
def test_none_expires_while_the_agents_folder_is_away(place: Place, instead: str) -> None:
    """A home that is not mounted just now: its agent has not deleted them."""
    place.say(user("hello", place.root))
    long_ago(place.sessions.find(CLAUDE).parts[0].path)
    folder = place.path().parent.parent
    folder.rename(folder.with_name("away"))
    if instead == "an empty folder":
        folder.mkdir()
    assert removing.expired(place.sessions, 30) == []


def test_one_that_is_forgotten_while_it_is_taken_in_stays_forgotten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes it in waits for whoever forgets it."""
    place.say(user("hello", place.root))
    grow(place.path(), user("more", place.root))
    (found,), writing = place.following.survey().due, place.following.writing

    def after_forgetting(agent: Agent) -> contextlib.AbstractContextManager[Keep]:
        monkeypatch.setattr(place.following, "writing", writing)
        removing.forget(place.following, place.reading, place.sessions, CLAUDE)
        return writing(agent)

    monkeypatch.setattr(place.following, "writing", after_forgetting)
    assert place.following.take(found) is None
    assert place.sessions.all() == []


def test_a_forgotten_one_leaves_no_trace_and_stays_forgotten(place: Place) -> None:
    other = "22222222-2222-4333-8444-555555555555"
    place.say(user("the zyzzyva secret", place.root))
    place.say(user("an innocent one", place.root), uuid=other)
    assert place.found("zyzzyva") and place.found("innocent")
    removing.forget(place.following, place.reading, place.sessions, CLAUDE)
    place.look()
    assert place.found("zyzzyva") == [] and place.found("innocent")
    assert [each["id"] for each in place.sessions.listed()] == [f"claude-{other}"]
    place.stop()
    assert holding(place.state, b"zyzzyva") == [] and holding(place.state, ID.encode()) == []
    place.start()


@pytest.mark.parametrize("sealed", [False, True])
def test_a_scrubbed_text_is_in_no_file_of_ours_and_following_goes_on(place: Place, sealed: bool) -> None:
    secret = 'sk-"ä/key\\zyzzyva'
    place.say(user("before", place.root), user(f"my key is {secret}.", place.root),
              result("t", f'{{"env": "{secret}"}}', place.root))  # fmt: skip
    (place.path().with_suffix("") / "tool-results").mkdir(parents=True)
    (place.path().with_suffix("") / "tool-results/r").write_text(f"KEY={secret}")
    place.look()
    assert place.found("zyzzyva")
    part = place.sessions.find(CLAUDE).parts[0]
    if sealed:
        long_ago(part.path)
        place.following.tidy()
    wanted, size = scrubbed_text.forms(secret), part.size()
    assert [trace.path == part.path for trace in removing.traces(place.following, wanted)] == [True, False]
    removing.scrub(place.following, place.reading, wanted)
    assert part.size() == size and removing.traces(place.following, wanted) == []
    assert place.found("zyzzyva") == [] and place.found("before")
    assert place.texts()[1].startswith("my key is ***")
    place.say(answer("and on", place.root))
    os.utime(place.path(), (2_000_000_000, 2_000_000_000))
    place.look()
    assert place.texts()[-1] == "and on" and len(place.sessions.find(CLAUDE).parts) == 1
    place.stop()
    for path in place.state.rglob("*"):
        assert not path.is_file() or b"zyzzyva" not in path.read_bytes(), path
    place.start()
    with pytest.raises(InvalidInput, match="too much"):
        scrubbed_text.forms("abc")


def test_a_checkpoint_is_made_on_demand_and_goes_on(place: Place) -> None:
    place.say(user("Never use tabs in this repository.", place.root), answer("Understood.", place.root))
    first = kept_checkpoint.of(place.sessions, CLAUDE, 8000)
    assert first is not None and first["version"] == 1 and first["agentSummary"] is None
    assert "tabs" in str(first["summary"]["decisions"])
    assert kept_checkpoint.of(place.sessions, CLAUDE, 8000) == first
    place.say(compacted("what the agent remembers", place.root), user("Always write tests first.", place.root))
    second = kept_checkpoint.of(place.sessions, CLAUDE, 8000)
    assert second is not None and second["version"] == 2
    assert "tabs" in str(second["summary"]["decisions"]) and "tests first" in str(second["summary"]["decisions"])
    assert second["agentSummary"]["text"] == "what the agent remembers"
    assert "remembers" not in str(second["summary"])


def test_a_session_of_ours_may_have_such_a_name(place: Place) -> None:
    assert place.sessions.is_followed(CLAUDE) and place.sessions.is_followed(f"{CLAUDE}.a1")
    assert not place.sessions.is_followed("claude-feature") and not place.sessions.is_followed("pm-login")
    for name in ("claude-../../etc/passwd", f"claude-{'.' * 36}", f"claude-{ID}/x"):
        with pytest.raises(NotFound):
            place.sessions.find(name)


SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize(
    ("agent", "folder"), [("claude-code", ".claude/projects/x"), ("codex", ".codex/sessions/2026")]
)
def test_the_agents_own_summary_stands_apart_and_decides_nothing(place: Place, agent: str, folder: str) -> None:
    """As the real programs wrote it; its sentences are the agent's, also where they repeat an order."""
    text = (SAMPLES / f"{agent}.jsonl").read_text(encoding="utf-8").replace("/home/ada/repo", str(place.root))
    wanted = "1. Notes were written. Never push to main; always use tabs."
    names = {"claude-code": f"{ID}.jsonl", "codex": f"rollout-2026-11-18T14-46-10-{ID}.jsonl"}
    path = place.home / folder / names[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("1. Notes were written.", wanted), encoding="utf-8")
    place.look()
    prefix = {"claude-code": "claude", "codex": "codex"}[agent]
    found = kept_checkpoint.of(place.sessions, f"{prefix}-{ID}", 4000)
    assert found is not None and wanted in found["agentSummary"]["text"]
    assert "push to main" not in json.dumps(found["summary"]) and found["summary"]["decisions"] == []


def test_two_processes_that_read_the_same_lines_count_them_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon answers whoever asks while a process takes in what is much."""
    place.say(user("one", place.root, uuid="m1"), answer("two", place.root))
    kept = place.sessions.find(CLAUDE)
    other = Reading(Known(place.state / "agents.sqlite3"), None)

    def overtaken(part: Part, start: int = 0) -> Iterator[tuple[int, bytes]]:
        monkeypatch.undo()
        assert other.catch_up(kept.agent, kept.key, part) == 2
        return reading_module.lines(part, start)

    monkeypatch.setattr(reading_module, "lines", overtaken)
    assert place.texts() == ["one", "two"]
