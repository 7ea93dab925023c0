"""Forms are sent as a browser sends them, filled in by the names of their fields."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.spiders.response import Response

URL = "https://club.example/a/login?from=x#top"


def page(html, url=URL, content_type="text/html; charset=utf-8"):
    body = html if isinstance(html, bytes) else html.encode()
    headers = (("content-type", content_type),)
    fetched = FetchResult(
        url=url, status=200, headers=headers, body=body, started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    return Response(Request(url), fetched)


def sent(request):
    return parse_qsl(request.body.decode(), keep_blank_values=True)


def test_what_a_browser_would_send_is_sent():
    request = page("""<form method=POST action="../session?x=1">
        <input type=hidden name=token value="a&amp;b c"> <input name=user value=old> <input name=off disabled>
        <input value=nameless> <input type=checkbox name=yes checked> <input type=checkbox name=no>
        <input type=radio name=r value=1> <input type=radio name=r value=2 checked>
        <select name=one><option disabled>0<option value=1>One<option>Two</select>
        <select name=more multiple><option selected>a<option>b<option selected value=c>C</select>
        <select name=none multiple><option>a</select> <textarea name=text>
line</textarea> <input type=file name=f> <input type=reset name=x> <button type=button name=y>n</button>
        <input type=submit name=go value=In> <button name=other value=1>Other</button>
        </form>""").form({"user": "me@example.org", "extra": ["1", "2"], "yes": None})
    assert (request.method, request.url) == ("POST", "https://club.example/session?x=1")
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.headers["Referer"] == "https://club.example/a/login?from=x"
    assert sent(request) == [
        ("token", "a&b c"),
        ("user", "me@example.org"),
        ("r", "2"),
        ("one", "1"),
        ("more", "a"),
        ("more", "c"),
        ("text", "line"),
        ("go", "In"),
        ("extra", "1"),
        ("extra", "2"),
    ]


@pytest.mark.parametrize(
    ("data", "css", "action"),
    [
        ({}, "", "/in"),  # of equals the one that asks for a password
        ({"mail": "x"}, "", "/news"),
        ({"q": "x", "user": "x", "word": "y"}, "", "/in"),
        ({"user": "x"}, "#find", "/find"),
    ],
)
def test_the_form_that_a_person_would_fill_in(data, css, action):
    response = page("""<form action=/find id=find><input name=q></form>
        <form action=/in method=post><input name=user><input name=word type=password></form>
        <form action=/news method=post><input name=mail></form>""")
    assert response.form(data, css=css).url.partition("?")[0] == f"https://club.example{action}"


def test_a_form_that_is_got_replaces_the_query():
    request = page('<form action="/find?old=1"><input name=q value=1></form>').form({"q": "a b&c"})
    assert (request.method, request.url, request.body) == ("GET", "https://club.example/find?q=a+b%26c", b"")


def test_fields_outside_of_the_form_that_name_it():
    request = page("""<input name=a value=1 form=f><form id=f method=post>
        <input name=b value=2><input name=c value=3 form=other></form>""").form()
    assert sorted(sent(request)) == [("a", "1"), ("b", "2")]


def test_values_are_sent_in_the_charset_of_the_page():
    response = page(
        "<form method=post><input name=n value='é'></form>".encode("latin-1"),
        content_type="text/html; charset=iso-8859-1",
    )
    assert response.form({"x": "é日"}).body == b"n=%E9&x=%E9%26%2326085%3B"


def test_nobody_else_is_told_the_whole_address_of_the_page():
    request = page("<form method=post action=https://sso.example/in><input name=a></form>").form()
    assert (request.url, request.headers["Referer"]) == ("https://sso.example/in", "https://club.example/")


def test_options_are_those_of_a_request():
    request = page("<form method=post></form>").form(callback="after", priority=2, headers={"X-Me": "1"})
    assert (request.callback, request.priority, request.url) == ("after", 2, URL)
    assert {"X-Me", "Referer", "Content-Type"} <= set(request.headers)


@pytest.mark.parametrize(
    ("html", "css"), [("<p>none", ""), ("<form></form>", "form.other"), ("<p id=p>", "#p")]
)
def test_a_page_without_the_form_says_so(html, css):
    with pytest.raises(ValueError, match="has no form"):
        page(html).form({"a": "b"}, css=css)


def test_a_form_knows_how_it_is_sent():
    with pytest.raises(UsageError, match="leave out method"):
        page("<form></form>").form(method="POST")
