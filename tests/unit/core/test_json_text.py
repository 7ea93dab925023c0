"""JSON is read as Python and Scrapy read it, in a response, a captured answer and by a declarative spider."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core import json_text
from gossamer.core.browsing import CapturedResponse
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.spiders.query import compile_query
from gossamer.spiders.response import Response

URL = "http://h.test/data"
PLAIN = "application/json"


def in_response(body: bytes, content_type: str) -> Any:
    headers = (("content-type", content_type),)
    fetched = FetchResult(
        url=URL, status=200, headers=headers, body=body, started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    return Response(Request(URL), fetched).json()


def in_captured(body: bytes, content_type: str) -> Any:
    return CapturedResponse(url=URL, status=200, content_type=content_type, body=body).json()


WAYS = pytest.mark.parametrize("read", [in_response, in_captured])
Read = Callable[[bytes, str], Any]


@WAYS
@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    [
        (b"\xef\xbb\xbf" + b'{"a": 1}', PLAIN, {"a": 1}),
        ('{"名": 1}'.encode("gbk"), f"{PLAIN}; charset=gbk", {"名": 1}),
        ('{"ж": "я"}'.encode("cp1251"), f'{PLAIN};charset="windows-1251"', {"ж": "я"}),
        ('["é"]'.encode("latin-1"), "text/plain; charset=ISO-8859-1; x=y", ["é"]),
        ('["é"]'.encode(), f"{PLAIN}; charset=iso-8859-1", ["é"]),  # it says so, and is UTF-8
        *[('{"é": [1]}'.encode(name), PLAIN, {"é": [1]}) for name in ("utf-16", "utf-16-be", "utf-16-le")],
        ('{"é": [1]}'.encode("utf-32"), f"{PLAIN}; charset=none-such", {"é": [1]}),
        (b"\xff\xfe" + "[1]".encode("utf-16-le"), f"{PLAIN}; charset=utf-8", [1]),
        (b'["\\ud800", "\\ud83d\\ude00"]', PLAIN, ["\ud800", "\U0001f600"]),
        (b"[1e400, -1e400, Infinity, -Infinity]", PLAIN, [math.inf, -math.inf, math.inf, -math.inf]),
        (b"1" * 400, PLAIN, int("1" * 400)),
        (b"12345678901234567890123", PLAIN, 12345678901234567890123),
        (b"[" * 500 + b"]" * 500, PLAIN, json.loads("[" * 500 + "]" * 500)),
        (b' \r\n{"a":1,"a":2}\t', PLAIN, {"a": 2}),
    ],
)
def test_what_python_reads_is_read(read: Read, body: bytes, content_type: str, value: Any) -> None:
    assert read(body, content_type) == value


@WAYS
def test_nan_is_read(read: Read) -> None:
    assert math.isnan(read(b'{"a": NaN}', PLAIN)["a"])


@WAYS
@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"a": 1,\n "b" 2}', "line 2 column 6 (char 14)"),
        (b"", "line 1 column 1 (char 0)"),
        (b"<html>", "line 1 column 1 (char 0)"),
        (b'{"a": 1}\n{"a": 2}', "line 2 column 1 (char 9)"),
        (b'["a\x01"]', "line 1 column 4 (char 3)"),
        (b"[1,]", "line 1 column 4 (char 3)"),
        (b'{\n"]": ' + b"[" * 100_000, "100,001 levels deep, which is too much: line 2 column 100005"),
        (b'[{"a": ' * 50_000, "100,000 levels deep"),
        (b"[\n " + b"1" * 5_000 + b"]", "line 2 column 2 (char 3)"),
    ],
)
def test_what_cannot_be_read_says_where(read: Read, body: bytes, place: str) -> None:
    with pytest.raises(ValueError, match="JSON") as raised:
        read(body, PLAIN)
    assert str(raised.value).startswith(URL)
    assert place in str(raised.value)
    assert not isinstance(raised.value, UnicodeError)


@WAYS
@given(body=st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_whatever_a_body_is_it_is_read_or_refused(read: Read, body: bytes) -> None:
    try:
        expected = json.loads(body)
    except ValueError:
        expected = None
    try:
        found = read(body, PLAIN)
    except ValueError:
        found = None
    assert repr(found) == repr(expected) or expected is None


def test_common_json_is_read_by_the_fast_parser_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "json", None)
    assert in_response('{"é": [1, 2.5, null]}'.encode(), PLAIN) == {"é": [1, 2.5, None]}


def test_queries_of_json_read_the_same() -> None:
    headers = (("content-type", f"{PLAIN}; charset=gbk"),)
    fetched = FetchResult(
        url=URL,
        status=200,
        headers=headers,
        body='{"名": [NaN, "中"]}'.encode("gbk"),
        started_at=0,
        latency_s=0,
        elapsed_s=0,
        rung="http",
    )
    response = Response(Request(URL), fetched)
    assert response.jmespath('"名"[1]').get() == "中"
    assert compile_query("$.名[1]").find_in(response) == ["中"]  # as declarative spiders ask
    assert response.text == '{"名": [NaN, "中"]}'


def test_the_text_of_a_captured_answer_is_in_its_charset() -> None:
    def text(body: bytes, content_type: str) -> str:
        return CapturedResponse(url=URL, status=200, content_type=content_type, body=body).text

    assert text("ж".encode("cp1251"), "text/plain; charset=windows-1251") == "ж"
    assert text("ж".encode(), "text/plain; charset=windows-1251") == "ж"
    assert text(b"\xe6", "text/plain") == "\ufffd"
