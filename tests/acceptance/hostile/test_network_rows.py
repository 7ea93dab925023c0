"""Hostile inputs 1 to 22 and 28 to 34: the network, and what pages say of other places (certificates, names
and addresses: ``test_address_rows``).

Most rows are routes of the shipped bad site, each on a host of its own among 20 good pages, crawled together
in another process: every route ends in its named class, all good pages are done, the loop is never held up
and memory stays bounded (:meth:`Round.check`). What a row asks for beyond that stands in its own tests.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.policy.urls import host_key
from gossamer.testing.badroutes import PAGE, all_routes
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.misbehaving.headers import RETRY_AFTER
from gossamer.testing.misbehaving.pages import SCHEMES, SCHEMES_REPEATED
from gossamer.testing.misbehaving.places import HREFS, NO_HOSTS, PATHS
from gossamer.wiring.backends import open_backends
from kit.hostile.bad_site import CALM, Round, crawl, headers_at, of_row, serving
from kit.programs import rows

pytestmark = pytest.mark.long

HEAVY = ["million_chunks", *of_row(3, 6, 7, 8)]
QUICK = [name for name, route in all_routes().items() if route.row and name not in HEAVY]


def round_of(names: list[str], folder: Path, **settings: object) -> Iterator[Round]:
    hosts = [f"127.0.1.{number}" for number in range(1, len(names) + 1)]
    with serving(hosts=hosts) as site:
        yield Round(site, folder, names, **settings)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Round]:
    """Everything that needs no more than short limits of time."""
    yield from round_of(QUICK, tmp_path_factory.mktemp("quick"))


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Round]:
    """What is large, under the default limits of size."""
    yield from round_of(HEAVY, tmp_path_factory.mktemp("heavy"), **CALM)


def only(done: Round, name: str) -> list[str]:
    """How the tries at the one URL of a route ended."""
    return done.crawled.tries[done.url(name, name)]


# --------------------------------------------------------------------------- time and size


@pytest.mark.long
def test_row_01_slow_headers(quick: Round) -> None:
    quick.check(*of_row(1))
    assert (
        only(quick, "slow_headers") == ["timeout_headers"] * 3
    )  # the first may be the beginning of an outage


def test_row_02_stalled_bodies(quick: Round) -> None:
    quick.check(*of_row(2))
    assert only(quick, "stalled_body") == only(quick, "slow_body") == ["timeout_body"] * 2


def test_row_03_endless_bodies(heavy: Round) -> None:
    heavy.check(*of_row(3))
    assert only(heavy, "endless_body") == ["too_large"]


def test_row_04_wrong_lengths(quick: Round) -> None:
    quick.check(*of_row(4))
    assert only(quick, "short_body") == ["incomplete"] * 2
    for name in ("long_body", "two_answers", "late_answer"):
        assert only(quick, name) == ["success"]
    sizes = rows(quick.crawled.data, "select url, size_bytes from attempt where url like '%/good/%'")
    # An answer that comes unasked just after the next request is that request's answer: nobody can tell.
    wrong = {url for url, size in sizes if size != len(PAGE) and quick.host["late_answer"] not in url}
    assert not wrong, "no page has bytes of another answer"


def test_row_05_broken_chunks(quick: Round) -> None:
    quick.check(*(name for name in of_row(5) if name not in HEAVY))


def test_row_05_million_chunks(heavy: Round) -> None:
    heavy.check("million_chunks")
    assert only(heavy, "million_chunks") == ["too_large"]
    assert heavy.crawled.cpu_s < 20


def test_row_06_header_bombs(heavy: Round) -> None:
    heavy.check(*of_row(6))


def test_row_07_hundred_megabytes(heavy: Round) -> None:
    heavy.check(*of_row(7))
    assert only(heavy, "announced_giant") == ["too_large"]


@pytest.mark.long
def test_row_07_sixty_four_at_once(tmp_path: Path) -> None:
    """Each may have 32 MB; all together must not have 2 GB."""
    with serving(hosts=[f"127.0.3.{number}" for number in range(1, 65)]) as site:
        seeds = [site.url("hundred_megabytes_unannounced", host=host) for host in site.hosts]
        done = crawl(tmp_path, seeds, **(CALM | {"robots": False}))
        done.behaved()
        assert [done.tries[url] for url in seeds] == [["too_large"]] * 64


def test_row_08_bombs(heavy: Round) -> None:
    heavy.check(*of_row(8))


def test_row_08_a_bomb_as_robots_txt(tmp_path: Path) -> None:
    with serving(aliases={"/robots.txt": "gzip_bomb"}) as site:
        done = crawl(tmp_path, [site.url("good")], max_retries=0)
        done.behaved()
        assert done.ending(site.url("good")) == "robots_unreachable"
        assert "too_large" in done.details[site.url("good")]
        assert site.hits("good") == 0


def test_row_09_wrong_encodings(quick: Round) -> None:
    quick.check(*of_row(9))


# --------------------------------------------------------------------------- redirects


def test_row_10_redirects_without_end(quick: Round) -> None:
    quick.check(*of_row(10))
    for name in of_row(10):
        assert "redirect_limit" in quick.endings(name).values(), name
        asked = [path for path in quick.hits(name) if path.startswith(f"/{name}")]
        assert len(asked) == 11, "ten redirects are followed"


SECRETS = ("authorization", "cookie", "proxy-authorization", "x-api-key")


ANY_PORT = {"allowed_domains": ["127.0.0.1"]}


def test_row_11_redirects_to_other_origins(quick: Round, tmp_path: Path) -> None:
    """Same origin: everything is kept. Another port: no credentials; no body at all; its robots.txt rules."""
    quick.check(*of_row(11))
    for name, target in (
        ("redirect_private", "http://169.254.169.254/latest/"),
        ("redirect_other_host", f"http://localhost:{quick.site.port}/echo"),
    ):
        assert quick.endings(name) == {name: "redirect"}
        assert quick.crawled.ending(target) == "guard"
    robots = {"/robots.txt": b"User-agent: *\nDisallow: /echo\n"}
    with serving() as first, serving() as other, serving(files=robots) as closed:
        seeds = [first.url("redirect_as/302")]
        seeds += [first.url(f"redirect_abroad/302/127.0.0.1:{site.port}") for site in (other, closed)]
        done = crawl(tmp_path / "get", seeds, spider="Poster", attributes={"method": "GET"} | ANY_PORT)
        done.behaved()
        (kept,) = headers_at(first, "/echo")
        assert [kept[name] for name in SECRETS if name in kept] == ["Bearer canary", "id=canary", "canary"]
        (bare,) = headers_at(other, "/echo")
        assert "canary" not in str(bare)
        assert done.ending(closed.url("echo")) == "robots"
        assert headers_at(closed, "/echo") == []
        seeds = [first.url(f"redirect_abroad/{status}/127.0.0.1:{other.port}") for status in (307, 308)]
        done = crawl(tmp_path / "post", seeds, spider="Poster", attributes={"method": "POST"} | ANY_PORT)
        assert [done.tries[url] for url in seeds] == [["bad_redirect"]] * 2
        assert len(headers_at(other, "/echo")) == 1


def test_row_13_bad_locations(quick: Round) -> None:
    quick.check(*of_row(13))
    found = {
        path for path in quick.hits("redirect_odd") if not path[6:].isdigit() and path.startswith("/good/")
    }
    assert found == {
        *("/good/relative", "/good/fragment", "/good/blanks", "/good/caf%C3%A9", "/good/caf%E9"),
        *("/good/backslashes", "/good/no_scheme"),
    }
    assert set(quick.endings("redirect_nowhere").values()) == {"bad_redirect"}


def test_row_14_methods_and_bodies_after_redirects(tmp_path: Path) -> None:
    statuses = (301, 302, 303, 307, 308)
    with serving() as site:
        seeds = [site.url(f"redirect_as/{status}") for status in statuses]
        crawl(tmp_path, seeds, spider="Poster", attributes={"method": "POST"}).behaved()
        found = {
            int(hit.headers["referer"][-3:]): (hit.method, hit.body)
            for hit in site.log
            if hit.path == "/echo"
        }
    post = ("POST", b"secret=canary")
    assert found == {301: ("GET", b""), 302: ("GET", b""), 303: ("GET", b""), 307: post, 308: post}


# --------------------------------------------------------------------------- connections and protocol


def test_row_18_lost_connections(quick: Round, tmp_path: Path) -> None:
    quick.check(*of_row(18))
    assert only(quick, "close_idle") == ["success"], "one silent retry"
    with serving(cut="connect") as rude, serving(cut="hello") as deaf, serving() as good:
        seeds = [rude.url("good"), deaf.url("good"), good.url("hub/good")]
        done = crawl(tmp_path, seeds, robots=False)
        done.behaved()
        assert [done.tries[url] for url in seeds] == [["connect"] * 2, ["connect"] * 2, ["success"]]
        assert (rude.connections, deaf.connections) == (2, 2), "no silent retry on a fresh connection"
        assert good.hits("good") == 21


def test_row_19_what_is_no_http(quick: Round) -> None:
    quick.check(*of_row(19))


async def test_row_19_a_body_for_a_head_request() -> None:
    async with BadSite() as site:
        fetcher = HttpFetcher(HttpOptions(), clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))
        fetched = await fetcher.fetch(Request(site.url("head_with_body"), method="HEAD"))
        assert (fetched.status, fetched.body) == (200, b"")
        fetched = await fetcher.fetch(Request(site.url("good")))
        assert (fetched.status, fetched.body) == (200, PAGE)
        await fetcher.close()


# --------------------------------------------------------------------------- statuses, walls, cookies


def test_row_20_busy_hosts(quick: Round) -> None:
    quick.check(*of_row(20))
    assert only(quick, "busy_twice") == ["throttled", "throttled", "success"]
    refused = only(quick, "retry_after")
    assert set(refused) == {"throttled"}
    assert 2 <= len(refused) <= 21, "asked for time again and again, while others were answered"


async def hold_s(data: Path, url: str, fingerprint: int) -> float:
    """For how long the host of a request is held back after its last answer."""
    backends = await open_backends(load_settings(overrides={"data": str(data)}, env={}, start=data).settings)
    try:
        (job,) = await backends.book.list_jobs()
        found = await backends.open_frontier(job).find_request(fingerprint, host_key(url))
        assert found is not None
        assert found.host is not None
        return found.host.hold_until - found.host.last_at
    finally:
        await backends.close()


@pytest.mark.long
def test_row_20_a_hold_is_kept_over_a_restart(tmp_path: Path) -> None:
    """The wait is the host's, capped, and on disk: the next run does not ask again before its time."""
    kinds = list(RETRY_AFTER)
    with serving(hosts=[f"127.0.2.{number}" for number in range(1, len(kinds) + 1)]) as site:
        seeds = [
            site.url(f"retry_after_as/{kind}", host=host)
            for kind, host in zip(kinds, site.hosts, strict=True)
        ]
        settings = {"robots": False, "retry_after_cap": 900.0, "retry_backoff": 60.0, "max_time": 3.0}
        settings["retry_backoff_cap"] = 90.0
        done = crawl(tmp_path, seeds, **settings)
        assert [len(done.tries[url]) for url in seeds][:3] == [1, 1, 1]
        held = {
            url.rpartition("/")[2]: asyncio.run(hold_s(tmp_path, url, fingerprint))
            for url, fingerprint in rows(tmp_path, "select distinct url, fingerprint from attempt")
            if not url.endswith("/past")
        }
        asked = {kind: len(done.tries[url]) for kind, url in zip(kinds, seeds, strict=True)}
        before = Counter(hit.path for hit in site.log)
        crawl(tmp_path, seeds, **settings | {"max_time": 1.0})
        after = Counter(hit.path for hit in site.log)
    assert held["seconds"] == pytest.approx(120, abs=2)
    for kind in ("date", "years", "digits"):
        assert held[kind] == pytest.approx(900, abs=2), kind
    for kind in ("negative", "junk"):
        assert held[kind] < 30, "no time that anybody understands: slowed, and not held"
    assert asked["past"] == 2, "no wait the first time; then pauses that grow, as without a time"
    for kind in ("seconds", "date", "years", "negative", "junk", "digits"):
        path = f"/retry_after_as/{kind}"
        assert (before[path], after[path]) == (1, 1)


def test_row_21_walls(quick: Round, tmp_path: Path) -> None:
    """For a spider that says what a page must have they are ``missing``; for others pages, asked for once."""
    quick.check(*of_row(21))
    for name in of_row(21):
        assert only(quick, name) == ["success"]
    with serving() as site:
        seeds = [site.url(name) for name in of_row(21)]
        done = crawl(tmp_path, seeds, spider="Demanding")
        done.behaved()
        assert [done.tries[url] for url in seeds] == [["missing"] * 2] * 3


def test_row_22_cookies(quick: Round) -> None:
    quick.check(*of_row(22))
    sent = {name: set[str]() for name in quick.host}
    named = {host: name for name, host in quick.host.items()}
    for hit in quick.site.log:
        host = hit.headers.get("host", "").partition(":")[0]
        if host in named and "cookie" in hit.headers:
            sent[named[host]].add(hit.headers["cookie"])
    assert sent["some_cookies"] == {"good=1"}, "neither another site's nor a suffix's nor a false __Host-"
    for name in ("jarful_of_cookies", "many_cookies"):
        assert 0 < max(cookies.count("=") for cookies in sent[name]) <= 180
    assert sent["giant_cookie"] == set()
    assert max(len(cookies) for cookies in sent["redirect_cookie"]) < 4096


# --------------------------------------------------------------------------- what pages say of other places


def odd_hits(done: Round, name: str) -> Counter[str]:
    """How often the host of a route was asked for what is neither a route nor one of the 20 good pages."""
    plain = {f"/{name}", f"/hub/{name}", "/robots.txt", *(f"/{path}" for path in all_routes()[name].paths)}
    return Counter(path for path in done.hits(name) if path not in plain and not path[6:].isdigit())


def test_row_28_base_elements(quick: Round) -> None:
    quick.check(*of_row(28))
    kinds = ("empty", "second", "targeted", "script", "data", "bracket", "late", "late-too")
    assert odd_hits(quick, "base") == Counter(f"/good/base-{kind}" for kind in kinds)
    other = quick.site.url("good/base-other", host=quick.site.hosts[-1])
    assert quick.crawled.ending(other) == "success"


def test_row_29_refreshes(quick: Round) -> None:
    quick.check(*of_row(29))
    endings = quick.endings("refresh")
    followed = ("zero", "quoted", "relative", "ring", "back")
    assert {path for path, end in endings.items() if end != "success"} == {
        f"refresh/{kind}" for kind in followed
    }
    assert sum(end == "redirect_limit" for end in endings.values()) == 1, "the ring has an end"
    found = {f"/good/refresh-{kind}" for kind in ("zero", "quoted", "relative")}
    assert set(odd_hits(quick, "refresh")) == {*found, "/refresh/back"}
    assert not odd_hits(quick, "refresh_unseen")


def test_row_30_schemes(quick: Round) -> None:
    quick.check(*of_row(30))
    assert odd_hits(quick, "schemes") == {"/good/schemes": 1}
    assert quick.crawled.left_out["link:scheme"] == len(SCHEMES) * SCHEMES_REPEATED


def test_row_31_odd_references(quick: Round) -> None:
    quick.check(*of_row(31))
    assert odd_hits(quick, "odd_hrefs") == Counter(HREFS.values())


def test_row_32_odd_hosts(quick: Round) -> None:
    quick.check(*of_row(32))
    assert odd_hits(quick, "hosts") == {"/good/32-same": 1}, "one key for one host"
    refused = quick.crawled.left_out["link:invalid"] + quick.crawled.left_out["link:bad_url"]
    assert refused >= len(NO_HOSTS)
    hidden = {url: tries for url, tries in quick.crawled.tries.items() if "/wrong/" in url}
    assert hidden
    assert all(tries == ["guard"] for tries in hidden.values()), hidden
    assert quick.site.hits("wrong") == 0


def test_row_33_paths_that_look_alike(quick: Round) -> None:
    quick.check(*of_row(33))
    assert odd_hits(quick, "paths") == Counter(set(PATHS.values()))


def test_row_34_giant_urls(quick: Round) -> None:
    quick.check(*of_row(34))
    assert odd_hits(quick, "giant_urls") == {"/good/34-end": 1}
    assert quick.crawled.left_out["link:bad_url"] >= 3
    assert quick.site.hits("wrong") == 0


def test_the_figures(quick: Round, heavy: Round) -> None:
    """What is printed with ``-s``: how late the loop came, how much memory grew."""
    print(json.dumps({"quick": repr(quick.crawled), "heavy": repr(heavy.crawled)}))
    assert quick.crawled.result["finish_reason"] == heavy.crawled.result["finish_reason"] == "finished"
