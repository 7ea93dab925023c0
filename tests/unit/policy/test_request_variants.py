"""What tells requests to one URL apart besides method and body."""

from __future__ import annotations

import pytest

from gossamer.core.requests import Request
from gossamer.policy.request_variants import variant_of

URL = "http://a.example/"


def test_a_plain_request_has_none() -> None:
    assert variant_of(Request(URL)) == ""
    assert variant_of(Request(URL, headers={"If-None-Match": '"x"', "Authorization": "Bearer secret"})) == ""
    assert variant_of(Request(URL, cookies={"access_token": "x"})) == ""


def test_what_servers_answer_by_counts_and_its_spelling_does_not() -> None:
    asked = [
        Request(URL, headers={"Accept-Language": "de"}),
        Request(URL, headers={"Accept-Language": "fr"}),
        Request(URL, session="ann"),
        Request(URL, session="bob"),
        Request(URL, cookies={"currency": "EUR"}),
        Request(URL, cookies={"currency": "USD"}),
    ]
    assert len(set(map(variant_of, asked))) == len(asked)
    assert variant_of(Request(URL, headers={"accept-language": "de"})) == variant_of(asked[0])
    listed = Request(URL, cookies=[{"name": "currency", "value": "EUR", "path": "/"}])
    assert variant_of(listed) == variant_of(asked[4])


@pytest.mark.parametrize("headers", [{"X-Api-Key": "1"}, {"Authorization": "1"}, {"Cookie": "a=1"}])
def test_no_secret_can_be_guessed_from_it(headers: dict[str, str]) -> None:
    assert variant_of(Request(URL, headers=headers)) == ""
