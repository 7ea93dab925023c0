"""What people write into a request beside its URL: bodies as data, cookies, who asks, bounds of its own."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import parse_qsl

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import JsonValueError, UsageError
from gossamer.core.request_options import OWN_OPTIONS, has_own_options
from gossamer.core.requests import _KINDS, Request, _are_of_their_kinds

URL = "https://shop.example/api"
SECRET = "s3cret-word"
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
plain = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | text
json_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=9
)


@given(json_values.filter(lambda value: value is not None))
def test_json_becomes_the_body(value):
    request = Request(URL, json=value)
    assert json.loads(request.body) == value
    assert (request.method, request.headers) == ("POST", {"Content-Type": "application/json"})
    assert (request.json, request.form) == (None, None)
    assert Request(URL, json=value) == request


def test_equal_data_is_one_request():
    assert Request(URL, json={"a": 1, "b": 2}) == Request(URL, json={"b": 2, "a": 1})


@given(st.dictionaries(text, text | st.integers() | st.lists(text, max_size=3), max_size=4))
def test_a_form_becomes_the_body(form):
    request = Request(URL, form=form)
    wanted = [
        (name, "\r\n".join(str(one).replace("\r\n", "\n").replace("\r", "\n").split("\n")))
        for name, given in form.items()
        for one in (given if isinstance(given, list) else [given])
    ]
    wanted = [
        ("\r\n".join(name.replace("\r\n", "\n").replace("\r", "\n").split("\n")), one) for name, one in wanted
    ]
    assert parse_qsl(request.body.decode(), keep_blank_values=True) == wanted
    assert (request.method, request.headers) == (
        "POST",
        {"Content-Type": "application/x-www-form-urlencoded"},
    )


def test_what_is_said_goes_before_what_follows_from_it():
    request = Request(URL, method="put", json=[1], headers={"content-type": "application/vnd.api+json"})
    assert (request.method, request.headers) == ("PUT", {"content-type": "application/vnd.api+json"})
    assert Request(URL, form=[("a", 1), ("a", None), ("b", "x y")]).body == b"a=1&b=x+y"


def test_another_body_takes_the_place_of_the_one_that_was_there():
    first = Request(URL, json={"page": 1}, headers={"X-Me": "1"})
    assert first.replace(json={"page": 2}) == Request(URL, json={"page": 2}, headers={"X-Me": "1"})
    form = first.replace(form={"a": 1})
    assert (form.body, form.headers["Content-Type"]) == (b"a=1", "application/x-www-form-urlencoded")
    assert first.replace(depth=1).body == first.body


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        (("me", "pass:word"), "Basic " + b64encode(b"me:pass:word").decode()),
        (["mé", "w\u00f6rd"], "Basic " + b64encode("mé:w\u00f6rd".encode()).decode()),
        ("abc.def", "Bearer abc.def"),
        ("Token abc", "Token abc"),
    ],
)
def test_who_asks(auth, sent):
    request = Request(URL, auth=auth)
    assert request.auth == sent
    assert request.replace(url="https://shop.example/x").auth == sent
    assert SECRET not in repr(Request(URL, auth=("me", SECRET), cookies={"sid": SECRET}))


def test_cookies_are_values_by_name_or_dicts():
    assert Request(URL, cookies={"a": 1, "b": "x"}).cookies == {"a": "1", "b": "x"}
    exported = {"name": "a", "value": "1", "domain": ".shop.example", "path": "/", "secure": True}
    more = {"httpOnly": True, "sameSite": "Lax", "expires": -1}
    assert Request(URL, cookies=[exported | more, {"name": "b", "value": "", "secure": False}]).cookies == [
        exported,
        {"name": "b", "value": ""},
    ]
    assert Request(URL, cookies={}).cookies is Request(URL, cookies=[]).cookies is None


def test_a_header_that_is_none_is_not_sent():
    request = Request(URL, headers={"User-Agent": None, "X-Mine": "yes", "ACCEPT": None})
    assert (request.headers, request.omit_headers) == ({"X-Mine": "yes"}, ("user-agent", "accept"))
    assert Request(URL, omit_headers=["Accept", "accept"]).omit_headers == ("accept",)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"json": 1, "body": b"x"}, "one of body, json and form"),
        ({"json": 1, "form": {}}, "one of body, json and form"),
        ({"json": {"when": object()}}, r"json\['when'\] is a object"),
        ({"form": f"password={SECRET}"}, "a form as text is its body"),
        ({"form": {"a": True}}, r"form\['a'\] is a bool"),
        ({"form": {"a": {"b": SECRET}}}, r"form\['a'\] is a dict"),
        ({"form": [SECRET]}, "a list of pairs"),
        ({"auth": ("a", SECRET, "c")}, r"auth must be \(user, password\), or a token"),
        ({"auth": f"{SECRET}\r\nX: y"}, "as one line of text"),
        ({"auth": ("a:b", SECRET)}, "the user has a colon"),
        ({"auth": ""}, "a token"),
        ({"cookies": f"a={SECRET}"}, "a dict of values by name"),
        ({"cookies": [{"name": "a", "value": "b", "max": 1}]}, "not max"),
        ({"cookies": [{"name": "a"}]}, "name and value are needed"),
        ({"cookies": {"a": f"{SECRET};x"}}, "no header can carry"),
        ({"cookies": {"a=b": SECRET}}, "no header can carry"),
        ({"cookies": {"a": [SECRET]}}, "is text, not a list"),
        ({"cookies": {str(number): "x" for number in range(181)}}, "up to 180 cookies"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ({"timeout": "5"}, "timeout is a number of seconds"),
        ({"delay": -1}, "delay is a number of seconds of at least 0, not -1"),
        ({"delay": float("inf")}, "delay is a number of seconds"),
        ({"max_size": 0}, "whole number of at least 1"),
        ({"max_size": 1.5}, "whole number of at least 1"),
        ({"max_retries": -1}, "whole number of at least 0"),
        ({"max_retries": True}, "whole number of at least 0"),
        ({"omit_headers": "Accept"}, "a list of names"),
        ({"omit_headers": 5}, "a list of names"),
        ({"form": 5}, "a dict or a list of pairs"),
        ({"cookies": 5}, "a dict of values by name"),
    ],
)
def test_what_cannot_be_is_refused_without_the_secret(wrong, said):
    with pytest.raises((UsageError, JsonValueError), match=said) as caught:
        Request(URL, **wrong)
    assert SECRET not in str(caught.value)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "cookies": st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "é"]), min_size=1),
        "auth": st.sampled_from([("u", "p"), "token", "Digest x"]),
        "omit_headers": st.lists(st.sampled_from(["accept", "user-agent"]), min_size=1, unique=True).map(
            tuple
        ),
        "timeout": st.floats(0.1, 1e6),
        "max_size": st.integers(1, 2**40),
        "max_retries": st.integers(0, 99),
        "delay": st.floats(0, 1e6),
        "keep_fragment": st.booleans(),
    },
)


@given(OPTIONS)
def test_what_is_stored_is_read_as_it_was(options):
    request = Request(URL, **options)
    assert has_own_options(request) is bool(options)
    assert set(OWN_OPTIONS) == {
        "cookies",
        "auth",
        "omit_headers",
        "timeout",
        "max_size",
        "max_retries",
        "delay",
        "keep_fragment",
    }
    stored = msgspec.to_builtins(request)
    assert stored.keys() == {"url", *options}
    assert msgspec.convert(stored, Request) == request
    assert request.replace(depth=3).replace(depth=0) == request


def test_a_plain_request_is_stored_as_ever():
    assert msgspec.to_builtins(Request(URL)) == {"url": URL}


@pytest.mark.parametrize("name", _KINDS)
def test_the_quick_check_knows_every_field(name):
    """It is written out, and has to say what the table says."""
    request = Request(URL)
    assert _are_of_their_kinds(request)
    msgspec.structs.force_setattr(request, name, object())
    assert not _are_of_their_kinds(request)
