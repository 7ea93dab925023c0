"""Statuses that a spider of Scrapy's sees at once, and the page that its callback gets."""

import pytest
import scrapy
from scrapy.settings import Settings

from gossamer.adapters.scrapy.spider import adapt_spider
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, StatusWish
from gossamer.spiders.response import Response


class Shop(scrapy.Spider):
    name = "shop"

    def parse(self, response, given="nothing"):
        yield {"given": given, "agent": response.request.headers["User-Agent"]}


def adapt(**settings):
    return adapt_spider(Shop, Settings(settings))()


@pytest.mark.parametrize("status", [429, 503])
def test_what_asks_for_time_goes_to_a_request_that_is_never_tried_again(status):
    patient, hasty = Request("http://a.example/"), Request("http://a.example/", max_retries=0)
    assert not adapt().wants_status(patient, status)
    assert adapt().wants_status(hasty, status)
    assert adapt(RETRY_ENABLED=False).wants_status(patient, status)
    assert not adapt(RETRY_ENABLED=False).wants_status(patient, 500), "that is charged, and dead at once"


@pytest.mark.parametrize(
    ("status", "settings", "meta", "wish"),
    [
        (500, {}, {"handle_httpstatus_list": [500]}, StatusWish.AT_LAST),
        (503, {}, {"handle_httpstatus_all": True}, StatusWish.AT_LAST),
        (404, {}, {"handle_httpstatus_list": [404]}, StatusWish.AT_ONCE),
        (500, {"RETRY_HTTP_CODES": [502]}, {"handle_httpstatus_list": [500]}, StatusWish.AT_ONCE),
        (500, {"RETRY_ENABLED": False}, {"handle_httpstatus_list": [500]}, StatusWish.AT_ONCE),
        (500, {}, {}, StatusWish.NEVER),
    ],
)
def test_scrapys_retries_come_before_the_statuses_that_a_callback_handles(status, settings, meta, wish):
    request = Request("http://a.example/", meta=meta)
    assert adapt(**settings).wants_status(request, status) == wish
    hasty = request.replace(max_retries=0)
    assert adapt(**settings).wants_status(hasty, status) == (StatusWish.AT_ONCE if wish else wish)


@pytest.mark.parametrize(("settings", "agent"), [({}, b"gossamer/"), ({"USER_AGENT": "made/1"}, b"made/1")])
def test_a_callback_gets_arguments_of_any_name_and_the_agent_that_was_told(settings, agent):
    spider = adapt(**settings)
    request = Request("http://a.example/", cb_kwargs={"given": "this"})
    fetched = FetchResult(
        url=request.url,
        status=200,
        headers=(),
        body=b"<p>",
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="",
    )
    (item,) = spider.find_callback("parse")(Response(request, fetched), **request.cb_kwargs)
    assert item.item["given"] == "this"
    assert item.item["agent"].startswith(agent)
