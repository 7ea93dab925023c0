"""Following links of a page: what is worked out once for a page, or once for a link, is the same for each."""

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.policy import urls
from gossamer.spiders.page_links import drop_reason_of
from gossamer.spiders.response import Response
from gossamer.spiders.rules import Rule, requests_by_rules

URL = "http://site.test/shop/list?page=2#top"
PARTS = (
    *("/", "//", "..", ".", "?", "#", ":", "@", "%", "%41", "\\", " ", "\t", "\n"),
    *(
        "a",
        "b.html",
        "http:",
        "HTTPS://",
        "mailto:",
        "data:",
        "javascript:",
        "site.test",
        "other.test",
        "xn--",
    ),
    *("ä", "ẞ", "\ufffd", "\u3002", "80", "[::1]"),
)
REFERENCES = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)


def response(body: str, *, follow_nofollow: bool = False, session: str = "") -> Response:
    fetched = FetchResult(
        url=URL,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8"),),
        body=body.encode(),
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )
    return Response(Request(URL, session=session), fetched, follow_nofollow=follow_nofollow)


@given(base=REFERENCES, references=st.lists(REFERENCES, min_size=1, max_size=4))
def test_each_reference_is_joined_with_the_base_of_its_page(base: str, references: list[str]) -> None:
    page = response(f'<base href="{escape(base)}"><p>')
    for reference in references * 2:
        expected = urls.join_url(page.page.base_url, reference)
        try:
            joined = page.urljoin(reference)
        except ValueError:
            joined = None
        assert joined == expected


@given(
    links=st.lists(
        st.tuples(REFERENCES | st.none(), st.sampled_from(("", "nofollow", "a NoFollow", "nofollows")))
    ),
    follow_nofollow=st.booleans(),
)
def test_follow_all_follows_what_follow_does(
    links: list[tuple[str | None, str]], follow_nofollow: bool
) -> None:
    tags = [
        f'<a{"" if href is None else f" href={chr(34)}{escape(href)}{chr(34)}"} rel="{rel}">x</a>'
        for href, rel in links
    ]
    page = response(f"<title>t</title>{''.join(tags)}", follow_nofollow=follow_nofollow)
    expected, dropped = [], {"link:nofollow": 0, "link:bad_url": 0, "link:credentials": 0}
    for element, (_, rel) in zip(page.css("a"), links, strict=True):
        if not follow_nofollow and "nofollow" in rel.lower().split():
            dropped["link:nofollow"] += 1
            continue
        try:
            expected.append(page.follow(element, "parse"))
        except ValueError as error:
            dropped[drop_reason_of(error)] += 1
    assert list(page.follow_all(css="a", callback="parse")) == expected
    assert page.dropped == {reason: count for reason, count in dropped.items() if count}


def test_one_text_is_no_list_of_links() -> None:
    """Bug it would catch: each of its letters is asked for as a page."""
    with pytest.raises(UsageError, match=r"follow_all\(css='a.next'\)"):
        list(response('<a class="next" href="/2">2</a>').follow_all("a.next"))


def test_what_a_page_leads_to_is_in_its_session() -> None:
    page = response('<a href="/a">x</a><form action="/f"><input name=q></form>', session="ann")
    by_rule = requests_by_rules([Rule()], page)
    found = [page.follow("/a"), *page.follow_all(css="a"), *page.follow_all(deny="x"), page.file("/a.pdf")]
    assert {request.session for request in (*found, page.form({"q": "1"}), *by_rule)} == {"ann"}
    assert page.follow("/a", session="").session == ""
