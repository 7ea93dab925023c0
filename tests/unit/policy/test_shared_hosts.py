"""Two crawls of one host are noticed, and only those."""

import time

import pytest

from gossamer.policy.shared_hosts import named_hosts, shared_host


def test_what_a_spider_names():
    named = named_hosts(["Example.com", "127.0.0.1:8000"], ["https://shop.example:8443/a", "no url"])
    assert named == ("*.127.0.0.1:8000", "*.example.com", "shop.example:8443")


@pytest.mark.parametrize(
    ("ours", "theirs", "shared"),
    [
        (["a.example"], ["a.example"], "a.example"),
        (["a.example"], ["b.example"], None),
        (["a.example"], ["a.example:8000"], None),
        (["127.0.0.1:8000"], ["127.0.0.1:8001"], None),
        (["127.0.0.1:8000"], ["127.0.0.1:8000"], "127.0.0.1"),
        (["*.example.com"], ["www.example.com"], "www.example.com"),
        (["*.example.com"], ["example.com:8443"], "example.com"),
        (["*.example.com"], ["badexample.com"], None),
        (["*.example.com:8000"], ["www.example.com"], None),
        (["*.example.com:8000"], ["www.example.com:8000"], "www.example.com"),
        (["*.news.example.com"], ["*.example.com"], "news.example.com"),
        (["*.example.com"], ["*.example.com"], "example.com"),
        (["*.127.0.0.1"], ["127.0.0.1:8000"], "127.0.0.1"),
        (["[::1]:8000"], ["[::1]:8000"], "[::1]"),
        ([], ["a.example"], None),
        (["a.example", "b.example"], ["c.example", "b.example"], "b.example"),
    ],
)
def test_a_host_that_both_may_ask(ours, theirs, shared):
    assert shared_host(ours, theirs) == shared
    assert shared_host(theirs, ours) == shared


def test_two_crawls_of_many_hosts_are_compared_at_once():
    ours = [f"a{number}.example" for number in range(20_000)]
    theirs = [f"b{number}.example" for number in range(20_000)]
    began = time.process_time()
    assert shared_host(ours, theirs) is None
    assert time.process_time() - began < 10, "each name of one was compared with each of the other"
