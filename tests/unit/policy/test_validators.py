"""Questions whether something has changed, and answers to them."""

import pytest

from gossamer.core.results import FetchResult
from gossamer.policy.validators import is_conditional, is_question, question_of, validator_of


def answer(value):
    return FetchResult(
        url="http://a.example/", status=200, headers=(("etag", value),), body=b"",
        started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "kept"), [('"1"', True), ('W/"x"', True), ("x" * 500, True), ("x" * 501, False), ("日", False)]
)
def test_only_what_can_be_sent_is_kept(value, kept):
    assert validator_of(answer(value), "etag") == (value if kept else "")
    assert not validator_of(answer(value), "last-modified")


def test_a_question_has_the_validators_that_there_are():
    assert question_of('"1"', "today") == {"If-None-Match": '"1"', "If-Modified-Since": "today"}
    assert question_of("", "today") == {"If-Modified-Since": "today"}
    assert question_of("", "") == {}


@pytest.mark.parametrize(
    ("name", "conditional", "question"),
    [
        ("If-None-Match", True, True),
        ("if-modified-since", True, True),
        ("If-Range", True, False),
        ("Accept", False, False),
    ],
)
def test_headers_that_depend_on_what_one_has(name, conditional, question):
    assert (is_conditional(["Host", name]), is_question(["Host", name])) == (conditional, question)
