"""Budgets of whole crawls, on a site that is served here and a gateway that bills."""

from __future__ import annotations

import asyncio
import json

import pytest

from gossamer import Spider
from gossamer.core.errors import MissingServiceError
from gossamer.core.exits import ExitCode
from gossamer.crawl.run import crawl
from gossamer.fetch.gateway.template import TEMPLATES
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import asked, gossamer
from kit.gateway import BillingGateway

PAGES = 60


def site_app(path, headers):
    """A chain of pages of 1,000 bytes each; robots.txt is not there."""
    name = path.strip("/") or "0"
    if not name.isdecimal() or int(name) > PAGES:
        return SiteResponse(404, b"")
    body = f'<a href="/{int(name) + 1}">next</a>'.encode()
    return SiteResponse(200, body.ljust(1000), "text/html")


class Chain(Spider):
    """Follows the chain."""

    name = "chain"
    start_urls = ["http://shop.example/"]
    allowed_domains = ["shop.example"]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


@pytest.fixture
def site():
    with serve_in_thread(site_app) as served:
        yield served


def spider_for(url):
    host = url.partition("://")[2].partition(":")[0]
    return type("Chain", (Chain,), {"start_urls": [f"{url}/"], "allowed_domains": [host]})


async def test_a_plain_crawl_has_a_budget_of_bytes_and_continues_with_a_larger_one(site, tmp_path):
    more = {"data": str(tmp_path), "delay": 0.0}
    result = await crawl(spider_for(site.url), **more, **{"budgets.bytes": 20_000})
    assert (result.finish_reason, result.pages, result.dead) == ("budget: bytes", 20, 0)
    assert result.ending.is_early
    assert any("a budget is spent (bytes); 1 request waits" in note.text for note in result.notes)
    again = await crawl(spider_for(site.url), **more, **{"budgets.bytes": 20_000})
    assert (again.finish_reason, again.pages) == ("budget: bytes", 20), "what was spent stays spent"
    larger = await crawl(spider_for(site.url), **more, **{"budgets.bytes": 1_000_000})
    assert (larger.finish_reason, larger.pages) == ("finished", PAGES + 1)
    assert (larger.cost, larger.by_rung) == (0.0, {})


async def test_a_host_over_its_budget_is_skipped(site, tmp_path):
    result = await crawl(
        spider_for(site.url), data=str(tmp_path), delay=0.0, **{"budgets.bytes_per_host": 5_000}
    )
    assert (result.finish_reason, result.pages, result.dead) == ("finished", 5, 0)
    (note,) = result.notes
    assert note.text == (
        "1 request skipped over a budget (`gossamer report budgets chain-1`): "
        "`gossamer attempts chain-1 --reason budget`"
    )


def test_the_command_says_so(site, tmp_path):
    said = gossamer(
        f"crawl {site.url}/ --json --delay 0 -s budgets.bytes=9000", cwd=tmp_path, code=ExitCode.STOPPED
    )
    result = json.loads(said.stdout)
    assert (result["finish_reason"], result["pages"], result["cost"]) == ("budget: bytes", 9, 0.0)


async def pay(tmp_path, monkeypatch, site, *, credit=1000, key="k", **settings):
    """A crawl by a gateway that takes 5 credits a page; and what it has billed."""
    monkeypatch.setenv("SHOP_KEY", key)
    async with BillingGateway({"k": credit}, price=5, sites={"shop.example": site.host}) as gateway:
        url = TEMPLATES["scraperapi"].url.replace("https://api.scraperapi.com", gateway.url)
        told = {"template": "scraperapi", "key_env": "SHOP_KEY", "url": url, "price": 0.01}
        own = {f"gateways.shop.{name}": value for name, value in told.items()}
        more = {"data": str(tmp_path), "delay": 0.0, "robots": False, **own, **settings}
        return await crawl(Chain, **more), gateway.billed


async def test_the_cost_stands_in_the_report(site, tmp_path, monkeypatch):
    result, billed = await pay(tmp_path, monkeypatch, site, fetch="gateway:shop")
    assert (result.finish_reason, result.pages, billed) == ("finished", PAGES + 1, 5 * (PAGES + 2))
    assert result.cost == pytest.approx(0.05 * (PAGES + 2))
    assert result.by_rung == {"gateway:shop": PAGES + 2}
    assert result.cost_by_rung == {"gateway:shop": pytest.approx(result.cost)}
    place = ("--data", tmp_path)
    shown = await asyncio.to_thread(gossamer, "status chain", *place, cwd=tmp_path)
    assert "gateway:shop 3.1" in shown.stdout
    told = await asyncio.to_thread(asked, "status chain", *place, cwd=tmp_path)
    assert (told["cost"], told["by_rung"]) == (result.cost, result.by_rung)


async def test_a_crawl_ends_when_its_money_is_spent_and_continues_with_more(site, tmp_path, monkeypatch):
    paid = {"fetch": "gateway:shop", "budgets.cost": 1.0}
    result, billed = await pay(tmp_path, monkeypatch, site, **paid)
    assert (result.finish_reason, result.pages, billed) == ("budget: cost", 20, 100)
    result, billed = await pay(tmp_path, monkeypatch, site, **{**paid, "budgets.cost": 2.0})
    assert (result.finish_reason, result.pages, billed) == ("budget: cost", 40, 100)


async def test_a_host_over_its_money_without_a_cheaper_rung_is_skipped(site, tmp_path, monkeypatch):
    ladder = {"ladder.rungs": ["gateway:shop"], "fetch": "auto"}
    budget = {"budgets.cost_per_host": 0.5, "budgets.over": "downgrade"}
    result, billed = await pay(tmp_path, monkeypatch, site, **ladder, **budget)
    assert (result.finish_reason, result.pages, billed) == ("finished", 10, 50)


async def test_a_refused_key_stops_the_crawl_and_keeps_the_requests(site, tmp_path, monkeypatch):
    with pytest.raises(MissingServiceError, match="refuses the key in the environment variable SHOP_KEY"):
        await pay(tmp_path, monkeypatch, site, key="wrong", fetch="gateway:shop")
    result, _ = await pay(tmp_path, monkeypatch, site, fetch="gateway:shop")
    assert (result.finish_reason, result.pages, result.dead) == ("finished", PAGES + 1, 0)


async def test_an_account_that_runs_empty_stops_the_crawl_and_the_next_run_continues(
    site, tmp_path, monkeypatch
):
    with pytest.raises(MissingServiceError, match="'shop' has no more credit"):
        await pay(tmp_path, monkeypatch, site, credit=52, fetch="gateway:shop")
    result, billed = await pay(tmp_path, monkeypatch, site, fetch="gateway:shop")
    assert (result.finish_reason, result.pages, billed) == ("finished", PAGES + 1, 5 * (PAGES + 2 - 10))
