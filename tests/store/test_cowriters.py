"""Writers that are not ours: the app adds to the chat by plain open and write while several threads append."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dagentd.store.documents import document_writer
from tests.patience import patience
from tests.store import app
from tests.store.served import Served
from tests.torture.seeds import THOROUGH

AHEAD = 60  # ours do not run further ahead of theirs than this, so that the two meet all the time


class Beside:
    """The app in a process of its own, and how many messages it has had whole on disk by now."""

    def __init__(self, path: Path, count: int, how: str, seed: int) -> None:
        command = [sys.executable, app.__file__, str(path), str(count), how, str(seed)]
        self.whole = 0
        self._moved = threading.Condition()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._moved:
                    self.whole = int(line)
                    self._moved.notify_all()
        with self._moved:
            self.whole = max(self.whole, 1 << 40)  # it has ended: nobody waits any longer
            self._moved.notify_all()

    def keep_near(self, ours: int) -> None:
        with self._moved:
            self._moved.wait_for(lambda: ours <= self.whole + AHEAD, timeout=patience())

    def end(self) -> None:
        self._reader.join()
        assert self._process.wait() == 0


def _append(served: Served, beside: Beside, count: int, threads: int, seed: int, clears: bool) -> list[str]:
    """The ids of what we were answered, from several threads at once, of which one may clear now and then."""
    answered: list[str] = []

    def add(thread: int) -> None:
        dice = random.Random(seed + thread)
        left = count // threads
        while left:
            beside.keep_near(len(answered))
            some = min(left, dice.randint(1, 3))
            made = served.session.add([{"role": "user", "content": f"ours {thread} {left}"}] * some)
            answered.extend(one["id"] for one in made)
            left -= some
            if clears and not thread and not left % 10:
                served.session.clear()

    pool = [threading.Thread(target=add, args=(number,)) for number in range(threads)]
    for each in pool:
        each.start()
    for each in pool:
        each.join()
    return answered


def _meet(served: Served, how: str, count: int, threads: int, clears: bool = False) -> None:
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}\n")  # shown if the test fails
    path = served.app.paths["chat"]
    beside = Beside(path, count, how, seed)
    answered = _append(served, beside, count, threads, seed, clears)
    beside.end()
    served.flush()
    served.again()  # closing takes in what was written into files that lost their name
    contents = [record["message"]["content"] for record in served.records("message")]
    theirs = [content for content in contents if content.startswith("app says ")]
    assert sorted(theirs, key=lambda text: int(text[9:])) == [f"app says {number}" for number in range(count)]
    written = served.written()
    assert len(written) == len(set(written)) == 2 * count
    assert len(answered) == count and set(answered) <= set(written)
    left = {one for record in served.records("left") for one in record["ids"]}
    assert set(served.shown()) == set(written) - left and set(served.all()) == set(written)
    assert bool(left) == clears and not served.records("back")
    assert not list(path.parent.glob("*.torn.*"))


@pytest.mark.more
def test_the_app_adds_thousands_of_messages_while_we_add_as_many(served: Served) -> None:
    _meet(served, "plain", 4000 if THOROUGH else 1500, threads=4)


@pytest.mark.more
@pytest.mark.parametrize("how", ["plain", "rename", "pieces"])
def test_we_replace_a_short_file_as_often_as_we_can(served: Served, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides are quick, and meet in every gap between comparing, replacing and reading again."""
    monkeypatch.setattr(document_writer, "_APART", 0.0)
    monkeypatch.setattr(document_writer, "_REST", 0)
    _meet(served, how, 1500 if THOROUGH else 700, threads=2, clears=True)


@pytest.mark.more
@pytest.mark.parametrize("how", ["rename", "pieces", "anonymous"])
def test_other_ways_of_writing(served: Served, how: str) -> None:
    _meet(served, how, 400, threads=4)


def test_whoever_reads_never_sees_half_a_document(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as fast as can be while each is replaced hundreds of times: always all of one, never a part, never none."""
    monkeypatch.setattr(document_writer, "_APART", 0.0)
    paths, sizes, ended = list(served.app.paths.values()), set[int](), threading.Event()

    def read() -> None:
        while not ended.is_set():
            for path in paths:
                raw = json.loads(path.read_bytes())
                sizes.add(len(raw.get("messages", ())))

    with ThreadPoolExecutor(2) as readers:
        reading = [readers.submit(read) for _ in range(2)]
        for number in range(300):
            served.add(f"m{number}")
        ended.set()
        assert [one.result() for one in reading] == [None, None]
    assert len(sizes) > 10, "they saw it grow"
