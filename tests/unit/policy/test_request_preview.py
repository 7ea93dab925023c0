"""What the ledger keeps of a request: enough to tell it from others, bounded, and no secret."""

import json

import msgspec
import pytest

from gossamer.core.requests import Request
from gossamer.core.storable import MAX_DEPTH
from gossamer.policy import request_preview
from gossamer.policy.request_preview import (
    MAX_BODY,
    MAX_NAMES,
    MAX_PARSED_BYTES,
    MAX_VALUE,
    describe_preview,
    preview_of,
    shown_body,
    shown_headers,
    shown_values,
)

URL = "http://a/"


def test_a_request_that_its_url_says_all_about_has_none():
    assert preview_of(Request(URL)) is None
    assert preview_of(Request(URL, callback="parse_x", priority=3, depth=2, via="http://b/")) is None


def test_what_redirected_to_it_is_kept():
    kept = preview_of(Request(URL, redirects=("http://b/", "http://me:hunter2@a/old")))
    assert kept is not None
    assert kept.redirected_by == "http://***@a/old"
    assert describe_preview(kept) == ""


def test_what_tells_requests_apart_is_kept():
    kept = preview_of(
        Request(URL, "parse_x", "POST", {"X-A": "1"}, b"page=2", {"key": 1}, {"page": 2, "tags": ["a"]})
    )
    assert kept is not None
    assert (kept.callback, kept.headers, kept.body, kept.body_bytes) == ("parse_x", ("X-A",), "page=2", 6)
    assert (kept.cb_kwargs, kept.meta) == ({"page": 2, "tags": ["a"]}, ("key",))
    assert preview_of(Request(URL, method="HEAD")) is not None


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"user=x&password=hunter2&p=1", "user=x&password=***&p=1"),
        (b"user%5Bpass%5D=hunter2", "user%5Bpass%5D=***"),
        (b"api%5Fkey=hunter2&q", "api%5Fkey=***&q"),
        (b'{"q":1,"auth":{"a":"hunter2"},"l":[{"pin":1}]}', '{"q":1,"auth":"***","l":[{"pin":"***"}]}'),
        (b'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2', "***"),
        (b"<login><password>hunter2</password></login>", "***"),
        (b"note=a secret garden&q=1", "note=a secret garden&q=1"),
        (b'q=1&x={"password":"hunter2"}', "q=1&x=***"),
        (b"q=1&x=%7B%22password%22:%22hunter2%22", "q=1&x=***"),
        (b'{"a":"{\\"password\\":1}","u":"http://h/?token=hunter2"}', '{"a":"***","u":"***"}'),
        (b"a=1\r\npassword: hunter2", "***"),
        (b"see http://me:hunter2@h/x", "see http://***@h/x"),
        (b"\xff\x00", "\\xff\x00"),
        (b"", ""),
    ],
)  # fmt: skip
def test_secrets_in_bodies_are_hidden(body, shown):
    assert shown_body(body) == shown


def test_secrets_among_values_are_hidden_at_any_depth():
    values = {"token": "hunter2", "x": [{"Set-Cookie": "hunter2", "n": 1}], "u": "ftp://me:hunter2@h/"}
    assert shown_values(values) == {"token": "***", "x": [{"Set-Cookie": "***", "n": 1}], "u": "ftp://***@h/"}
    assert shown_headers({"Authorization": "Bearer x", "X-Session-Id": "x", "Accept": "y"}) == {
        "Authorization": "***", "X-Session-Id": "***", "Accept": "y",
    }  # fmt: skip


def test_what_only_resembles_a_secret_is_shown():
    values = {
        "author": "Ann",
        "next": "http://shop.example/authors/key/3?page=2",
        "note": "the secret of the token: none",
        "keys": [1],
    }
    assert shown_values(values) == {**values, "note": "***"}
    assert shown_body(b"author=Ann&q=the+secret+garden") == "author=Ann&q=the+secret+garden"
    assert shown_body(b'{"author":"Ann","tokenless":1}') == '{"author":"Ann","tokenless":"***"}'
    assert shown_body(b"<book><author>Ann</author></book>") == "<book><author>Ann</author></book>"


def test_long_words_cost_no_time():
    text = "a" * MAX_PARSED_BYTES
    assert shown_values({"x": text, "y": f"{text}="}) == {"x": text, "y": f"{text}="}
    assert shown_body(f"password {text}".encode()) == "***"


def test_it_is_bounded_and_can_be_stored_whatever_the_request_holds():
    deep: list = []
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    huge = Request(
        URL,
        "c" * 1000,
        headers={f"h{n}" * 100: "v" for n in range(100)},
        body=b"x" * 10 * MAX_PARSED_BYTES,
        meta={f"m{n}" * 100: n for n in range(100)},
        cb_kwargs={"deep": deep, "half": "\ud800", "long": ["y" * 1000], **{f"k{n}": n for n in range(100)}},
    )
    kept = preview_of(huge)
    assert kept is not None
    assert len(kept.callback) == MAX_VALUE
    assert len(kept.headers) == len(kept.meta) == len(kept.cb_kwargs) == MAX_NAMES
    assert len(kept.body) == MAX_BODY + 1
    assert kept.body_bytes == 10 * MAX_PARSED_BYTES
    assert len(msgspec.json.encode(kept)) < 10_000
    assert len(json.dumps(kept.cb_kwargs["long"])) < MAX_VALUE + 20


@pytest.mark.parametrize(
    "value",
    [["x" * 10] * 10_000, [{"n": 1}] * 10_000, [[]] * 10_000, {"item": {str(n): [n] for n in range(10_000)}}],
)
def test_arguments_cost_no_more_than_what_is_kept_of_them(monkeypatch, value):
    request = Request(URL, cb_kwargs={"value": value})
    calls = 0

    def masked(*arguments):
        nonlocal calls
        calls += 1
        return original(*arguments)

    original = request_preview._mask_secrets
    monkeypatch.setattr(request_preview, "_mask_secrets", masked)
    kept = preview_of(request)
    assert kept is not None
    assert kept.cb_kwargs["value"] == json.dumps(value, separators=(",", ":"))[:MAX_VALUE] + "…"
    assert calls < 2 * MAX_VALUE


def test_what_just_fits_is_kept_as_it_is():
    values = {"a": ["x" * 40, {"b": "y" * 40}], "t": "z" * MAX_VALUE, "n": list(range(10))}
    kept = preview_of(Request(URL, cb_kwargs=values))
    assert kept is not None
    assert kept.cb_kwargs == values


def test_a_large_body_with_a_secret_is_hidden_whole():
    body = b"password=hunter2&q=" + b"x" * MAX_PARSED_BYTES
    kept = preview_of(Request(URL, body=body))
    assert kept is not None
    assert (kept.body, kept.body_bytes, shown_body(body)) == ("***", len(body), "***")
