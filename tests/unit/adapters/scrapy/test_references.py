"""Objects that are kept in the process while their requests wait."""

from __future__ import annotations

import pytest

from gossamer.adapters.scrapy import references
from gossamer.adapters.scrapy.references import HeldObjects, ReferenceTable


def test_an_object_is_there_until_it_was_delivered_and_for_a_retry() -> None:
    table = ReferenceTable()
    one = HeldObjects(meta={"a": object()})
    table.hold("one", one)
    assert table.find("one") is table.find("one") is one
    assert len(table) == 0, "it waits no longer"
    for number in range(references.DELIVERED):
        table.hold(f"more {number}", HeldObjects())
        table.find(f"more {number}")
    assert table.find("one") is None
    assert table.find("nobody") is None


def test_the_first_of_equal_requests_counts_and_later_ones_take_no_room() -> None:
    table = ReferenceTable()
    first = HeldObjects(meta={"n": 1})
    table.hold("one", first)
    table.hold("one", HeldObjects(meta={"n": 2}))
    assert table.find("one") is first
    table.hold("one", HeldObjects(meta={"n": 3}))
    assert len(table) == 0


def test_what_has_a_stored_form_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MOST_STORED", 2)
    table = ReferenceTable()
    for name in "abc":
        table.hold(name, HeldObjects(meta={"n": name}), is_stored=True)
    assert (table.find("a"), len(table)) == (None, 2)
    assert table.find("c") == HeldObjects(meta={"n": "c"})
    table.hold("a", HeldObjects())
    assert table.find("a") == HeldObjects(), "what was let go may be held again"
