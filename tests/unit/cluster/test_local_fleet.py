"""`up` keeps its processes going: what dies comes back, what dies at once comes back ever more slowly."""

from __future__ import annotations

import signal
import sys
from itertools import pairwise
from typing import ClassVar

import pytest

from gossamer.cluster import local_fleet as module
from gossamer.cluster.local_fleet import LocalFleet


class Time:
    """The module's clock; a signal comes when the time is over."""

    def __init__(self, up, ends_at):
        self.now, self.up, self.ends_at = 0.0, up, ends_at

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        if self.now >= self.ends_at:
            self.up._on_signal(signal.SIGTERM, None)


class Dying:
    """A process that lives for some seconds of that time."""

    started: ClassVar[list[float]] = []
    lives_s = 0.0

    def __init__(self, command, **_):
        self.ends_at = module.time.monotonic() + self.lives_s
        self.started.append(module.time.monotonic())
        self.pid, self.returncode = 1, 1

    def poll(self):
        return 1 if module.time.monotonic() >= self.ends_at else None

    def send_signal(self, number):
        self.ends_at = 0.0


@pytest.fixture
def starts(monkeypatch):
    """When a child was started that lives for so long, within so many seconds."""

    def run(lives_s, seconds):
        up = LocalFleet([("a worker", ["worker"])], drain_s=1.0)
        monkeypatch.setattr(module, "time", Time(up, seconds))
        monkeypatch.setattr(module.subprocess, "Popen", Dying)
        monkeypatch.setattr(Dying, "started", [])
        monkeypatch.setattr(Dying, "lives_s", lives_s)
        assert up.run() == 0
        return Dying.started

    return run


def test_what_dies_at_once_comes_back_ever_more_slowly(starts):
    found = starts(0.0, 200.0)
    pauses = [round(after - before, 6) for before, after in pairwise(found)]
    assert pauses == sorted(pauses)
    assert 1.0 <= pauses[0] < 2.0
    assert 30.0 <= pauses[-1] < 31.0


def test_what_has_worked_for_a_while_comes_back_at_once(starts):
    found = starts(10.0, 100.0)
    assert all(10.0 <= after - before < 11.0 for before, after in pairwise(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "code", "script"),
    [
        (1, 0, "import time; time.sleep(60)"),
        (2, 3, "import signal, time; signal.signal(15, lambda *_: None); time.sleep(60); time.sleep(60)"),
    ],
)
def test_signals_end_the_children(signals, code, script, monkeypatch):
    up = LocalFleet([("a child", [sys.executable, "-c", script])], drain_s=0.0)
    told = iter([None, None, *[signal.SIGTERM] * signals])
    monkeypatch.setattr(module, "LOOK_S", 0.3)
    real = module.time.sleep

    def sleep(seconds):
        real(seconds)
        if number := next(told, None):
            signal.raise_signal(number)

    monkeypatch.setattr(module.time, "sleep", sleep)
    assert up.run() == code
    assert up._live_processes() == []
