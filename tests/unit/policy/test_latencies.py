"""How fast hosts answer, by their attempts."""

from __future__ import annotations

from gossamer.core.results import Attempt, Verdict
from gossamer.policy.latencies import LEAST_ANSWERS, LatencyFacts, times_by_host


def tried(host: str, elapsed_ms: float, status: int = 200) -> Attempt:
    return Attempt(
        at=1.0, url=f"https://{host}/{elapsed_ms}", fingerprint=1, verdict=Verdict.SUCCESS,
        status=status, elapsed_ms=elapsed_ms,
    )  # fmt: skip


def test_hosts_that_answered_often_enough_have_their_times() -> None:
    many = [tried("a.example", 10.0 * number) for number in range(100, 0, -1)]
    few = [tried("b.example:8443", 5.0) for _ in range(LEAST_ANSWERS - 1)]
    silent = [tried("c.example", 30_000.0, status=0) for _ in range(20)]
    found = times_by_host([*many, *few, *silent])
    assert found == {"a.example": LatencyFacts(p50_s=0.5, p95_s=0.95)}
    assert times_by_host([*few, tried("b.example:8443", 9.0)]) == {
        "b.example:8443": LatencyFacts(p50_s=0.005, p95_s=0.009)
    }
