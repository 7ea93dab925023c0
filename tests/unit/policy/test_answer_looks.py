"""Answers to one URL that are not like the others."""

import pytest

from gossamer.core.results import FetchResult
from gossamer.policy.answer_looks import are_alike, find_different, look_at_answer

SHOP = b"<html><title>Lamps</title><h1>Folding lamp</h1><p>A lamp that folds, for %d euros</p></html>"
OWN = b"<html><title>Welcome to AcmeProxy</title><body>Your plan has ended, please renew it now</body></html>"
ECHO = b'{"ip": "%s", "city": "%s", "country": "%s", "timezone": "Europe", "org": "AS%d"}'


def look(body, status=200, **headers):
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    times = {"started_at": 0.0, "latency_s": 0.0, "elapsed_s": 0.0}
    return look_at_answer(
        FetchResult(url="http://a.example/", status=status, headers=fields, body=body, rung="http", **times)
    )


def test_a_page_of_a_proxys_own_is_found():
    """A bug it would catch: it counts as one that works, since its status is 200."""
    assert find_different([look(SHOP % 9), look(OWN), look(SHOP % 12), look(SHOP % 9)]) == {1}


def test_pages_that_say_who_asks_are_alike():
    answers = [
        look(ECHO % (ip, city, country, number))
        for ip, city, country, number in (
            (b"203.0.113.7", b"Berlin", b"DE", 1),
            (b"2001:db8::face:1", b"Paris", b"FR", 22),
            (b"198.51.100.99", b"Rome", b"IT", 333),
        )
    ]
    assert find_different(answers) == frozenset()
    assert find_different([look(b"203.0.113.7"), look(b"2001:db8::bad:1"), look(b"ok")]) == {2}


@pytest.mark.parametrize(
    "other",
    [
        look(SHOP % 9, status=201),
        look(SHOP % 9, content_type="application/json"),
        look(SHOP % 9, location="http://login.example/"),
        look(b""),
    ],
)
def test_what_makes_two_answers_different(other):
    one = look(SHOP % 9)
    assert not are_alike(one, other)
    assert are_alike(one, look(SHOP % 100))


def test_where_a_redirect_leads_counts_without_its_query():
    one, other = (look(b"", status=302, location=f"http://a.example/x?session={n}") for n in range(2))
    assert are_alike(one, other)


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [([], frozenset()), ([OWN], frozenset()), ([SHOP % 1, OWN], None), ([SHOP % 1, OWN, b"x y"], None)],
)
def test_without_a_majority_it_cannot_be_said(bodies, expected):
    assert find_different([look(body) for body in bodies]) == expected
