"""What is typed for a site, and the domain that a crawl of it keeps to."""

import pytest

from gossamer.targets.start_url import allowed_domain_of, find_start_url, mend_scheme


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
