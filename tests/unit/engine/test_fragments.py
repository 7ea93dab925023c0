"""Fragments of URLs: which requests keep theirs, and where they never go."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer import Request, UsageError
from gossamer.core.requests import Entry
from gossamer.core.results import FetchResult
from gossamer.engine.admission import Admission
from gossamer.fetch.http.target import parse_target
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.redirects import follow_redirect
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions
from gossamer.queries.ledger import spellings_of
from gossamer.spiders.response import Response

APP = "http://app.example/app"
EVERYWHERE = UrlOptions(keep_fragments=True)
ON_APP = UrlOptions(fragment_domains=(("app.example", True),))
BUT_APP = UrlOptions(keep_fragments=True, fragment_domains=(("app.example", False),))
NOWHERE = UrlOptions()

KEPT: dict[str, tuple[UrlOptions, str, dict[str, Any], str]] = {
    "a route that a browser is to show": (NOWHERE, "#/p1", {"fetch": "browser"}, "#/p1"),
    "an old route that a browser is to show": (NOWHERE, "#!p1", {"fetch": "browser"}, "#!p1"),
    "a section that a browser is to show": (NOWHERE, "#part", {"fetch": "browser"}, ""),
    "a route that is to be fetched by HTTP": (NOWHERE, "#/p1", {}, ""),
    "the request wants it": (NOWHERE, "#part", {"keep_fragment": True}, "#part"),
    "the request wants it, and has none": (NOWHERE, "#", {"keep_fragment": True}, ""),
    "the request does not want it": (EVERYWHERE, "#/p1", {"fetch": "browser", "keep_fragment": False}, ""),
    "the settings say it": (EVERYWHERE, "#part", {}, "#part"),
    "the settings of the domain say it": (ON_APP, "#part", {}, "#part"),
    "the settings of the domain say no": (BUT_APP, "#part", {}, ""),
    "as a browser writes it": (EVERYWHERE, "#/a b/é", {}, "#/a%20b/%C3%A9"),
    "the query is cleaned all the same": (ON_APP, "?utm_source=x#/p1", {}, "#/p1"),
}


def admit(options: UrlOptions, request: Request) -> Entry:
    entry = Admission(Scope(deny_extensions=["pdf"]), options, b"key").admit_request(request)
    assert isinstance(entry, Entry)
    return entry


@pytest.mark.parametrize("case", KEPT)
def test_a_fragment_is_part_of_what_tells_requests_apart_where_it_is_kept(case: str) -> None:
    options, rest, said, fragment = KEPT[case]
    entry = admit(options, Request(APP + rest, **said))
    assert entry.request.url == APP + fragment
    assert (entry.fingerprint != admit(options, Request(APP)).fingerprint) is bool(fragment)
    assert unpack_request(pack_request(entry.request, entry.host), entry.host) == entry.request
    assert entry.host == "app.example"
    assert parse_target(entry.request.url).path == "/app", "no server gets it"


def test_memory_of_places_knows_whose_fragment_counts() -> None:
    gate = Admission(Scope(), NOWHERE, b"key")
    plain, kept = Request(f"{APP}#/p1"), Request(f"{APP}#/p1", keep_fragment=True)
    assert [gate.place_of(request)[0] for request in (plain, kept, plain)] == [APP, f"{APP}#/p1", APP]


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(UsageError, match="keep_fragment must be True or False, not 'yes'"):
        Request(APP, keep_fragment="yes")  # type: ignore[arg-type]


def test_attempts_of_a_url_are_looked_up_with_its_fragment_and_without() -> None:
    typed = "HTTP://app.example:80/app#/a b"
    assert set(spellings_of(typed)) == {typed, APP, f"{APP}#/a%20b"}


@pytest.mark.parametrize(
    ("url", "location", "target"),
    [
        (f"{APP}#/p1", "/app/", "http://app.example/app/#/p1"),
        (f"{APP}#/p1", "/app/#/home", "http://app.example/app/#/home"),
        (f"{APP}#/p1", "http://www.app.example/", "http://www.app.example/#/p1"),
        (APP, "/app/#/home", "http://app.example/app/"),
    ],
)
def test_a_fragment_that_counts_survives_redirects(url: str, location: str, target: str) -> None:
    assert follow_redirect(Request(url), url, 302, location, limit=5).url == target


PAGE = (
    b"<a href='#/p1'>1</a><a href='#/p1'>1</a><a href='/app#/p2'>2</a><a href='other#'>3</a>"
    b"<a href='http://b.example/#x'>"
)


def test_links_keep_their_fragments_where_the_settings_say_so() -> None:
    kind = (("content-type", "text/html"),)
    times = {"started_at": 0.0, "latency_s": 0.0, "elapsed_s": 0.0}
    fetched = FetchResult(url=f"{APP}#/p0", status=200, headers=kind, body=PAGE, rung="http", **times)
    page = Response(Request(fetched.url), fetched, keeps_fragment=ON_APP.keeps_fragment)
    routes = [f"{APP}#/p1", f"{APP}#/p2"]
    assert page.links() == [*routes, "http://app.example/other", "http://b.example/"]
    assert page.links(css="a", allow="app#") == routes
    assert [request.url for request in page.follow_all(css="a")][1:3] == routes
    plain = Response(Request(fetched.url), fetched)
    assert plain.links() == [APP, "http://app.example/other", "http://b.example/"]
    assert plain.follow(" #/p2 ", keep_fragment=True).url == f"{APP}#/p2"
    assert plain.follow("#/p2").url == APP
