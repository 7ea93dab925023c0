"""Proxies as people write them: every common form, and errors that say what is wrong but no password."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.routes import Proxy
from gossamer.policy.proxy_list import MAX_PROBLEMS, ProxyAttributes, parse_proxy, read_proxies

SECRET = "hunter2secret"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("http://proxy.example:8080", {"scheme": "http", "host": "proxy.example", "port": 8080}),
        ("HTTPS://Proxy.Example:443/", {"scheme": "https", "host": "proxy.example", "port": 443}),
        ("socks5h://[::1]:1080", {"scheme": "socks5", "host": "::1", "port": 1080}),
        ("10.0.0.1:3128", {"scheme": "http", "host": "10.0.0.1", "port": 3128}),
        ("p.example:80:me:a:b", {"host": "p.example", "port": 80, "user": "me", "password": "a:b"}),
        ("me:a@b@p.example:80", {"host": "p.example", "user": "me", "password": "a@b"}),
        ("http://me-session-1:p%40ss%2F@p.example:80", {"user": "me-session-1", "password": "p@ss/"}),
        ("http://me:p/a?s#s@p.example:80", {"user": "me", "password": "p/a?s#s"}),
        ("http://me@p.example:80", {"user": "me", "password": ""}),
        ("127.0.0.1:8080:user:p@ss", {"host": "127.0.0.1", "port": 8080, "user": "user", "password": "p@ss"}),
        ("p.example:80:us@er:pw", {"host": "p.example", "user": "us@er", "password": "pw"}),
        ("p.example:80:us@er.example:p@w@d", {"user": "us@er.example", "password": "p@w@d"}),
        ("localhost:80:me:a@b:9", {"host": "localhost", "user": "me", "password": "a@b:9"}),
        ("proxy:80:me:a@b", {"host": "proxy", "port": 80, "user": "me", "password": "a@b"}),
        ("[::1]:80:me:a@b", {"host": "::1", "port": 80, "user": "me", "password": "a@b"}),
        ("me:80:a:b@p.example:81", {"host": "p.example", "port": 81, "user": "me", "password": "80:a:b"}),
        ("us@er:pw@p.example:80", {"host": "p.example", "user": "us@er", "password": "pw"}),
        ("http://us@er:p@ss@p.example:80", {"host": "p.example", "user": "us@er", "password": "p@ss"}),
        ("socks5://p.example:80:me:p@ss", {"scheme": "socks5", "user": "me", "password": "p@ss"}),
        ("http://a.b:12:c:d@p.example:80", {"host": "p.example", "user": "a.b", "password": "12:c:d"}),
        ("p.example:80:me:a://b@c", {"scheme": "http", "user": "me", "password": "a://b@c"}),
        ("10.0.0.1:80@me:p@ss", {"host": "10.0.0.1", "port": 80, "user": "me", "password": "p@ss"}),
        ("p.example:80@me:pw", {"host": "p.example", "port": 80, "user": "me", "password": "pw"}),
        ("10.0.0.1:80@p.example:81", {"host": "p.example", "user": "10.0.0.1", "password": "80"}),
        ("me:pw:10.0.0.1:80", {"host": "10.0.0.1", "port": 80, "user": "me", "password": "pw"}),
        ("me:pw:p.example:80 country=de", {"host": "p.example", "port": 80, "user": "me", "country": "de"}),
        ("10.0.0.1:80:me:", {"host": "10.0.0.1", "port": 80, "user": "me", "password": ""}),
        ('"10.0.0.1:80:me:p\'w",', {"host": "10.0.0.1", "user": "me", "password": "p'w"}),
        ("\ufeff10.0.0.1:80\u200b", {"host": "10.0.0.1", "port": 80}),
        ("http://${USER}:${PASS}@p.example:80", {"user": "${USER}", "password": "${PASS}"}),
        (
            "http://p.example:80 provider=acme kind=Residential country=DE",
            {"provider": "acme", "kind": "residential", "country": "de"},
        ),
    ],
)
def test_every_form_that_providers_hand_out(text, fields):
    proxy = parse_proxy(text)
    assert {name: getattr(proxy, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"me:{SECRET}", "not a proxy|number from 1"),
        (f"http://me:{SECRET}@p.example", "no port"),
        (f"http://me:{SECRET}@:80", "no host"),
        (f"http://me:{SECRET}@p.example:0", "from 1 to 65535"),
        (f"http://me:{SECRET}@p.example:65536", "from 1 to 65535"),
        (f"p.example:80:me{SECRET}", "not a proxy"),
        ("http//p.example:80", "not a proxy"),
        (f"socks4://me:{SECRET}@p.example:80", r"no other protocol \(not by socks4\)"),
        (f"{SECRET}@x!://p.example:80", "no other protocol$"),
        (f"{SECRET}://p.example:80", "no other protocol$"),
        (f"p.example:80:me@{SECRET}", "not a proxy|no port"),
        (f"p.example:{SECRET}:me:a@b", "not a proxy|no port"),
        (f"p.example:99999:me:{SECRET}@{SECRET}", "from 1 to 65535"),
        (f"https//me:{SECRET}@p.example:80", "not a proxy"),
        (f"10.0.0.1:80@{SECRET}", "no port"),
        (f"me:{SECRET}:p.example:99999", "not a proxy|from 1 to 65535"),
        (f'"me":"{SECRET}"@"p.example":80', "no host"),
        ("", "no host|not a proxy"),
        (f"p.example 80 me {SECRET}", "no port|not a proxy|provider=NAME"),
        (f"http://p.example:80 password={SECRET}", "provider=NAME, kind=KIND"),
        ("http://p.example:80 kind=house", "one of datacenter, residential, mobile"),
        ("http://p.example:80 country=deu", "two letters"),
        ("http://p.example:80 provider=a/b", "name of a provider"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(text, told):
    with pytest.raises(ValueError, match=told) as error:
        parse_proxy(text)
    assert SECRET not in str(error.value)


def test_a_list_has_comments_defaults_and_variables():
    lines = ["# ours", "", "http://me:${PASS}@p1:80  # the fast one", "p2:80 kind=mobile"]
    found = read_proxies(lines, "x.txt", {"PASS": "p@:/"}, ProxyAttributes("acme", "datacenter", "de"))
    same = {"scheme": "http", "port": 80, "provider": "acme", "country": "de"}
    assert found == [
        Proxy(host="p1", user="me", password="p@:/", kind="datacenter", **same),
        Proxy(host="p2", kind="mobile", **same),
    ]


def test_errors_name_the_file_and_the_line():
    with pytest.raises(
        ValueError, match=r"x\.txt, line 2: a proxy has no port; x\.txt, line 3: the env"
    ) as error:
        read_proxies(["p:80", "http://p", "http://${NONE}@p:80"], "x.txt", {})
    assert "variable 'NONE' is not set" in str(error.value)
    assert "HOST:PORT:USER:PASSWORD" in str(error.value)
    with pytest.raises(ValueError, match=r"x.txt names no proxy\. Write one on each line"):
        read_proxies(["", " # none"], "x.txt", {})
    with pytest.raises(ValueError, match=r"; and 3 more\. Write"):
        read_proxies(["?"] * (MAX_PROBLEMS + 3), "x.txt", {})


@given(st.text(max_size=60))
def test_no_line_does_more_than_be_refused(text):
    try:
        proxy = parse_proxy(text)
    except ValueError:
        return
    assert proxy.scheme in ("http", "https", "socks5")
    assert proxy.host
    assert 0 < proxy.port < 65536


def test_what_looks_like_a_variable_may_be_a_password():
    for text, told in (("${PASS}", "'PASS' is not set"), (f"a${{{SECRET}}}b", "variable is not set")):
        with pytest.raises(ValueError, match=told) as error:
            read_proxies([f"p.example:80:me:{text}"], "list.txt", {})
        assert SECRET not in str(error.value)
