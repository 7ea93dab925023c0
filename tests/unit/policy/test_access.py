"""Who may come in: how often one may be wrong, which host is this machine, whose page asks."""

import pytest

from gossamer.core.access import Role
from gossamer.policy.origins import is_loopback, is_same_origin
from gossamer.policy.sign_in import SignInState, is_forgotten, note_wrong_token, wait_before_try


def wrong_at(*times):
    state = SignInState()
    for at in times:
        state = note_wrong_token(state, at)
    return state


def test_the_sixth_try_waits_a_minute_from_the_fifth():
    assert wait_before_try(wrong_at(0.0, 1.0, 2.0, 3.0), 3.0) == 0.0
    five = wrong_at(0.0, 1.0, 2.0, 3.0, 4.0)
    assert wait_before_try(five, 4.0) == 60.0
    assert wait_before_try(five, 63.0) == 1.0
    assert wait_before_try(five, 64.0) == 0.0


def test_what_was_long_ago_counts_no_longer():
    slow = wrong_at(0.0, 30.0, 60.0, 90.0, 120.0, 150.0)
    assert wait_before_try(slow, 150.0) == 0.0
    assert len(wrong_at(*range(1000)).wrong_at) <= 5
    assert is_forgotten(SignInState(), 0.0)
    assert not is_forgotten(wrong_at(5.0), 64.9)
    assert is_forgotten(wrong_at(5.0), 65.0)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[
            (host, True)
            for host in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.8.0.1:9", "[::1]:8787", "::1")
        ],
        *[("::ffff:127.0.0.1", True), ("[::ffff:127.0.0.1]:8787", True), ("::ffff:10.0.0.1", False)],
        *[(host, False) for host in ("", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example")],
        *[(host, False) for host in ("127.0.0.1:80.evil.example", "[::1]evil.example", "localhost:x", ":")],
        *[(host, False) for host in ("0.0.0.0", "192.168.0.1:80", "[::]", "[", "127.1", "2130706433")],
    ],
)
def test_only_names_that_cannot_lead_elsewhere_are_this_machine(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("origin", "site", "expected"),
    [
        (None, None, True),
        ("http://a:1", None, True),
        ("https://A:1", None, True),
        ("http://a:2", None, False),
        ("http://b:1", None, False),
        ("null", None, False),
        ("", None, False),
        ("file://a:1", None, False),
        ("http://b:1", "same-origin", True),
        (None, "none", True),
        ("http://a:1", "cross-site", False),
        ("http://a:1", "same-site", False),
        (None, "", False),
    ],
)
def test_a_page_of_another_origin_is_told_apart(origin, site, expected):
    assert is_same_origin("a:1", origin, site) is expected


def test_a_role_may_what_those_before_it_may():
    allowed = [[role.covers(needed) for needed in Role] for role in Role]
    assert allowed == [[True, False, False], [True, True, False], [True, True, True]]
