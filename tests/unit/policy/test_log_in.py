"""When a session logs in, and by what it is seen to be logged out."""

from __future__ import annotations

import pytest

from gossamer.policy import log_in
from gossamer.policy.log_in import LoginState

LOGIN = "https://www.club.example/account/login"


@pytest.mark.parametrize(
    ("url", "is_behind"),
    [
        ("https://www.club.example/", True),
        ("https://shop.club.example/page", True),  # the cookies of a site are for all of its hosts
        ("http://www.club.example:8080/page", True),
        ("https://www.club.example/account/login", False),
        ("https://www.club.example/account/login/?next=/page", False),
        ("https://elsewhere.example/page", False),
    ],
)
def test_pages_of_the_site_are_behind_its_log_in(url, is_behind):
    assert log_in.is_behind_log_in(url, LOGIN) is is_behind
    assert not log_in.is_behind_log_in(url, "")


@pytest.mark.parametrize(
    ("status", "location", "why"),
    [
        (200, "", ""),
        (401, "", "status 401"),
        (403, "", ""),
        (302, "/account/login?next=%2Fpage&token=s3cret", "redirects to /account/login"),
        (302, "https://sso.example/oauth/sign-in?x=1", "redirects to /oauth/sign-in"),
        (301, "/page/2", ""),
        (302, "", ""),
        (302, "http://[", ""),
    ],
)
def test_an_answer_for_visitors_is_recognised(status, location, why):
    assert log_in.find_log_out("https://www.club.example/page", LOGIN, status, location) == why


def test_pauses_after_log_ins_that_fail_double_up_to_ten_minutes():
    state, pauses = LoginState(serial=4, logged_in_at=1.0), []
    for _ in range(9):
        state = log_in.fail_log_in(state, 100.0, "no")
        pauses.append(state.retry_at - 100.0)
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    assert (state.failures, state.logged_in_at, state.why) == (9, 0.0, "no")
    assert log_in.succeed_log_in(state, 200.0) == LoginState(serial=5, logged_in_at=200.0)


def test_only_the_log_in_that_a_page_was_asked_with_can_be_over():
    state = LoginState(serial=2, logged_in_at=9.0)
    assert log_in.end_log_in(state, 1) is state
    assert not log_in.end_log_in(state, 2).logged_in_at


def test_one_page_for_visitors_proves_a_log_out_until_one_was_always_like_that():
    state, needed = LoginState(serial=1), []
    for _ in range(6):
        needed.append(next(number for number in range(1, 9) if log_in.proves_log_out(state, number)))
        state = log_in.refuse_page(state)
    assert needed == [1, 2, 3, 4, 4, 4]
    assert needed[-1] < log_in.MAX_TIMES, "the only page that is left can still bring a new log-in about"
