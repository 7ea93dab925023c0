"""A request as text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.core.errors import StorageError
from gossamer.core.requests import Request
from gossamer.frontier.codec import pack_request, unpack_request

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
hosts = st.sampled_from(["a.example", "a.example:8080", "b"])
schemes = st.sampled_from(["https://", "http://", "ftp://", "x:"])
paths = st.sampled_from(["", "/", "/x/", "/x/y.html", "/x/y/z?q=/x/&r=\t", "/\n", "/é", "/\ud800", "//", "#"])
urls = st.builds("".join, st.tuples(schemes, hosts, paths)) | st.builds("x:{}".format, st.text(max_size=9))


@given(url=urls, via=urls, host=hosts, depth=st.integers(-1, 9), priority=st.integers(-9, 9), name=st.text())
@example(url="https://b/x/1", via="https://b/x/", host="b", depth=0, priority=0, name="")
@example(url="x:", via="/", host="b", depth=1, priority=0, name="parse")
def test_a_link_comes_back(url, via, host, depth, priority, name):
    for callback in (None, name):
        request = Request(url, callback, via=via, depth=depth, priority=priority)
        assert unpack_request(pack_request(request, host), host) == request
        assert unpack_request(pack_request(request.replace(lane="x"), host), host) == request.replace(
            lane="x"
        )


@given(meta=st.dictionaries(st.text(max_size=4), values, max_size=3), body=st.binary(max_size=9), url=urls)
def test_whatever_a_request_accepts_comes_back(meta, body, url):
    request = Request(url, body=body, meta=meta, redirects=("http://b",), headers={"a": "b"})
    assert unpack_request(pack_request(request, "a"), "a") == request


@pytest.mark.parametrize("text", ["\ud800", 2**64, -(2**64), "\t", "\n", "\x00"])
def test_what_a_line_cannot_carry(text):
    request = Request("http://a/\t", meta={"x": [text]}, body=b"\xff\x00", errback="e", session="s")
    record = pack_request(request, "a")
    assert unpack_request(record, "a") == request
    assert record.replace("\t", "").isprintable()


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "POST"},
        {"method": ""},
        {"lane": ""},
        {"errback": "e"},
        {"headers": {"a": "b"}},
        {"body": b"x"},
        {"meta": {"a": 1}},
        {"cb_kwargs": {"a": 1}},
        {"dont_filter": True},
        {"session": "s"},
        {"redirects": ("http://b",)},
        {"fetch": "browser"},
        {"trace": "00-1-2-01"},
        {"archived": "job/worker-00001.warc.gz:7:12"},
        {"callback": ""},
        {"cookies": {"a": "b"}},
        {"cookies": [{"name": "a", "value": "b", "domain": "x.example"}]},
        {"auth": "Basic eDp5"},
        {"omit_headers": ("accept",)},
        {"timeout": 2.5},
        {"max_size": 1},
        {"max_retries": 0},
        {"delay": 60.0},
    ],
)
def test_no_field_is_forgotten(fields):
    request = Request("http://a/b", via="http://a/c", depth=2).replace(**fields)
    assert unpack_request(pack_request(request, "a"), "a") == request


def test_a_link_is_short():
    via = "https://shop.example/catalogue/category-123/page-7"
    request = Request("https://shop.example/catalogue/item-1", callback="parse", depth=3, via=via)
    assert pack_request(request, "shop.example") == "s/catalogue/item-1\t31\tcategory-123/page-7\tparse\t3"


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "x/",
        "\t",
        "s/\tx",
        "s/\t1\tx\ty\tz",
        "s/" + "\t" * 6 + "{",
        "\t" * 6 + '{"url": 1}',
        "\t" * 6 + "[1]",
        "\t" * 6 + "[" * 10**5,
        "s/" + "\t" * 6 + '{"meta": 1}',
        b"s/",
    ],
)
def test_junk_is_refused(junk):
    with pytest.raises(StorageError, match="cannot be read"):
        unpack_request(junk, "a")
