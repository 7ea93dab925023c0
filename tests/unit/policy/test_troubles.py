"""Troubles: each kind has a severity and ways out, and the worst comes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.troubles import SEVERITIES, Severity, TroubleKind, make_trouble, order_troubles, ways_out


def test_each_kind_has_a_severity_and_a_way_out() -> None:
    assert set(SEVERITIES) == set(TroubleKind)
    for kind in TroubleKind:
        ways = ways_out(kind, "shops-7", "a.example")
        assert ways, kind
        assert all(way.text and (way.place or way.action or way.command) for way in ways)


def test_names_of_strangers_do_not_leave_their_place_in_an_address() -> None:
    (see, _) = ways_out(TroubleKind.HOST_FAILS, "shops-7", "a.example/?x&job=1#")
    assert see.place == "/jobs/shops-7/hosts?host=a.example%2F%3Fx%26job%3D1%23"


@given(st.lists(st.tuples(st.sampled_from(list(TroubleKind)), st.integers(0, 9))))
def test_the_worst_comes_first_and_of_equals_the_newest(found: list[tuple[TroubleKind, int]]) -> None:
    troubles = [
        make_trouble(kind, f"who {number}", "is ill.", since=since)
        for number, (kind, since) in enumerate(found)
    ]
    ordered = order_troubles(troubles)
    ranks = [(list(Severity).index(one.severity), -one.since) for one in ordered]
    assert ranks == sorted(ranks)
    assert sorted(one.who for one in ordered) == sorted(one.who for one in troubles)
    assert ordered == order_troubles(reversed(troubles))
