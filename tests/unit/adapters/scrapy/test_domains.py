"""``allowed_domains`` of spiders as people write them."""

import logging

import pytest
import scrapy
from scrapy.settings import Settings

from gossamer.adapters.scrapy.spider import NO_DOMAIN, adapt_spider


def domains_of(given):
    kind = type("Shop", (scrapy.Spider,), {"name": "shop", "allowed_domains": given})
    return adapt_spider(kind, Settings())().allowed_domains


@pytest.mark.slow
def test_entries_that_are_no_domains_are_left_out_and_said(caplog):
    with caplog.at_level(logging.WARNING):
        given = ["shop.example", "https://shop.example/list", "shop.example:8000"]
        assert domains_of(given) == ("shop.example",), "with a port it fits no host in Scrapy either"
    assert "https://shop.example/list" in caplog.text


def test_where_none_is_a_domain_no_link_is_followed_and_the_spider_starts_all_the_same():
    assert domains_of(["www.shop.example/"]) == (NO_DOMAIN,)
    assert domains_of([]) == ()
