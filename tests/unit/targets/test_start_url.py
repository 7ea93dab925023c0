"""What is typed for a site, and the domain that a crawl of it keeps to."""

import pytest

from gossamer.core.errors import UsageError
from gossamer.targets.discovery import find_target
from gossamer.targets.start_url import (
    allowed_domain_of,
    explain_wrong_url,
    find_start_url,
    find_wrong_url,
    mend_scheme,
)


@pytest.mark.parametrize(
    ("text", "url", "domain"),
    [
        ("shop.example", "https://shop.example/", "shop.example"),
        ("www.shop.example/a", "https://www.shop.example/a", "shop.example"),
        ("http://shop.example:8080/", "http://shop.example:8080/", "shop.example:8080"),
        ("http://www.shop.example:8080/", "http://www.shop.example:8080/", "shop.example:8080"),
        ("https://shop.example:443/", "https://shop.example/", "shop.example"),
        ("http://[::1]:8000/", "http://[::1]:8000/", "[::1]:8000"),
        ("http://www/", "http://www/", "www"),
        ("127.0.0.1:8085", "http://127.0.0.1:8085/", "127.0.0.1:8085"),
        ("LocalHost/a", "http://localhost/a", "localhost"),
        ("[::1]:8000", "http://[::1]:8000/", "[::1]:8000"),
        ("localhost.example", "https://localhost.example/", "localhost.example"),
        ("shop.example/#/items/5", "https://shop.example/#/items/5", "shop.example"),
        ("127.0.0.1.example", "https://127.0.0.1.example/", "127.0.0.1.example"),
    ],
)
def test_a_site(text, url, domain):
    assert find_start_url(text) == url
    assert allowed_domain_of(url) == domain


@pytest.mark.parametrize("text", ["", "ftp://shop.example/", "http://[nonsense", "file:///etc/passwd", "a b"])
def test_what_cannot_be_fetched(text):
    assert find_start_url(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("http:/shop.example/a", "http://shop.example/a"),
        ("https:shop.example", "https://shop.example"),
        ("HTTPS//shop.example:8080/", "https://shop.example:8080/"),
        ("http://shop.example/", None),
        ("httpbin", None),
        ("shop.example/http:/a", None),
    ],
)
def test_a_slip_in_the_scheme_is_known(text, meant):
    assert mend_scheme(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://shop.example/a b?c=d e", ""),
        (" http://user:pass@[::1]:8000/#a ", ""),
        ("htp://shop.example/a", "is 'http://shop.example/a' meant?"),
        ("httpss://shop.example/", "is 'https://shop.example/' meant?"),
        ("http:/shop.example/", "is 'http://shop.example/' meant?"),
        ("https:shop.example", "is 'https://shop.example' meant?"),
        ("shop.example/a", "is 'https://shop.example/a' meant?"),
        ("127.0.0.1:8000/a", "is 'http://127.0.0.1:8000/a' meant?"),
        ("xn--bcher-kva.xn--p1ai/a", "is 'https://xn--bcher-kva.xn--p1ai/a' meant?"),
        ("pages.v2/none.html", "it has no http:// or https:// and no host"),
        ("[::1]:8000/a", "is 'http://[::1]:8000/a' meant?"),
        ("ftp://shop.example/", "only http:// and https:// are crawled"),
        ("http://", "it names no host behind http://"),
        ("https:///a", "it names no host behind https://"),
        ("http://?a", "it names no host behind http://"),
        ("http://shop .example/", "its host has a space in it"),
        ("http://[nonsense", "it is not a valid URL"),
        ("/a", "it has no http:// or https:// and no host"),
        ("", "it has no http:// or https:// and no host"),
    ],
)
def test_a_wrong_url_has_its_cause_and_what_is_meant(text, said):
    assert explain_wrong_url(text) == said


def test_a_start_url_is_wrong_if_no_crawl_could_begin():
    good, bad = "https://shop.example/", "htp://shop.example/"
    assert find_wrong_url([]) is None
    assert find_wrong_url([bad, good]) is None  # of which the end of the crawl tells
    assert find_wrong_url([bad, "http://"]) == (bad, "is 'http://shop.example/' meant?")
    assert find_wrong_url([good, "/a"]) == ("/a", "it has no http:// or https:// and no host")


@pytest.mark.parametrize("typed", ["shop.example/b.html", "127.0.0.1:80/b.json", "shop.example/?a=b.xml"])
def test_a_page_that_is_named_like_a_file_is_crawled(typed):
    assert find_target(typed, {}, None).spider.start_urls[0].endswith(typed.rpartition("/")[2])


@pytest.mark.parametrize("typed", ["index.html", "./index.html", "pages/index.html"])
def test_a_file_that_is_missing_is_no_site(typed):
    with pytest.raises(UsageError, match=f"^there is no file {typed}; a target is a URL"):
        find_target(typed, {}, None)
