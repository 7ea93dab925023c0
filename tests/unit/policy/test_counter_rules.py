"""How counters of a job are merged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.counter_rules import MergeRule, merge_counts, rule_of

NAMES = ("pages", "expected:a", "stat:inc:a", "stat:max:a", "stat:min:a", "stat:set:a", "stat:later:a")
COUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(-(10**6), 10**6))


def test_the_name_of_a_counter_says_how_its_values_are_merged() -> None:
    assert [rule_of(name) for name in NAMES] == [
        MergeRule.SUM,
        MergeRule.LARGEST,
        MergeRule.SUM,
        MergeRule.LARGEST,
        MergeRule.SMALLEST,
        MergeRule.LATEST,
        MergeRule.SUM,  # of a later version
    ]


@given(st.lists(COUNTS, max_size=6), st.integers(0, 6))
def test_batches_may_be_merged_in_any_groups(batches: list[dict[str, int]], cut: int) -> None:
    whole: dict[str, int] = {}
    for batch in batches:
        merge_counts(whole, batch)
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    for batch in batches[:cut]:
        merge_counts(first, batch)
    for batch in batches[cut:]:
        merge_counts(second, batch)
    merge_counts(first, second)
    assert first == whole
    for name in ("expected:a", "stat:max:a"):
        values = [batch[name] for batch in batches if name in batch]
        assert whole.get(name) == max(values, default=None)
    values = [batch["stat:min:a"] for batch in batches if "stat:min:a" in batch]
    assert whole.get("stat:min:a") == min(values, default=None)
