"""Traps: budgets count each URL once, contents are told apart, memory is bounded."""

from __future__ import annotations

import pytest

from gossamer.policy import traps
from gossamer.policy.traps import TrapCounter, TrapRules

VIA = "http://h.test/x"
PLACE = "http://h.test/p?id"


def test_a_budget_counts_each_url_once_and_knows_what_it_took() -> None:
    counter = TrapCounter(TrapRules(max_per_pattern=2))
    urls = [f"http://h.test/list?page={n}" for n in range(4)]
    assert [counter.check_url(url, n) for n, url in enumerate(urls)] == [
        None,
        None,
        "trap_pattern",
        "trap_pattern",
    ]
    assert [counter.check_url(url, n) for n, url in enumerate(urls)] == [
        None,
        None,
        "trap_pattern",
        "trap_pattern",
    ]
    assert counter.check_url("http://h.test/other?page=1", 9) is None
    assert counter.check_url("http://i.test/list?page=1", 10) is None


def test_contents_are_equal_byte_by_byte_or_word_by_word() -> None:
    counter = TrapCounter(TrapRules(max_same_body=20))
    assert [counter.is_copy(f"http://h.test/{n}", VIA, b"same") for n in range(25)] == [False] * 20 + [
        True
    ] * 5
    assert not counter.is_copy("http://i.test/1", "http://i.test/2", b"same")
    for via in ("", "http://h.test/list/1"):
        assert not counter.is_copy("http://h.test/1", via, b"same"), "a finite set, however large"
    listed = [b"<p>product %d costs %d" % (n % 7, n) + b" nice"[: n % 3] for n in range(1000, 1200)]
    assert not any(TrapCounter(TrapRules(max_same_body=None)).is_copy(PLACE, PLACE, body) for body in listed)
    texts = ["alpha", "bravo", "delta", "gamma", "omega", "sigma", "kappa", "theta"]
    different = [f"<p>{a} {b} {c}".encode() for a in texts for b in texts for c in texts]
    counter = TrapCounter(TrapRules(max_same_body=20))
    assert not any(counter.is_copy(f"{PLACE}={n}", PLACE, body) for n, body in enumerate(different))
    greek = ["αβγδ", "δγβα", "αγβδ", "βαγδ", "γαβδ", "δαβγ", "βγδα", "γβαδ"]
    different = [f"<p>{a} {b} {c}".encode() for a in greek for b in greek for c in greek]
    counter = TrapCounter(TrapRules(max_same_body=20))
    assert not any(counter.is_copy(f"{PLACE}={n}", PLACE, body) for n, body in enumerate(different))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traps, "MAX_COUNTED", 100)
    counter = TrapCounter(TrapRules(max_per_pattern=10, max_same_body=10))
    for n in range(1000):
        counter.check_url(f"http://h.test/{n % 97}/x{n}", n)
        counter.is_copy(f"http://h.test/{n}", VIA, b"%d" % n)
        counter.is_copy(f"http://h.test/{n}", VIA, b"often")
    assert counter.is_copy("http://h.test/x", VIA, b"often")
    assert len(counter._bodies) <= 101
    assert sum(map(len, counter._members.values())) <= 101
