"""The records."""

import enum
import json
import math
from collections import OrderedDict
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core import errors
from gossamer.core.errors import JsonValueError, UsageError
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.redaction import shown_server
from gossamer.core.requests import BANDS, FARTHEST, Request
from gossamer.frontier import codec


class Shop:
    def parse(self, response): ...

    @staticmethod
    def parse_static(response): ...

    @classmethod
    def parse_class(cls, response): ...


def of_no_class(response): ...


@pytest.mark.parametrize(
    "callback", [Shop().parse, Shop.parse, Shop().parse_static, Shop.parse_class, "parse", Shop.parse_static]
)
def test_callbacks_travel_by_name(callback):
    name = callback if isinstance(callback, str) else callback.__name__
    request = Request("http://a", callback=callback, errback="oops")
    assert (request.callback, request.errback) == (name, "oops")


def test_what_another_worker_could_not_find_on_its_spider_is_no_callback():
    def local(response): ...

    for callback in (lambda r: None, print, of_no_class, local, object(), Shop, partial(Shop.parse, None)):
        with pytest.raises(UsageError, match="callback must be a method of the spider or its name"):
            Request("http://a", callback=callback)
        with pytest.raises(UsageError, match="errback"):
            Request("http://a", errback=callback)


@pytest.mark.parametrize(
    "url", ["not a url", "", "/relative", "page.html", "?q=1", "//host/x", "127.0.0.1:80/x"]
)
def test_a_url_that_is_not_absolute_is_refused_where_it_is_made(url):
    with pytest.raises(UsageError, match=r"is not an absolute URL .* response.follow\(\)"):
        Request(url)


@pytest.mark.parametrize("url", ["http://a", "HTTPS://a", " http://a", "mailto:me@a", "ftp://a/x", "data:,x"])
def test_other_schemes_are_left_to_the_rules_of_the_crawl(url):
    assert Request(url).url == url


@pytest.mark.parametrize(
    ("meta", "place"),
    [
        ({"a": [{"b": object()}]}, r"meta\['a'\]\[0\]\['b'\] is a object"),
        ({1: "x"}, "meta has the key 1"),
        ({"x": math.nan}, r"meta\['x'\] is nan"),
        ({"x": b"bytes"}, r"meta\['x'\] is a bytes"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(meta, place):
    with pytest.raises(JsonValueError, match=place):
        Request("http://a", meta=meta)
    with pytest.raises(JsonValueError, match=place.replace("meta", "cb_kwargs")):
        Request("http://a", cb_kwargs=meta)


class Text(str):
    """A string that gives its own kind and calls itself something else, as libraries' strings do."""

    def __str__(self):
        return "not what it holds"


class Float64(float):
    """As numpy's."""


class Size(enum.IntEnum):
    LARGE = 3


class Colour(enum.StrEnum):
    RED = "red"


class OldColour(str, enum.Enum):  # noqa: UP042 - it calls itself OldColour.RED
    RED = "red"


class Place(NamedTuple):
    name: str


def types_in(value):
    if isinstance(value, dict):
        return {dict} | {kind for pair in value.items() for part in pair for kind in types_in(part)}
    if isinstance(value, list | tuple):
        return {type(value)} | {kind for element in value for kind in types_in(element)}
    return {type(value)}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Text("x"), "x"),
        (Float64(1.5), 1.5),
        (Size.LARGE, 3),
        (Colour.RED, "red"),
        (OldColour.RED, "red"),
        (type("Many", (list,), {})([Text("x"), 1]), ["x", 1]),
        (Place(Text("x")), ("x",)),
        (OrderedDict({Text("k"): [Float64(2)]}), {"k": [2.0]}),
        ("half a pair: \ud83d, a whole one: \ud83d\ude00", "half a pair: \ufffd, a whole one: \U0001f600"),
        ({"\udc00": 1}, {"\ufffd": 1}),
    ],
)
@pytest.mark.parametrize("field", ["meta", "cb_kwargs"])
def test_subclasses_are_stored_as_what_they_extend(field, value, stored):
    request = Request("http://a", **{field: {"v": value, "w": [1]}})
    held = getattr(request, field)
    assert held == {"v": stored, "w": [1]}
    assert types_in(held) <= {str, int, float, bool, type(None), dict, list, tuple}
    assert getattr(codec.unpack_request(codec.pack_request(request, "a"), "a"), field) == json.loads(
        json.dumps(held)
    )


def test_what_is_changed_after_it_was_made_is_brought_into_form_when_it_is_yielded():
    request = Request("http://a", meta={"a": 1})
    request.meta["b"] = Text("x")
    request.validate()
    assert type(request.meta["b"]) is str


@pytest.mark.parametrize("field", ["meta", "cb_kwargs", "headers"])
def test_any_mapping_becomes_a_dict(field: str) -> None:
    request = Request("http://a.example/", **{field: MappingProxyType({"a": "b"})})
    assert getattr(request, field) == {"a": "b"}
    assert type(getattr(request, field)) is dict


@pytest.mark.parametrize("field", ["meta", "cb_kwargs", "headers"])
@pytest.mark.parametrize("more", [{}, {"é": "x"}, {"x": "é" * 300}])
def test_a_request_owns_what_it_was_given(field, more):
    given = {"a": "b", **more}
    request = Request("http://a", **{field: given})
    held = dict(given)
    given["c"] = object()
    assert getattr(request, field) == held


def test_a_request_owns_what_is_nested_in_what_it_was_given():
    given = {"a": [1, {"b": [None, 1.5, "é"]}], "c": {"d": 1}, "e": ([1],)}
    request = Request("http://a", meta=given)
    for inner in (given["a"], given["a"][1]["b"], given["e"][0]):
        inner.append(object())
    given["c"]["d"] = given["a"][1]["b"] = object()
    assert request.meta == {"a": [1, {"b": [None, 1.5, "é"]}], "c": {"d": 1}, "e": ([1],)}


def test_every_field_of_a_request_takes_subclasses():
    request = Request(
        Text("http://a/"),
        callback=Text("parse"),
        method=Text("post"),
        headers={Text("A"): Text("b")},
        body=Text("é"),
        priority=Size.LARGE,
        session=Text("s"),
    )
    assert (request.url, request.callback, request.method) == ("http://a/", "parse", "POST")
    assert (request.headers, request.body, request.priority) == ({"A": "b"}, "é".encode(), 3)
    found = codec.unpack_request(codec.pack_request(request, "a"), "a")
    assert found == request


def deep():
    value = "x"
    for _ in range(100_000):
        value = [value]
    return value


def endless():
    value = {}
    value["a"] = value["b"] = value
    return value


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        (endless(), "nested more than 100 levels deep, or contains itself"),
        ({"a": deep()}, "nested more than 100 levels deep, or contains itself"),
        ({"a": ["x" * (17 * 2**20)]}, r"meta\['a'\]\[0\] is too large"),
        ({"a": [0] * 2_000_000}, r"meta\['a'\] is too large"),
    ],
)
def test_what_has_no_end_or_is_too_large_is_refused_at_once(meta, told):
    with pytest.raises(JsonValueError, match=told) as caught:
        Request("http://a", meta=meta)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("field", ["body", "headers"])
def test_a_request_has_no_room_for_a_film(field):
    large = "x" * (17 * 2**20)
    with pytest.raises(UsageError, match=f"a request's {field} is too large"):
        Request("http://a", **{field: {"a": large} if field == "headers" else large})


def test_a_request_is_tidied():
    request = Request("http://a", method="post", body="é")
    assert (request.method, request.body) == ("POST", "é".encode())
    with pytest.raises(UsageError, match="url must be a string"):
        Request(b"http://a")
    with pytest.raises(AttributeError):
        request.url = "http://b"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"headers": {"Authorization": b"s3cret"}}, "'Authorization' is a bytes"),
        ({"headers": "s3cret"}, "a request's headers must be a dict, not a str"),
        ({"body": {"password": "s3cret"}}, "a request's body must be a bytes, not a dict"),
        ({"meta": ["s3cret"]}, "a request's meta must be a dict, not a list"),
        ({"priority": "high"}, "a request's priority must be a whole number, not 'high'"),
    ],
)
def test_what_a_request_cannot_hold_is_named_without_what_may_be_a_secret(wrong, said):
    with pytest.raises(UsageError) as caught:
        Request("http://a", **wrong)
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)


@given(st.integers())
def test_bands_follow_priority_and_are_clamped(priority):
    band = Request("http://a", priority=priority).band
    assert 0 <= band < BANDS
    assert band >= Request("http://a", priority=priority + 1).band
    assert [Request("http://a", priority=p).band for p in (5, 4, 0, -4, -5)] == [0, 0, 4, 8, 8]


@given(st.integers(), st.integers())
def test_ranks_tell_any_two_priorities_apart(one, other):
    ranks = [Request("http://a", priority=priority).rank for priority in (one, other)]
    assert all(float(rank) == rank for rank in ranks)
    assert (ranks[0] < ranks[1]) == (one > other) or max(abs(one), abs(other)) >= FARTHEST - BANDS
    assert [Request("http://a", priority=p).rank for p in (1000, 5, 4, -4, -5)] == [-996, -1, 0, 8, 9]


json_ = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(meta=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), json_, max_size=3))
def test_a_request_survives_the_wire(meta):
    request = Request("http://a", callback="parse", meta=meta, priority=3)
    wire = msgspec.msgpack.encode(request)
    assert msgspec.msgpack.decode(wire, type=Request) == request


def test_waiting_is_what_has_to_be_done():
    stats = FrontierStats(state=JobState.RUNNING, pending=1, delayed=2, leased=4, done=8, dead=16)
    assert stats.waiting == 7


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:S3cret@db:5432/x?password=S3cret", "postgresql://db:5432/x"),
        ("redis://:S3cret@[::1]:1/0#S3cret", "redis://[::1]:1/0"),
        ("amqp://u:S3@cret@queue//", "amqp://queue//"),
        ("redis://me:12/S3cret@h:1/0", "redis://…"),
        ("redis://me:1?S3cret@h:1/0", "redis://…"),
        ("redis://h/0?password=S@3cret/x", "redis://…"),
        ("redis://h:S3cret/0", "redis://…"),
        ("postgresql://u:S3cret@[db/x", "postgresql://…"),
        ("redis+sentinel://u:S3cret@a:1,b:2/main/0?x=S3cret", "redis+sentinel://a:1,b:2/main/0"),
        ("mongodb://u:S3cret@a:1,b,[::1]:3/x", "mongodb://a:1,b,[::1]:3/x"),
        ("redis+sentinel://a:1,b:S3cret/main", "redis+sentinel://…"),
        ("redis://h\x1b/0", "redis://h?/0"),
        ("host=db password=S3cret", "…"),
        ("redis:/u:S3cret@h", "…"),
        ("redis:/h/0", "redis:/h/0"),
        ("", "…"),
    ],
)
def test_servers_are_shown_without_secrets(url, shown):
    assert shown_server(url) == shown


def test_every_error_has_one_root_and_operators_errors_an_exit_code():
    found = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert all(issubclass(error, errors.GossamerError) for error in found)
    operators = [error for error in found if issubclass(error, errors.OperatorError)]
    assert len(operators) > 5
    assert {error.exit_code for error in operators} <= {2, 4}
    assert str(errors.FetchError(errors.Fault.TLS, "expired")) == "tls: expired"


@pytest.mark.parametrize(
    ("fetch", "hint"), [("brwser", "browser"), ("http+home", "datacenter"), ("Http", "http")]
)
def test_a_request_is_refused_a_rung_that_does_not_exist(fetch: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        Request("http://a.example/", fetch=fetch)


@pytest.mark.parametrize("fetch", ["auto", "browser", "http+mobile", "gateway:zyte", ""])
def test_a_request_names_its_rung(fetch: str) -> None:
    assert Request("http://a.example/", fetch=fetch).fetch == fetch
