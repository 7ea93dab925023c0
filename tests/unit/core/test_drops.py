"""What was not taken of a page is counted by a text of its kind and its reason."""

import pytest

from gossamer.core.drops import DropKind

DROPPED = {"link:nofollow": 2, "item:price: too: high": 1, "item:too_many": 3, "page:parse_truncated": 1}


def test_the_text_is_as_it_always_was():
    """It stands in databases and in what programs read."""
    assert DropKind.LINK.key_of("nofollow") == "link:nofollow"
    kinds = ["link:x", "item:x", "file:x", "page:x", "sitemap:x", "feed:x"]
    assert [kind.key_of("x") for kind in DropKind] == kinds
    assert type(DropKind.LINK.key_of("x")) is str


def test_one_kind_is_told_from_the_others():
    assert DropKind.ITEM.select_from(DROPPED) == {"price: too: high": 1, "too_many": 3}
    assert (DropKind.ITEM.count_in(DROPPED), DropKind.SITEMAP.count_in(DROPPED)) == (4, 0)


@pytest.mark.parametrize("kind", DropKind)
def test_a_reason_comes_back_from_its_key(kind):
    for reason in ("word", "free: text", ""):
        assert kind.reason_of(kind.key_of(reason)) == reason
        assert all(other.reason_of(kind.key_of(reason)) is None for other in DropKind if other is not kind)
