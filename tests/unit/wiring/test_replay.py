"""The pages of a re-crawl that its archive has, as it is known how they are asked for."""

from __future__ import annotations

from types import SimpleNamespace

from gossamer.core.freshness import KnownPage
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.frontier.codec import pack_request
from gossamer.policy.freshness import known_fingerprint_of
from gossamer.store.memory.known_pages import MemoryKnownPageStore
from gossamer.wiring import replay
from gossamer.wiring.replay import read_visited

HOST = "https://shop.example"
JOB = Job(id="shop-2", name="shop", target="t", created_at=0.0)


def known(request, packed):
    return KnownPage(
        fingerprint=known_fingerprint_of(request), url=request.url, host=HOST, request=packed, due_at=0.0
    )


async def test_a_page_of_which_nobody_can_read_how_it_is_asked_for_is_said_and_left_out(monkeypatch, caplog):
    """A bug it would catch: one page that another version noted ends the replay of all others."""
    good, bad = Request(f"{HOST}/1", "parse_product"), Request(f"{HOST}/2")
    pages = MemoryKnownPageStore()
    pages.save_pages("shop", [known(good, pack_request(good, HOST)), known(bad, "\t\t?\t\t\t\t\t\t\t{")])

    async def list_pages(_):
        for request in (good, bad):
            yield SimpleNamespace(url=request.url, method=request.method)

    monkeypatch.setattr(replay, "open_reader", lambda *_, **__: SimpleNamespace(list_pages=list_pages))
    backends = SimpleNamespace(known_pages=pages)
    found = [request async for request in read_visited(None, backends, JOB)]
    assert [(request.url, request.callback) for request in found] == [(good.url, "parse_product")]
    assert "shop.example/2 is not parsed again" in caplog.text
