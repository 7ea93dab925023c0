"""Keys of indexes are those of pywb, for awkward URLs too."""

from __future__ import annotations

import time

import pytest

from gossamer.archive.surt import key_of

KEYS = [
    ("http://www.example.com/", "com,example)/"),
    ("https://example.com:8443/A/b/?Z=1&a=2", "com,example:8443)/a/b?a=2&z=1"),
    ("http://127.0.0.1/", "1,0,0,127)/"),
    ("http://127.0.0.1:8085/x", "1,0,0,127:8085)/x"),
    ("http://[::1]/x", "::1)/x"),
    ("http://[2001:db8::1]:8000/", "2001:db8::1:8000)/"),
    ("http://example.com:443/", "com,example:443)/"),
    ("https://example.com:80/", "com,example:80)/"),
    ("http://www2.example.com/", "com,example)/"),
    ("http://www12.example.com/", "com,example)/"),
    ("http://www2foo.example.com/", "com,example,www2foo)/"),
    ("http://www.www.example.com/", "com,example,www)/"),
    ("http://www.com/", "com)/"),
    ("http://www/", "www)/"),
    ("http://localhost:8000/", "localhost:8000)/"),
    ("http://user:pw@example.com:81/a", "com,example:81)/a"),
    ("http://u:p@1.2.3.4/a", "4,3,2,1)/a"),
    ("http://example.com./a", "com,example)/a"),
    ("http://xn--bcher-kva.ch/", "ch,xn--bcher-kva)/"),
    ("http://example.com/a//b///", "com,example)/a/b"),
    ("http://example.com/a/?", "com,example)/a"),
    ("http://example.com/A/B?C=D", "com,example)/a/b?c=d"),
    ("http://example.com/?q=1", "com,example)/?q=1"),
    ("http://example.com/a?b=2&a=1", "com,example)/a?a=1&b=2"),
    ("http://example.com/a?b&a=1&&c", "com,example)/a?&a=1&b&c"),
    ("http://example.com/a?a=1&a1=2&a=0", "com,example)/a?a=0&a=1&a1=2"),
    ("http://example.com/a?b=1;a=2", "com,example)/a?b=1;a=2"),
    ("http://example.com/a?b=c?d=e", "com,example)/a?b=c?d=e"),
    ("http://example.com/a?b=1&B=0&b=0", "com,example)/a?b=0&b=0&b=1"),
    ("http://example.com/a?%26=1&A=2", "com,example)/a?&=1&a=2"),
    ("http://example.com/a?a%3D=1&a=2", "com,example)/a?a=2&a==1"),
    ("http://example.com/%C3%A9", "com,example)/%c3%a9"),
    ("http://example.com/%E4?%E4", "com,example)/%e4?%e4"),
    ("http://example.com/%7Euser", "com,example)/~user"),
    ("http://example.com/a%20b+c?d%20e+f", "com,example)/a%20b+c?d%20e+f"),
    ("http://example.com/a%2Fb", "com,example)/a/b"),
    ("http://example.com/a%2525b", "com,example)/a%25b"),
    ("http://example.com/a%zzb%", "com,example)/a%25zzb%25"),
    ("http://example.com/a%23b%3Fc", "com,example)/a%23b?c"),
    ("http://example.com/a%2E%2E/b", "com,example)/a../b"),
    ("http://example.com/a/%252e%252e/b", "com,example)/b"),
    ("http://example.com/%00%0A%7F", "com,example)/%00%0a%7f"),
    ("http://example.com/a|b%22c%3Cd%3E^%60%7B%7D", 'com,example)/a|b"c<d>^`{}'),
    ("http://example.com/a?b%2Bc=%5C", "com,example)/a?b+c=\\"),
    ("http://example.com/a?url=http://www.x.com/?a=b&c=d", "com,example)/a?c=d&url=http://www.x.com/?a=b"),
    ("http://example.com/a?b[]=2&b[0]=1", "com,example)/a?b[0]=1&b[]=2"),
    ("http://example.com/a;b=c/d", "com,example)/a;b=c/d"),
    (
        "http://example.com/a;jsessionid=0123456789abcdef0123456789abcdef",
        "com,example)/a;jsessionid=0123456789abcdef0123456789abcdef",
    ),
    ("http://example.com/a?jsessionid=0123456789ABCDEF0123456789abcdef", "com,example)/a"),
    ("http://example.com/a?x=1&jsessionid=0123456789abcdef0123456789abcdef&y=2", "com,example)/a?x=1&y=2"),
    ("http://example.com/a?jsessionid=0123456789", "com,example)/a?jsessionid=0123456789"),
    ("http://example.com/a?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "com,example)/a?x=1"),
    ("http://example.com/a?x=1&sid=0123456789abcdef0123456789abcdef", "com,example)/a?&x=1"),
    ("http://example.com/a?sid=12", "com,example)/a?sid=12"),
    ("http://example.com/a?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx", "com,example)/a"),
    ("http://example.com/a?CFID=123&CFTOKEN=4-5&x=1", "com,example)/a?x=1"),
    ("http://example.com/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "com,example)/mileg.aspx"),
    ("http://example.com/(4hqa0555fwsecu455xqckv45)/mileg.aspx?x=1", "com,example)/mileg.aspx?x=1"),
    (
        "http://example.com/(S(4hqa0555fwsecu455xqckv45))/mileg.html",
        "com,example)/(s(4hqa0555fwsecu455xqckv45))/mileg.html",
    ),
]  # fmt: skip
"""URLs as Gossamer writes them, and the keys that pywb's indexer gives them."""


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_keys_are_those_of_pywb(url: str, key: str) -> None:
    assert key_of(url) == key


PARTS = ["a/", "//", "a&", "sid=", "%25", "%", "(a(", "/(S(", "cfid=1&", "a=", "/.", "/.."]


@pytest.mark.parametrize("part", PARTS)
def test_a_long_url_takes_little_time(part: str) -> None:
    began = time.process_time()
    for start in ("http://example.com/", "http://example.com/?"):
        key_of(start + part * (16_000 // len(part)))
    assert time.process_time() - began < 0.5
