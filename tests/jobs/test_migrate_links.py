"""A migration beside a live task: the old file is linked, and the task stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.legacy_files import (
    L4_SESSION,
    LONE_ID,
    OLD_ID,
    at,
    chat,
    lone_documents,
    single_file,
    snapshot,
    task_session,
    write,
)  # fmt: skip
from tests.jobs.test_migrate import Work, actions
from tests.store.place import FEATURE, PM, TASK, Place
from tests.torture import reader

OTHER_ID = "9d1f6d40-0e21-4f3c-8f1b-5a7c3e2b1d00"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def work(place: Place) -> Iterator[Work]:
    made = Work(place)
    yield made
    made.close()


def task_file(place: Place) -> Path:
    return place.flat / "nodes" / TASK / "task.json"


def task_with(current: str | None, **states: list[str]) -> dict[str, Any]:
    listed = {state: {"sessionIds": found} for state, found in states.items()}
    return {"id": TASK, "states": listed, **({"currentState": current} if current else {})}


def lone(place: Place, session_id: str = LONE_ID, names: tuple[str, ...] = ("chat",), under: str = "sessions") -> None:
    """Documents of the oldest session-checkpoint shape, under the task or the feature."""
    for name, raw in lone_documents("hello", session_id).items():
        if name in names:
            write(place.flat / under / f"{name}_{session_id}.json", {**raw, "sessionId": session_id})


def test_a_task_that_has_a_state_stays_in_it(work: Work, place: Place) -> None:
    write(task_file(place), task_with("in_qa", in_qa=["qa-1"]))
    write(place.flat / "nodes" / TASK / "session.json", task_session("started"))
    work.run()
    after = reader.whole(task_file(place))
    assert after["currentState"] == "in_qa"
    assert after["states"] == {"in_qa": {"sessionIds": ["qa-1"]}, "in_dev": {"sessionIds": [L4_SESSION]}}


@pytest.mark.parametrize("had", [None, "", 7])
def test_a_task_without_a_state_gets_one(work: Work, place: Place, had: Any) -> None:
    write(task_file(place), {"id": TASK, "title": "T", "currentState": had})
    write(place.flat / "nodes" / TASK / "session.json", task_session("started"))
    work.run()
    assert reader.whole(task_file(place))["currentState"] == "in_dev"


def test_the_session_of_a_feature_stays_linked(work: Work, place: Place) -> None:
    with work.store.sessions.using(work.store.maker.get_or_create("feature", "harness", FEATURE).id) as session:
        live = session.id
    write(place.flat / "chat.json", chat("plan a login"))
    work.run()
    assert reader.whole(place.flat / "feature.json")["sessionId"] == live
    assert work.said(PM) == ["plan a login"]


def test_a_link_that_names_no_session_is_replaced(work: Work, place: Place) -> None:
    write(place.flat / "feature.json", {"id": FEATURE, "sessionId": "5f0c-no-longer-there"})
    write(place.flat / "chat.json", chat("plan a login"))
    before = snapshot(place.root)
    work.run()
    assert reader.whole(place.flat / "feature.json")["sessionId"] == PM
    assert set(actions(work.rollback())) == {"rolledBack"} and snapshot(place.root) == before


@pytest.mark.parametrize("current", ["in_dev", "in_qa", None])
def test_a_rollback_keeps_links_that_were_there_before(work: Work, place: Place, current: str | None) -> None:
    write(task_file(place), task_with(current, in_dev=[LONE_ID, OTHER_ID]))
    for one in (LONE_ID, OTHER_ID):
        lone(place, one, ("chat", "context"), f"nodes/{TASK}/sessions")
    before = snapshot(place.root)
    work.run()
    assert set(actions(work.rollback())) == {"rolledBack"}
    assert snapshot(place.root) == before


def test_a_rollback_keeps_a_link_also_when_another_program_wrote_there(work: Work, place: Place) -> None:
    write(task_file(place), task_with("in_dev", in_dev=[LONE_ID]))
    lone(place, LONE_ID, ("chat",), f"nodes/{TASK}/sessions")
    lone(place, OTHER_ID, ("chat",), f"nodes/{TASK}/sessions")
    work.run()
    write(task_file(place), {**reader.whole(task_file(place)), "title": "Renamed"})
    work.rollback()
    assert reader.whole(task_file(place)) == {**task_with("in_dev", in_dev=[LONE_ID]), "title": "Renamed"}


def test_a_task_file_that_is_only_a_link_is_not_removed_by_a_rollback(work: Work, place: Place) -> None:
    write(task_file(place), task_with("in_dev", in_dev=[LONE_ID]))
    lone(place, LONE_ID, ("chat",), f"nodes/{TASK}/sessions")
    before = snapshot(place.root)
    work.run()
    work.rollback()
    assert snapshot(place.root) == before


@pytest.mark.parametrize("under", ["sessions", f"nodes/{TASK}/sessions"])
@pytest.mark.parametrize(
    ("state", "names", "role"),
    [
        ("planning", ("chat", "agent-description"), "dev"),
        ("in_qa", ("chat",), "qa"),
        ("qa_complete", ("chat",), "qa"),
        ("planning", ("chat",), "pm"),
        ("ready_for_merge", ("chat",), "merge"),
    ],
)
def test_a_task_says_in_which_state_a_session_was(
    work: Work, place: Place, state: str, names: tuple[str, ...], role: str, under: str
) -> None:
    told = task_with("in_dev", **{state: [LONE_ID]})
    write(task_file(place), told)
    lone(place, LONE_ID, names, under)
    path = place.flat / under / f"agent-description_{LONE_ID}.json"
    if path.exists():
        write(path, {**reader.whole(path), "agentType": role})
    work.run()
    with work.store.sessions.using(LONE_ID) as session:
        known = {key: session.fields.get(key) for key in ("type", "agentType", "taskId", "taskState")}
    assert known == {"type": "task", "agentType": role, "taskId": TASK, "taskState": state}
    assert reader.whole(task_file(place)) == told, "it stands where it stood, and nowhere else"


def test_a_session_that_two_states_list_is_in_the_current_one(work: Work, place: Place) -> None:
    write(task_file(place), task_with("in_dev", in_dev=[LONE_ID], in_qa=[LONE_ID]))
    lone(place, LONE_ID, ("chat",), f"nodes/{TASK}/sessions")
    work.run()
    with work.store.sessions.using(LONE_ID) as session:
        assert (session.fields["taskState"], session.fields["createdAt"]) == ("in_dev", at(0))


def test_a_link_to_a_session_whose_turn_is_still_to_come_stays(work: Work, place: Place) -> None:
    write(place.flat / "feature.json", {"id": FEATURE, "sessionId": OTHER_ID})
    lone(place, LONE_ID, ("chat",))
    lone(place, OTHER_ID, ("chat",))
    before = snapshot(place.root)
    work.run()
    assert reader.whole(place.flat / "feature.json")["sessionId"] == OTHER_ID
    work.rollback()
    assert snapshot(place.root) == before


def test_the_statistics_of_an_older_file_are_those_of_its_session(work: Work, place: Place) -> None:
    write(
        place.flat / "sessions" / f"{OLD_ID}.json",
        {**single_file("go on"), "stats": {"totalMessages": 9, "totalTokens": 120}},
    )
    work.run()
    with work.store.sessions.using(L4_SESSION) as session:
        stats = session.document()["stats"]
    assert (stats["totalMessages"], stats["totalTokens"]) == (9, 120)
