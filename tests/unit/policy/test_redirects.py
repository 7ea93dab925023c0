"""Redirects: methods, bodies, credentials, limits."""

from __future__ import annotations

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.files import Saving
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, Outcome, Verdict, VisitResult
from gossamer.policy.redirects import (
    BY_PAGE,
    follow_redirect,
    is_credential,
    redirect_targets,
    with_known_targets,
)
from gossamer.testing.contracts.frontier_harness import make_entry

HERE = "https://a.example/x"
SECRET = {"Authorization": "Basic x", "Cookie": "a=b", "X-Api-Key": "k", "Referer": "r", "Accept": "t"}


def test_the_chain_is_kept_and_ends() -> None:
    request = Request(HERE, callback="parse", meta={"a": 1}, priority=2)
    for hop in range(3):
        request = follow_redirect(request, request.url, 302, f"/{hop}", limit=3)
    assert request.url == "https://a.example/2"
    assert request.redirects == (HERE, "https://a.example/0", "https://a.example/1")
    assert (request.callback, request.meta, request.priority) == ("parse", {"a": 1}, 2)
    with pytest.raises(FetchError) as limit:
        follow_redirect(request, request.url, 302, "/3", limit=3)
    assert limit.value.fault is Fault.REDIRECT_LIMIT


@pytest.mark.parametrize(("loops", "followed"), [(None, 9), (0, 0), (1, 1)])
def test_a_redirect_to_where_it_came_from_is_followed_so_often(loops: int | None, followed: int) -> None:
    request, count = Request(HERE), 0
    while True:
        request = follow_redirect(request, HERE, 302, "/x", limit=20, loops=loops)
        if not request.dont_filter or count == 9:
            break
        request, count = request.replace(dont_filter=False), count + 1
    assert count == followed
    assert request.redirects == (HERE,) * len(request.redirect_statuses)


def test_a_refresh_is_no_status_and_asks_like_one() -> None:
    request = follow_redirect(Request(HERE, method="POST", body=b"a"), HERE, BY_PAGE, "/y", limit=3)
    assert (request.method, request.body, request.redirect_statuses) == ("GET", b"", (BY_PAGE,))
    assert follow_redirect(request, "/y", 307, HERE, limit=3).redirect_statuses == (BY_PAGE, 307)
    with pytest.raises(FetchError, match="a refresh to 'mailto:a@b'"):
        follow_redirect(request, HERE, BY_PAGE, "mailto:a@b", limit=3)


def test_a_hop_is_known_by_its_own_url_unless_the_request_has_a_key() -> None:
    def hop_of(key: str) -> str:
        return follow_redirect(Request(HERE, unique_key=key), HERE, 302, "/y", limit=3).unique_key

    assert hop_of("") == hop_of("https://a.example/x?a=1") == ""
    assert len({hop_of("one"), hop_of("two"), "one", "two", ""}) == 5
    assert hop_of("one") == hop_of("one")


def test_a_file_is_followed_wherever_others_have_led() -> None:
    file = follow_redirect(Request(HERE, saves=Saving(name="x")), HERE, 302, "/y", limit=3)
    assert (file.saves, file.dont_filter) == (Saving(name="x"), True)
    assert not follow_redirect(Request(HERE), HERE, 302, "/y", limit=3).dont_filter


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [
        (301, "POST", ("GET", b"")),
        (302, "POST", ("GET", b"")),
        (302, "PUT", ("PUT", b"body")),
        (303, "PUT", ("GET", b"")),
        (303, "HEAD", ("HEAD", b"body")),
        (307, "POST", ("POST", b"body")),
        (308, "POST", ("POST", b"body")),
    ],
)
def test_method_and_body(status: int, method: str, expected: tuple[str, bytes]) -> None:
    target = follow_redirect(Request(HERE, method=method, body=b"body"), HERE, status, "/y", limit=5)
    assert (target.method, target.body) == expected


def test_who_asks_is_told_to_its_own_origin_alone() -> None:
    request = Request(HERE, auth="token", cookies={"a": "b"}, timeout=5, delay=9, max_retries=0)
    same = follow_redirect(request, HERE, 302, "/y", limit=5)
    assert (same.auth, same.timeout, same.max_retries) == ("Bearer token", 5.0, 0)
    assert same.cookies is same.delay is None, "the jar has them, and what it has may be newer"
    for target in ("https://b.example/", "https://a.example:8443/", "http://a.example/"):
        assert follow_redirect(request, HERE, 302, target, limit=5).auth is None


def test_what_says_of_a_body_what_it_is_goes_with_it() -> None:
    request = Request(HERE, json={"a": 1}, headers={"Accept": "t"})
    assert follow_redirect(request, HERE, 303, "/y", limit=5).headers == {"Accept": "t"}
    assert "Content-Type" in follow_redirect(request, HERE, 307, "/y", limit=5).headers


@pytest.mark.parametrize("target", ["https://b.example/", "https://a.example:8443/", "http://a.example/"])
def test_credentials_never_cross_origins(target: str) -> None:
    away = follow_redirect(Request(HERE, headers=SECRET), HERE, 302, target, limit=5)
    assert not any(is_credential(name) for name in away.headers)
    assert away.headers["Accept"] == "t"
    assert ("Referer" in away.headers) == target.startswith("https:")
    with pytest.raises(FetchError, match="body"):
        follow_redirect(Request(HERE, method="POST", body=b"pw"), HERE, 307, target, limit=5)


def test_credentials_stay_within_their_origin() -> None:
    assert follow_redirect(Request(HERE, headers=SECRET), HERE, 302, "/y", limit=5).headers == SECRET


@pytest.mark.parametrize(
    "location", ["", "  ", "http://", "http:///", "ftp://a/", "javascript:1", "http://[", "file:///etc"]
)
def test_bad_locations(location: str) -> None:
    with pytest.raises(FetchError) as bad:
        follow_redirect(Request(HERE), HERE, 302, location, limit=5)
    assert bad.value.fault is Fault.BAD_REDIRECT


def test_a_page_may_redirect_to_itself_until_the_limit() -> None:
    assert follow_redirect(Request(HERE), HERE, 302, "/x", limit=5).dont_filter
    assert not follow_redirect(Request(HERE), HERE, 302, "/y", limit=5).dont_filter


@pytest.mark.parametrize(
    "name", ["X-Access-Key", "X-Password", "X-Amz-Credential", "X-API-Key", "X-CSRF-Token"]
)
def test_headers_that_carry_a_secret_by_their_names(name: str) -> None:
    assert is_credential(name)


# --------------------------------------------------------------------------- to what was known already


def visited(number: int, *links: Entry, verdict: Verdict = Verdict.REDIRECT) -> VisitResult:
    lease = Lease(
        entry=make_entry(number), token=number, granted_at=0.0, start_by=0.0, deadline=0.0, attempt=1
    )
    row = Attempt(at=0.0, url=f"/{number}", fingerprint=number, verdict=verdict)
    return VisitResult(outcome=Outcome(lease=lease, verdict=verdict, outlinks=links), attempts=(row,))


def told(*results: VisitResult, known: set[int]) -> list[str]:
    targets = redirect_targets(results)
    answers = [target.fingerprint in known for target in targets]
    return [row.reason for made in with_known_targets(results, targets, answers) for row in made.attempts]


def test_a_redirect_to_a_known_page_is_told_of() -> None:
    assert told(visited(1, make_entry(7)), visited(2, make_entry(8)), known={7}) == ["known_target", ""]


def test_what_the_same_group_has_added_is_known_to_the_next() -> None:
    page = visited(1, make_entry(7), make_entry(8), verdict=Verdict.SUCCESS)
    assert told(page, visited(2, make_entry(7)), known=set()) == ["", "known_target"]
    assert told(visited(2, make_entry(7)), page, known=set()) == ["", ""]
    three = [visited(number, make_entry(7)) for number in range(3)]
    assert told(*three, known=set()) == ["", "known_target", "known_target"]


def test_a_redirect_that_is_made_in_any_case_is_not_told_of() -> None:
    in_any_case = visited(1, make_entry(7, dont_filter=True))
    assert told(in_any_case, visited(2, make_entry(7)), known=set()) == ["", "known_target"]
    assert told(in_any_case, known={7}) == [""]
    assert told(visited(1, make_entry(7), verdict=Verdict.SUCCESS), visited(2, make_entry(8)), known={7}) == [
        "",
        "",
    ]
