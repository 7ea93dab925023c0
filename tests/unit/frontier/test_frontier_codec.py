"""A request as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.codec import pack, unpack
from gossamer.words.errors import StorageError
from gossamer.words.model import Request

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    meta=st.dictionaries(st.text(max_size=4), values, max_size=3), body=st.binary(max_size=9), url=st.text()
)
def test_whatever_a_request_accepts_comes_back(meta, body, url):
    request = Request(url, body=body, meta=meta, redirects=("http://b",), headers={"a": "b"})
    assert unpack(pack(request)) == request


@pytest.mark.parametrize("text", ["\ud800", 2**64, -(2**64)])
def test_what_msgpack_cannot_carry(text):
    request = Request("http://a", meta={"x": [text]}, body=b"\xff\x00")
    assert unpack(pack(request)) == request


@pytest.mark.parametrize(
    "junk", [b"", b"\x80\x04cos\nsystem\n", b"{", b'{"url": 1}', b"\xc1", b"{}", b"[" * 10**5]
)
def test_junk_is_refused(junk):
    with pytest.raises(StorageError, match="cannot be read"):
        unpack(junk)
