"""Two crawls of one host are noticed, and only those."""

import time

import pytest

from gossamer.policy.shared_hosts import describe_sharing, first_hosts, may_share, named_hosts


def test_what_a_spider_names():
    named = named_hosts(["Example.com", "127.0.0.1:8000"], ["https://shop.example:8443/a", "no url"])
    assert named == ("*.127.0.0.1:8000", "*.example.com", "shop.example:8443")


@pytest.mark.parametrize(
    ("ours", "theirs", "shared"),
    [
        (["a.example"], ["a.example", "*.a.example"], ["a.example"]),
        (["a.example"], ["b.example", "*.b.example"], []),
        (["a.example"], ["a.example:8000", "*.a.example:8000"], []),
        (["127.0.0.1:8000"], ["127.0.0.1:8001", "*.127.0.0.1:8001"], []),
        (["127.0.0.1:8000"], ["127.0.0.1:8001", "*.127.0.0.1"], ["127.0.0.1:8000"]),
        (["www.example.com"], ["*.example.com"], ["www.example.com"]),
        (["example.com:8443"], ["*.example.com"], ["example.com:8443"]),
        (["badexample.com"], ["*.example.com"], []),
        (["www.example.com"], ["*.example.com:8000"], []),
        (["www.example.com:8000"], ["*.example.com:8000"], ["www.example.com:8000"]),
        (["[::1]:8000"], ["*.[::1]"], ["[::1]:8000"]),
        (["a.example"], [], ["a.example"]),
        (["a.example", "b.example"], ["b.example"], ["b.example", "a.example"]),
        ([], ["a.example"], []),
    ],
)
def test_the_hosts_that_another_crawl_may_ask(ours, theirs, shared):
    assert may_share(ours, theirs) == tuple(shared)


def test_only_start_urls_are_sure_to_be_asked():
    named = named_hosts(["shop.example"], ["https://www.shop.example/a", "https://b.example/"])
    assert first_hosts(named) == ("b.example", "www.shop.example")


def test_two_crawls_of_many_hosts_are_compared_at_once():
    ours = [f"a{number}.example" for number in range(20_000)]
    theirs = [f"b{number}.example" for number in range(20_000)] + ["*.b.example"]
    began = time.process_time()
    assert may_share(ours, theirs) == ()
    assert time.process_time() - began < 10, "each name of one was compared with each of the other"


def test_one_sentence_says_how_many_share_a_host():
    others = [(f"news-{number}", "https://a.example/") for number in range(1, 6)]
    assert describe_sharing("shop-1", "a.example", others[:1]) == (
        "shop-1 and news-1 (https://a.example/) both crawl a.example: they share its pace and take turns, so "
        "each has about half of it there until news-1 ends"
    )
    assert describe_sharing("shop-1", "a.example", others) == (
        "shop-1 and 5 other jobs (news-1, news-2, news-3 and 2 more) crawl a.example: they share its pace "
        "and take turns, so each has about 1/6 of it there"
    )
