"""What undoes what was done to workers and proxies: nothing that somebody else had done before."""

import pytest

from gossamer.core.access import LoggedAction
from gossamer.policy.undo import orders_back

NOW = 1000.0


@pytest.mark.parametrize(
    ("kind", "before", "after", "back"),
    [
        ("drain", "working", "draining", "keep"),
        ("keep", "draining", "working", "drain"),
        ("drain", "draining", "draining", None),
        ("keep", "working", "working", None),
    ],
)
def test_a_worker_that_did_so_before_goes_on(kind, before, after, back):
    action = LoggedAction(
        at=NOW,
        token="ann",
        kind=kind,
        before={"worker": "w", "state": before},
        after={"worker": "w", "state": after},
    )
    orders = orders_back(action, "bob", NOW)
    assert [(order.kind, order.who, order.by) for order in orders] == ([(back, "w", "bob")] if back else [])


@pytest.mark.parametrize(
    ("kind", "until", "back"),
    [
        ("rest", None, ("try", {})),
        ("rest", NOW - 1, ("try", {})),
        ("rest", NOW + 60, ("rest", {"seconds": 60.0})),
        ("try", NOW + 60, ("rest", {"seconds": 60.0})),
        ("try", NOW - 1, None),
        ("try", None, None),
    ],
)
def test_a_proxy_rests_as_long_as_it_would_have(kind, until, back):
    action = LoggedAction(at=NOW - 5, token="ann", kind=kind, before={"proxy": "p", "until": until})
    orders = orders_back(action, "bob", NOW)
    assert [(order.kind, order.given) for order in orders] == ([back] if back else [])
    assert {order.who for order in orders} <= {"p"}
