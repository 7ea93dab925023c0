"""What `gossamer fetch` shows of headers: names and attributes, and no value that lets anybody in."""

import pytest

from gossamer.policy.answer_secrets import shown_answer_headers


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Set-Cookie", "sid=hush; Path=/; HttpOnly; Max-Age=5", "sid=***; Path=/; HttpOnly; Max-Age=5"),
        ("set-cookie", "hush", "***"),
        ("Set-Cookie", "sid = hush=hush ;hush=hush; samesite=Lax", "sid=***; ***; samesite=Lax"),
        ("Set-Cookie", "", "***"),
        ("X-Auth-Token", "hush", "***"),
        ("Authorization", "Bearer hush", "***"),
        ("X-Session-Id", "hush", "***"),
        ("Location", "https://me:hush@a.example/", "https://***@a.example/"),
        ("WWW-Authenticate", 'Basic realm="shop"', 'Basic realm="shop"'),
        ("Access-Control-Allow-Credentials", "true", "true"),
        ("Content-Type", "text/html", "text/html"),
    ],
)
def test_headers_are_shown_without_what_lets_one_in(name: str, value: str, shown: str) -> None:
    assert shown_answer_headers([(name, value)]) == [(name, shown)]
