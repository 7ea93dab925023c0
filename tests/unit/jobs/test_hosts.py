"""What is said of a host that somebody steers."""

from __future__ import annotations

import pytest

from gossamer.core.hosts import HostState
from gossamer.core.jobs import HostReport
from gossamer.jobs.hosts import describe_steering


@pytest.mark.parametrize(
    ("state", "one", "two"),
    [
        (HostState(), "; 1 request waits", "; 2 requests wait"),
        (HostState(hold_until=99.0), "; 1 request of it waits", "; 2 requests of it wait"),
        (
            HostState(is_skipped=True),
            "; 1 request of it stays where it is",
            "; 2 requests of it stay where they are",
        ),
    ],
)
def test_one_request_waits_and_two_wait(state: HostState, one: str, two: str) -> None:
    for pending, end in ((1, one), (2, two)):
        report = HostReport(host="a.example", state=state, pending=pending)
        assert describe_steering(report, 5.0, 10.0).endswith(end)
