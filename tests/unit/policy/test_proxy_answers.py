"""Whose an error is that came through a proxy."""

import itertools

import pytest

from gossamer.policy.proxies import ProxyOutcome
from gossamer.policy.proxy_answers import MOST_IN_A_ROW, MOST_UNPROVEN, ErrorJudge, is_error, is_signed

HOST, URL = "a.example", "http://a.example/page"
PAGES = itertools.count()


@pytest.fixture
def judge():
    return ErrorJudge()


def prove(judge, names):
    """Something else than an error has come through these proxies."""
    for name in names:
        judge.note_answer(name, "b.example", "http://b.example/")


def errors(judge, proxy, times, others=1, **more):
    """So many errors, each of another page: which of them are doubted."""
    return [
        judge.doubt_error(proxy, HOST, f"{URL}/{next(PAGES)}", others=others, **more) for _ in range(times)
    ]


def test_a_page_is_tried_through_others_before_its_host_is_blamed(judge):
    prove(judge, "abcd")
    assert [judge.doubt_error(name, HOST, URL, others=9) for name in "abc"] == [True, True, False]
    assert not judge.doubt_error("d", HOST, URL, others=9), "it stays the host's"


def test_through_the_same_proxy_again_it_is_the_hosts(judge):
    prove(judge, "a")
    assert [judge.doubt_error("a", HOST, URL, others=9) for _ in range(2)] == [True, False]


def test_a_list_that_is_mostly_out_of_order_does_not_close_a_host(judge):
    """A bug it would catch: three that are out of order agree on robots.txt, and nothing is fetched."""
    names = [f"p{n}" for n in range(MOST_UNPROVEN + 1)]
    doubted = [judge.doubt_error(name, HOST, URL, others=99) for name in names]
    assert doubted == [True] * MOST_UNPROVEN + [False]


def test_pages_that_meet_the_same_few_proxies_side_by_side_do_not_close_a_host(judge):
    """A bug it would catch: nine of ten are out of order, and ten pages in a row meet some of them."""
    doubted = [judge.doubt_error(f"p{n % 9}", HOST, f"{URL}/{n}", others=9) for n in range(2 * MOST_UNPROVEN)]
    assert all(doubted)


def test_a_proxy_that_never_worked_is_asked_again_until_it_rests(judge):
    """A bug it would catch: a session that is bound to it never gets another one."""
    assert [judge.doubt_error("a", HOST, URL, others=1) for _ in range(3)] == [True] * 3
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.STALLED


@pytest.mark.parametrize(("others", "doubted"), [(0, [False, False]), (1, [True, False])])
def test_no_more_are_asked_than_there_are(judge, others, doubted):
    prove(judge, "ab")
    assert [judge.doubt_error(name, HOST, URL, others=others) for name in "ab"] == doubted


def test_a_host_that_answers_nothing_but_errors_is_believed_until_it_answers(judge):
    prove(judge, "a")
    assert errors(judge, "a", MOST_IN_A_ROW + 2) == [True] * MOST_IN_A_ROW + [False] * 2
    judge.note_answer("b", HOST, URL)
    assert judge.doubt_error("a", HOST, URL, others=1)


def test_a_proxy_that_never_gave_anything_but_errors_rests(judge):
    errors(judge, "a", 2)
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.DOUBTED
    errors(judge, "a", 1)
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.STALLED, "at the host where it was seen"


def test_errors_at_several_hosts_are_the_proxys_altogether(judge):
    for host in ("a.example", "b.example", "c.example"):
        judge.doubt_error("a", host, f"http://{host}/", others=1)
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.FAILED


def test_a_proxy_that_worked_rests_only_where_others_are_answered(judge):
    """A bug it would catch: the proxies of a site that is out of order rest, one after the other."""
    judge.note_answer("a", HOST, URL)
    for _ in range(3):
        errors(judge, "a", 1)
        assert judge.judge_proxy("a", HOST) is ProxyOutcome.DOUBTED, "it may be the host"
        judge.note_answer("b", HOST, URL)
    errors(judge, "a", 1)
    assert judge.judge_proxy("a", "c.example") is ProxyOutcome.DOUBTED, "that one has answered it"
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.STALLED


def test_an_outage_of_a_host_rests_none_of_the_proxies_that_met_it(judge):
    """A bug it would catch: each error of it counts against its proxy once another one is answered."""
    prove(judge, "abc")
    for name in "bcbcbc":
        errors(judge, name, 1, others=2)
    judge.note_answer("a", HOST, URL)
    for name in "bc":
        errors(judge, name, 1, others=2)
        assert judge.judge_proxy(name, HOST) is ProxyOutcome.DOUBTED


def test_another_answer_of_a_proxy_clears_it(judge):
    errors(judge, "a", 2)
    judge.note_answer("a", HOST, URL)
    errors(judge, "a", 2)
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.DOUBTED


def test_an_error_that_a_provider_signs_is_doubted_whatever_the_host_answered(judge):
    judge.note_answer("a", HOST, URL)
    errors(judge, "b", MOST_IN_A_ROW)
    assert errors(judge, "a", 3, is_signed=True) == [True] * 3
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.STALLED


def test_what_is_not_listed_any_more_is_forgotten(judge):
    errors(judge, "a", 2)
    judge.keep_proxies(["b"])
    errors(judge, "a", 1)
    assert judge.judge_proxy("a", HOST) is ProxyOutcome.DOUBTED


@pytest.mark.parametrize(
    ("status", "fields", "expected"),
    [
        (200, ["x-brd-error"], (False, False)),
        (403, ["server"], (False, False)),
        (403, ["server", "x-brd-error"], (True, True)),
        (503, ["server"], (True, False)),
    ],
)
def test_errors_that_may_be_a_proxys(status, fields, expected):
    assert (is_error(status, fields), is_signed(status, fields)) == expected
