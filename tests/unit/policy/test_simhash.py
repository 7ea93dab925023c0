"""Texts that are alike have fingerprints that are, and an index finds them among thousands."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy.simhash import PageIndex, simhash_of


def text_of(seed, words=400):
    source = random.Random(seed)
    return [f"w{source.randrange(5000)}" for _ in range(words)]


def test_a_few_words_change_a_few_bits_and_another_text_changes_half():
    words = text_of(1, 2000)
    changed = [*words[:-1], "other"]
    one, alike, other = (simhash_of(" ".join(text), 50) for text in (words, changed, text_of(2, 2000)))
    assert (one ^ alike).bit_count() <= 3
    assert 16 < (one ^ other).bit_count() < 48
    assert simhash_of("  ".join(words).upper(), 50) == one


@pytest.mark.parametrize(("text", "least"), [("", 1), ("one two", 1), ("a b c d", 5)])
def test_few_words_say_nothing(text, least):
    assert simhash_of(text, least) is None


@given(st.text())
def test_any_text_has_64_bits_or_none(text):
    found = simhash_of(text, 1)
    assert found is None or 0 <= found < 2**64


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**64 - 1) | st.integers(0, 40)), max_size=30),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_the_index_finds_what_a_look_at_all_pages_finds(pages, distance):
    index, known = PageIndex(distance), {}
    for number, simhash in pages:
        url = f"http://a/{number}"
        near = {
            other
            for other, hash_ in known.items()
            if other != url and (hash_ ^ simhash).bit_count() <= distance
        }
        found = index.find_near("a", url, simhash)
        assert (found in near) if near else found is None
        if found is None:
            known[url] = simhash


def test_a_page_is_compared_with_the_latest_of_those_that_share_a_part():
    """A host that makes fingerprints with one part in common would cost milliseconds a page."""
    index = PageIndex(3)

    def fingerprint(number, flipped=0):
        return sum((number << 3 ^ flipped) << shift for shift in (16, 32, 48)) | 0xABCD

    for number in range(1, 300):
        assert index.find_near("a", f"{number}", fingerprint(number * 7)) in (None, f"{number - 1}")
    assert index.find_near("a", "new", fingerprint(299 * 7, 1)) == "299"
    assert index.find_near("a", "old", fingerprint(1 * 7, 1)) is None


def test_hosts_are_apart_and_the_oldest_pages_are_forgotten():
    index = PageIndex(3, most=2)
    assert index.find_near("a", "1", 7) is None
    assert index.find_near("b", "1", 7) is None
    assert index.find_near("a", "2", 7) == "1"
    assert index.find_near("c", "1", 7) is None
    assert index.find_near("a", "2", 7) is None, "the page of a is the oldest"
