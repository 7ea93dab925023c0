"""The proxies of the settings on the command line: how they do, and whether they work."""

from __future__ import annotations

import asyncio
import json
import time

from gossamer import crawl
from gossamer.testing.site import SiteResponse, serve
from kit.command_line import asked, gossamer
from kit.fake_proxy import FakeProxy, Forwarding, hang_up, say
from kit.programs import free_port

SECRET = "hunter2secret"


def site(path, headers):
    return SiteResponse(200, b'{"origin": "203.0.113.7"}', "application/json")


async def test_proxies_are_tested_used_and_listed_without_their_passwords(tmp_path):
    works = Forwarding()
    async with serve(site) as served, FakeProxy(hang_up) as dead, FakeProxy(works) as well:
        urls = [f"http://me:{SECRET}@127.0.0.1:{one.port} provider=acme kind=mobile" for one in (dead, well)]
        (tmp_path / "gossamer.toml").write_text(f"[proxies]\nurls = {json.dumps(urls)}\n")

        def run(line, **more):
            done = gossamer(line, cwd=tmp_path, **more)
            assert SECRET not in done.stdout + done.stderr
            return done

        tested = await asyncio.to_thread(run, f"proxies test {served.url}/ --json", code=1)
        bad, good = json.loads(tested.stdout)
        assert (bad["works"], bad["status"], "proxy" in bad["error"]) == (False, 0, True)
        assert (good["works"], good["status"], good["address"]) == (True, 200, "203.0.113.7")
        assert (good["provider"], good["kind"]) == ("acme", "mobile")
        table = await asyncio.to_thread(run, f"proxies test {served.url}/", code=1)
        assert "203.0.113.7" in table.stdout

        await crawl(f"{served.url}/", data=str(tmp_path / ".gossamer"), delay=0, **{"proxies.urls": urls})
        bad, good = await asyncio.to_thread(asked, "proxies", cwd=tmp_path)
        assert good["name"].startswith(f"http://127.0.0.1:{well.port}#")
        assert (good["failures"], good["quarantines"], good["quarantined_until"]) == (0, 0, None)
        assert good["answers"] > 0
        assert bad["answers"] == 0
        if bad["failures"]:  # it was chosen first
            assert bad["quarantined_until"] is not None
        shown = await asyncio.to_thread(run, "proxies")
        assert f"127.0.0.1:{dead.port}" in shown.stdout
        everything = await asyncio.to_thread(run, "settings")
        assert f"127.0.0.1:{dead.port}" in everything.stdout

        heads = len(works.heads)
        only = f"-s proxies.only=127.0.0.1:{well.port}"
        await asyncio.to_thread(run, f"fetch {served.url}/x {only}")
        assert len(works.heads) > heads, "single pages go through proxies, too"
        assert len(works.heads) == len(served.log.hits), "nobody was asked but through the proxy"


async def test_a_proxy_that_answers_with_a_page_of_its_own_is_found(tmp_path):
    """A bug it would catch: it works, since its status is 200."""
    page = b"<title>Renew now</title> Your plan has ended"
    own = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(page) + page
    )
    async with (
        serve(site) as served,
        FakeProxy(say(own)) as bad,
        FakeProxy(Forwarding()) as one,
        FakeProxy(Forwarding()) as other,
    ):

        def test(*proxies, code):
            urls = json.dumps([f"http://127.0.0.1:{proxy.port}" for proxy in proxies])
            line = f"proxies test {served.url}/"
            return gossamer(line, "-s", f"proxies.urls={urls}", cwd=tmp_path, code=code)

        told = await asyncio.to_thread(test, one, bad, other, code=1)
        name = f"http://127.0.0.1:{bad.port}"
        assert f"1 proxy of 3 gives another page than most of the others: {name}" in told.stderr
        assert told.stdout.count("differs") == 1
        told = await asyncio.to_thread(test, bad, other, code=1)
        assert "none of which most of them give" in told.stderr
        assert not (await asyncio.to_thread(test, one, other, code=0)).stderr


async def test_a_single_page_is_tried_through_every_proxy_and_nobody_waits_for_their_rest(tmp_path):
    async with (
        serve(site) as served,
        FakeProxy(hang_up) as one,
        FakeProxy(hang_up) as other,
        FakeProxy(Forwarding()) as well,
    ):

        def fetch(*proxies, **more):
            urls = json.dumps([f"http://127.0.0.1:{proxy.port}" for proxy in proxies])
            return gossamer("fetch", f"{served.url}/", "-s", f"proxies.urls={urls}", cwd=tmp_path, **more)

        for _ in range(3):  # whichever it begins with
            page = await asyncio.to_thread(fetch, one, other, well)
            assert "200" in page.stdout
        told = await asyncio.to_thread(fetch, one, other, code=4)
        assert "no proxy is left: 127.0.0.1: " in told.stderr
        assert "again" not in told.stderr


def test_a_rung_whose_proxies_are_all_dead_is_not_waited_for(tmp_path):
    urls = json.dumps([f"http://127.0.0.1:{free_port()} kind=mobile" for _ in range(2)])
    began = time.monotonic()
    line = "fetch http://shop.example/ --rungs http+mobile --json"
    (row,) = json.loads(gossamer(line, "-s", f"proxies.urls={urls}", cwd=tmp_path, code=4).stdout)
    assert row["error"] == "no proxy of the kind mobile may be used now"
    assert time.monotonic() - began < 20, "their rest takes half a minute"


def test_without_proxies_or_a_page_it_says_what_to_do(tmp_path):
    assert "set proxies.urls" in gossamer("proxies", cwd=tmp_path, code=2).stderr
    given = "-s proxies.urls=127.0.0.1:9"
    assert "proxies.test_url" in gossamer(f"proxies test {given}", cwd=tmp_path, code=2).stderr
    assert "is not an action" in gossamer(f"proxies tets {given}", cwd=tmp_path, code=2).stderr
