"""The app migrates the same files itself: whoever comes first, and in any interleaving, each message is there once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.legacy_files import at, write
from tests.jobs.test_migrate import Work
from tests.store.place import DEV, FEATURE, PM, TASK, Place
from tests.torture.desktop_app import DesktopApp


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def app(place: Place) -> DesktopApp:
    return DesktopApp(place.flat, FEATURE)


@pytest.fixture
def work(place: Place) -> Iterator[Work]:
    made = Work(place)
    yield made
    made.close()


def old_chat(count: int) -> dict[str, Any]:
    """As the app wrote it; some say the same."""
    said = [f"old {number if number % 5 else 'again'}" for number in range(count)]
    roles = ("user", "assistant", "system")
    return {
        "entries": [{"role": roles[n % 3], "content": text, "timestamp": at(n % 60)} for n, text in enumerate(said)]
    }


def old_task(count: int) -> dict[str, Any]:
    ways = ("task_to_harness", "harness_to_task", "outgoing")
    said = [
        {"direction": ways[n % 3], "type": "progress", "content": f"step {n}", "timestamp": 1768471200000 + 1000 * n}
        for n in range(count)
    ]
    return {"taskId": TASK, "agentId": "dev-1", "status": "active", "messages": said}


def texts(entries: list[dict[str, Any]]) -> list[str]:
    return [each["content"] for each in entries]


def everything(work: Work, session_id: str = PM) -> list[str]:
    with work.store.sessions.using(session_id, FEATURE) as session:
        return texts(session.history(limit=10_000)[0])


def take_in(work: Work, session_id: str = PM) -> None:
    """What the daemon does when the chat was written."""
    with work.store.sessions.using(session_id, FEATURE) as session:
        session.reconcile()


def test_what_the_app_migrated_before_we_came_is_not_imported_again(work: Work, place: Place, app: DesktopApp) -> None:
    old, task = old_chat(30), old_task(9)
    write(place.flat / "chat.json", old)
    write(place.flat / "nodes" / TASK / "session.json", task)
    assert len([*app.migrate_chat()]) == 30 and len([*app.migrate_task(TASK)]) == 9
    app.add(app.session(), "new")
    for _ in range(2):
        work.look()
        assert work.said() == everything(work) == [*texts(old["entries"]), "new"]
        assert work.said(DEV) == everything(work, DEV) == texts(task["messages"])
        work.again()


def test_what_the_app_goes_on_migrating_after_us_is_known(work: Work, place: Place, app: DesktopApp) -> None:
    old = old_chat(20)
    write(place.flat / "chat.json", old)
    going = app.migrate_chat()
    for _ in range(7):
        next(going)
    work.look()
    assert sorted(work.said()) == sorted(texts(old["entries"])) == sorted(everything(work))
    for _ in going:
        take_in(work)
        assert sorted(everything(work)) == sorted(texts(old["entries"]))
    assert sorted(texts(app.chat(app.session()))) == sorted(texts(old["entries"])), "the app sees each once as well"
    work.again()
    work.look()
    assert sorted(work.said()) == sorted(texts(old["entries"]))


@pytest.mark.parametrize("seed", range(6))
def test_in_any_interleaving_each_is_there_once(work: Work, place: Place, app: DesktopApp, seed: int) -> None:
    dice, old = random.Random(seed), old_chat(20)
    path = place.flat / "chat.json"
    write(path, old)
    steps = [app.migrate_chat(), app.migrate_chat()]  # its two windows, each with its own view
    added: list[str] = []
    for number in range(60):
        draw = dice.random()
        if draw < 0.5:
            next(steps[dice.randrange(2)], None)
        elif draw < 0.6:
            work.look()
        elif draw < 0.7 and place.pm.session.exists():
            take_in(work)
        elif draw < 0.75:
            work.again()
        elif draw < 0.8:
            old["entries"].append({"role": "user", "content": f"grown {number}", "timestamp": at(59)})
            write(path, old)
        elif draw < 0.85:
            added.append(f"added {number}")
            app.add(app.session(), added[-1])
    for going in steps:
        list(going)
    work.look()
    take_in(work)
    assert sorted(everything(work)) == sorted([*texts(old["entries"]), *added])
    assert sorted(work.said()) == sorted(everything(work))


def test_what_the_app_compacted_before_we_came_is_history(work: Work, place: Place, app: DesktopApp) -> None:
    """It came back into chat, and the app would have compacted it again."""
    old = old_chat(50)
    write(place.flat / "chat.json", old)
    list(app.migrate_chat())
    app.compact(app.session(), decisions=["as was said"])
    app.add(app.session(), "since then")
    work.look()
    assert work.said() == ["since then"]
    assert everything(work) == [*texts(old["entries"]), "since then"]


def test_a_chat_that_the_app_compacted_and_migrates_again_stays_away(work: Work, place: Place, app: DesktopApp) -> None:
    """It migrates whenever its chat is empty, so also after its own compaction."""
    old = old_chat(12)
    write(place.flat / "chat.json", old)
    list(app.migrate_chat())
    work.look()
    app.compact(app.session(), decisions=["as was said"])
    take_in(work)
    assert work.said() == []
    for _ in app.migrate_chat():
        take_in(work)
    assert work.said() == [] and everything(work) == texts(old["entries"])


def test_without_any_word_of_where_they_came_from_role_content_and_order_tell(work: Work, place: Place) -> None:
    old = {"entries": [each for each in old_chat(9)["entries"] if each["role"] != "system"]}
    write(place.flat / "chat.json", old)
    app = DesktopApp(place.flat, FEATURE)
    for each in old["entries"]:
        app.add(app.session(), each["content"], each["role"])
    app.add(app.session(), "old again")
    work.look()
    assert work.said() == [*texts(old["entries"]), "old again"]


def test_the_same_words_said_later_are_another_message(work: Work, place: Place, app: DesktopApp) -> None:
    write(place.flat / "chat.json", {"entries": [{"role": "user", "content": "ok", "timestamp": at(1)}]})
    app.add(app.session(), "begin")
    app.add(app.session(), "ok")
    work.look()
    assert sorted(work.said()) == ["begin", "ok", "ok"]


def test_taking_our_migration_back_leaves_what_the_app_migrated(work: Work, place: Place, app: DesktopApp) -> None:
    old = old_chat(6)
    write(place.flat / "chat.json", old)
    going = app.migrate_chat()
    for _ in range(4):
        next(going)
    work.look()
    work.rollback()
    assert work.said() == texts(old["entries"])[:4]


def test_a_session_that_the_app_makes_after_our_migration_was_taken_back_is_its_own(
    work: Work, place: Place, app: DesktopApp
) -> None:
    """Only the journal was left of it, which said that nothing of the session counts: neither was it served, nor did
    its documents outlive the next start."""
    write(place.flat / "chat.json", old_chat(3))
    work.look()
    work.rollback()
    app.add(app.session(), "said to the app")
    before = (place.flat / "sessions" / f"chat_{PM}.json").read_bytes()
    work.again()
    work.look()
    assert b"said to the app" in before and work.said() == ["said to the app"]
    work.again()
    work.look()
    assert work.said() == texts(app.chat(PM)) == ["said to the app"]
    with work.store.sessions.using(PM, FEATURE) as session:
        assert session.fields["status"] == "active"


def test_what_was_written_while_our_migration_was_taken_back_is_not_removed_later(
    work: Work, place: Place, app: DesktopApp
) -> None:
    """The app had read session and chat, and writes them back with what was said meanwhile."""
    write(place.flat / "chat.json", old_chat(3))
    work.look()
    app.session()
    chat = app._read(place.flat / "sessions" / f"chat_{PM}.json")
    assert chat is not None
    work.rollback()
    chat["messages"].append({"id": "late", "role": "user", "content": "late", "timestamp": at(1)})
    app._write(place.flat / "sessions" / f"session_{PM}.json", app._sessions[PM])
    app._write(place.flat / "sessions" / f"chat_{PM}.json", chat)
    work.again()
    work.look()
    assert work.said() == ["late"] == texts(app.chat(PM))


@pytest.mark.parametrize("used", [False, True], ids=["nothing else in it", "used since"])
def test_the_app_migrates_what_we_took_back(work: Work, place: Place, app: DesktopApp, used: bool) -> None:
    old = old_chat(7)
    write(place.flat / "chat.json", old)
    work.look()
    if used:
        with work.store.sessions.using(PM, FEATURE) as session:
            session.add([{"role": "user", "content": "mine"}])
            session.clear()
            session.reconcile()
    work.rollback()
    for _ in app.migrate_chat():
        work.look()
        take_in(work)
    for _ in range(2):
        assert work.said() == texts(app.chat(PM)) == texts(old["entries"])
        assert sorted(everything(work)) == sorted([*texts(old["entries"]), *(["mine"] if used else [])])
        work.again()
        work.look()


def test_equal_entries_of_a_log_that_grows_are_each_stored(work: Work, place: Place) -> None:
    """One that was imported is itself, not the app's copy of one that came later."""
    task = old_task(2)
    path = place.flat / "nodes" / TASK / "session.json"
    for count in range(3, 7):
        task["messages"].append(dict(task["messages"][-1]))
        write(path, task)
        work.look()
        assert len(everything(work, DEV)) == count


def test_the_projects_own_chat_is_a_session_of_its_own_tree(work: Work, place: Place) -> None:
    """As the app's newest version keeps it: a list, which grows, and which it empties."""
    path = place.root / ".dagent" / "context-chat" / "messages.json"
    said = [{"id": f"m{n}", "role": "user", "content": f"said {n}", "timestamp": at(n)} for n in range(4)]
    sid = f"pm-project-{place.root.name}"
    for some in (said[:2], said, []):
        write(path, some)
        work.look()
        with work.store.sessions.using(sid) as session:
            assert texts(session.chat()) == texts(some or said)
            assert session.folder.feature.tree.worktree == place.root
            assert session.fields["agentType"] == "pm"
