"""Everyone hears everything in one order, or is told exactly what is missing."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from queue import Full, Queue

import pytest

from dagentd import events as module
from dagentd.errors import LimitReached
from dagentd.events import Event, Events
from dagentd.model import jsontext

START = 1_700_000_000_000_000  # microseconds
WAIT = 30.0  # seconds until a test is given up


def hub(on_bug: Callable[[BaseException], object] | None = None, start: int = START) -> Events:
    def no_bug(bug: BaseException) -> None:
        raise AssertionError from bug

    return Events(lambda: "2026-01-01T00:00:00.000Z", on_bug or no_bug, lambda: start * 1000 + 999)


class Box:
    """A subscriber with room for so many events; empty it and it has room again."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.events: Queue[Event | None] = Queue(room)  # None: there will be no more
        self.full = threading.Event()

    def __call__(self, event: Event, subscription: str) -> bool:
        try:
            self.events.put_nowait(event)
        except Full:
            self.full.set()
            return False
        return True

    def empty(self) -> list[Event]:
        return [event for _ in range(self.events.qsize()) if (event := self.events.get()) is not None]

    def seqs(self) -> list[int]:
        return [event.seq - START for event in self.empty()]


def test_an_event_says_what_happened_and_where() -> None:
    event = hub().publish(
        "session:compaction-start",
        project="/p",
        feature_id="feat",
        session_id="s1",
        task_id="t1",
        messages_count=3,
        biggest=[{"part": "chat"}],
    )
    assert event.raw() == {
        "type": "session:compaction-start",
        "seq": START + 1,
        "at": "2026-01-01T00:00:00.000Z",
        "project": "/p",
        "featureId": "feat",
        "sessionId": "s1",
        "taskId": "t1",
        "messagesCount": 3,
        "biggest": [{"part": "chat"}],
    }


def test_only_the_task_is_left_out_where_there_is_none() -> None:
    raw = hub().publish("daemon:degraded").raw()
    assert (raw["project"], raw["featureId"], raw["sessionId"]) == (None, None, None)
    assert "taskId" not in raw


def test_a_subscriber_gets_what_it_asked_for() -> None:
    events = hub()
    everything, types, project, session = (Box() for _ in range(4))
    assert events.subscribe(everything).seq == START
    events.subscribe(types, types=["git:changed"])
    events.subscribe(project, project="/p")
    events.subscribe(session, types=["session:updated"], session_id="s1")
    events.publish("git:changed", project="/p")
    events.publish("session:updated", project="/q", session_id="s1")
    events.publish("session:updated", project="/p", session_id="s2")
    events.publish("daemon:degraded")
    assert everything.seqs() == [1, 2, 3, 4]
    assert types.seqs() == [1]
    assert project.seqs() == [1, 3]
    assert session.seqs() == [2]


def test_each_event_says_whose_it_is_also_when_it_is_replayed_or_lost() -> None:
    events, got = hub(), dict[str, list[Event]]()
    room = iter([True, True, False, True, True])

    def deliver(event: Event, subscription: str) -> bool:
        got.setdefault(subscription, []).append(event)
        return next(room)

    events.publish("git:changed", project="/p")
    made = [events.subscribe(deliver, since=START), events.subscribe(deliver)]
    events.publish("git:changed")
    events.has_room(made[1].id)
    assert {name: [event.type for event in some] for name, some in got.items()} == {
        made[0].id: ["git:changed", "git:changed"], made[1].id: ["git:changed", "events:lost"],
    }  # fmt: skip
    event = got[made[0].id][0]
    assert jsontext.decode_own(event.to("7")) == {**event.raw(), "subscription": "7"}


def test_nothing_comes_after_the_end_of_a_subscription() -> None:
    events, box = hub(), Box()
    made = events.subscribe(box)
    events.unsubscribe(made.id)
    events.unsubscribe(made.id)
    events.publish("git:changed")
    events.has_room(made.id)
    assert box.seqs() == []


def test_who_comes_back_is_told_what_happened_meanwhile() -> None:
    events, box = hub(), Box()
    for session in ("s1", "s2", "s1", "s2"):
        events.publish("session:updated", session_id=session)
    made = events.subscribe(box, session_id="s2", since=START + 2)
    assert (made.seq, made.continuous) == (START + 4, True)
    events.publish("session:updated", session_id="s2")
    assert box.seqs() == [4, 5]


@pytest.mark.parametrize(
    ("since", "continuous", "replayed"),
    [(None, True, []), (0, True, [1, 2]), (2, True, []), (3, False, [1, 2]), (-1, False, [1, 2])],
    ids=["no since", "the beginning", "the end", "the future", "the past"],
)
def test_continuous_is_what_begins_and_ends_in_this_life(
    since: int | None, continuous: bool, replayed: list[int]
) -> None:
    events, box = hub(), Box()
    events.publish("git:changed")
    events.publish("git:changed")
    made = events.subscribe(box, since=None if since is None else START + since)
    assert (made.continuous, box.seqs()) == (continuous, replayed)


def test_no_life_of_the_daemon_is_taken_for_another() -> None:
    old = hub()
    seen = [old.publish("git:changed").seq for _ in range(1_000)]
    for restarted in (START + 2_000, START - 2_000):  # two milliseconds later, or the clock was set back
        new = hub(start=restarted)
        for _ in range(500):
            new.publish("git:changed")
        assert not any(new.subscribe(Box(), since=since).continuous for since in (START, *seen[::10]))


@pytest.mark.parametrize(("size", "held"), [(0, module.MAX_EVENTS), (module.MAX_BYTES // 4, 3), (module.MAX_BYTES, 0)])
def test_what_is_held_is_bounded(size: int, held: int) -> None:
    events, published = hub(), held + 5
    for _ in range(published):
        events.publish("git:changed", text="x" * size)
    for since, continuous in ((4, False), (5, True)):
        box = Box()
        assert events.subscribe(box, since=START + since).continuous is continuous
        assert box.seqs() == list(range(6, published + 1))


def test_who_is_full_is_told_what_it_lost_before_the_next_that_fits() -> None:
    events, box = hub(), Box(2)
    events.subscribe(box, types=["git:changed"])
    for _ in range(5):
        events.publish("git:changed")
        events.publish("session:updated")
    assert box.seqs() == [1, 3]
    events.publish("git:changed")
    lost, event = box.empty()
    assert lost.raw() == {
        "type": "events:lost",
        "seq": START + 9,
        "at": "2026-01-01T00:00:00.000Z",
        "project": None,
        "featureId": None,
        "sessionId": None,
        "from": START + 5,
        "to": START + 9,
    }
    assert event.seq == START + 11


def test_an_event_that_does_not_fit_behind_the_loss_begins_another() -> None:
    events, box = hub(), Box(1)
    events.subscribe(box)
    told = []
    for _ in range(3):
        events.publish("git:changed")
        events.publish("git:changed")
        told += [list(covered(event)) for event in box.empty()]
    assert told == [[START + 1], [START + 2], [START + 3, START + 4]]


def test_nothing_overtakes_the_news_of_a_loss() -> None:
    events, offered = hub(), list[Event]()
    room = iter([False, False, True, True])  # the event after the first loss would have fitted

    def deliver(event: Event, subscription: str) -> bool:
        offered.append(event)
        return next(room)

    events.subscribe(deliver)
    for _ in range(3):
        events.publish("git:changed")
    assert [event.type for event in offered] == ["git:changed", "events:lost", "events:lost", "git:changed"]
    assert list(covered(offered[2])) == [START + 1, START + 2]
    assert offered[3].seq == START + 3


def test_who_has_room_again_is_told_at_once() -> None:
    events, box = hub(), Box(1)
    made = events.subscribe(box)
    for _ in range(3):
        events.publish("git:changed")
    events.has_room(made.id)
    assert box.seqs() == [1]
    events.has_room(made.id)
    events.has_room(made.id)
    (lost,) = box.empty()
    assert (lost.raw()["from"], lost.raw()["to"]) == (START + 2, START + 3)


def test_a_replay_that_does_not_fit_is_not_continuous() -> None:
    events, box = hub(), Box(2)
    for _ in range(5):
        events.publish("git:changed")
    made = events.subscribe(box, since=START)
    assert not made.continuous
    assert box.seqs() == [1, 2]
    events.has_room(made.id)
    assert [(each.raw()["from"], each.raw()["to"]) for each in box.empty()] == [(START + 3, START + 5)]


def test_a_subscriber_that_raises_is_dropped_and_reported() -> None:
    bugs: list[str] = []
    before, after, calls = Box(), Box(), itertools.count()

    def report(bug: BaseException) -> None:
        bugs.append(str(bug))
        events.publish("daemon:degraded")  # whoever is told may say so

    def broken(event: Event, subscription: str) -> bool:
        raise ValueError(f"a bug, call {next(calls)}")

    events = hub(report)
    for subscriber in (before, broken, after):
        events.subscribe(subscriber)
    events.publish("git:changed")
    assert before.seqs() == after.seqs() == [1, 2]
    assert bugs == ["a bug, call 0"]


def test_an_event_that_cannot_be_sent_harms_only_its_publisher() -> None:
    events, box = hub(), Box()
    events.subscribe(box)
    with pytest.raises(TypeError):
        events.publish("git:changed", field=object())
    events.publish("git:changed")
    assert box.seqs() == [1]


def test_subscriptions_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SUBSCRIPTIONS", 2)
    events = hub()
    made = [events.subscribe(Box()) for _ in range(2)]
    assert len({each.id for each in made}) == 2
    with pytest.raises(LimitReached, match="2 subscriptions"):
        events.subscribe(Box())
    events.unsubscribe(made[0].id)
    events.subscribe(Box())


@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_events_of_eight_threads_reach_a_fast_and_a_slow_subscriber(seed: int) -> None:
    events, fast, slow = hub(), Box(), Box(10)
    events.subscribe(fast)
    subscription = events.subscribe(slow)
    start, read = threading.Barrier(8), list[Event]()

    def publish(number: int) -> None:
        start.wait(WAIT)
        for _ in range(125):
            events.publish("session:updated", session_id=f"s{number}")

    def read_slowly() -> None:
        assert slow.full.wait(WAIT)
        chance = random.Random(seed)
        for event in iter(slow.events.get, None):
            read.append(event)
            sum(range(chance.randrange(10_000)))  # time in which others publish

    reader = threading.Thread(target=read_slowly)
    publishers = [threading.Thread(target=publish, args=(number,)) for number in range(8)]
    for thread in (reader, *publishers):
        thread.start()
    for thread in publishers:
        thread.join()
    slow.events.put(None)
    reader.join()
    events.has_room(subscription.id)

    got = fast.empty()
    assert [event.seq for event in got] == list(range(START + 1, START + 1_001))
    for number in range(8):
        assert sum(event.session_id == f"s{number}" for event in got) == 125
    read += slow.empty()
    assert [seq for event in read for seq in covered(event)] == list(range(START + 1, START + 1_001))
    assert any(event.type == "events:lost" for event in read)


def covered(event: Event) -> range:
    """The numbers that a subscriber knows of when it has read this."""
    raw = event.raw()
    return range(raw["from"], raw["to"] + 1) if event.type == "events:lost" else range(event.seq, event.seq + 1)
