"""Signals are handled in the main thread, between its steps."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from dagentd.adapters.signals import Signals


@pytest.fixture
def reloads() -> list[threading.Thread]:
    return []


@pytest.fixture
def signals(reloads: list[threading.Thread]) -> Iterator[Signals]:
    found = Signals(lambda: reloads.append(threading.current_thread()))
    yield found
    found.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops(signals: Signals, number: int) -> None:
    assert not signals.wait(0)
    os.kill(os.getpid(), number)
    assert signals.wait() and signals.stopping.is_set()
    assert signals.wait()  # and so it stays


def test_it_reloads_and_goes_on(signals: Signals, reloads: list[threading.Thread]) -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    assert not signals.wait()
    assert reloads == [threading.main_thread()]
    assert not signals.wait(0) and len(reloads) == 1


def test_another_thread_can_stop_it(signals: Signals) -> None:
    threading.Thread(target=signals.stop).start()
    assert signals.wait()


def test_a_flood_of_signals_is_survived(signals: Signals) -> None:
    for _ in range(100_000):
        signals.stop()
    assert signals.wait()


def test_afterwards_everything_is_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    Signals(lambda: None).close()
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert signal.set_wakeup_fd(-1) == -1
