"""What users write for pages in a browser."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import Browsing, Click, Pdf, Press, Request, Screenshot, Scroll, Spider, Type, Wait
from gossamer.core.browsing import MAX_STEPS, CapturedResponse
from gossamer.core.errors import UsageError
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.redirects import follow_redirect

text = st.text(max_size=9)
word = st.text(min_size=1, max_size=9)
choice = st.sampled_from([None, True, False])
seconds = st.floats(0.001, 1e6) | st.integers(1, 99)
actions = st.one_of(
    st.builds(Click, word, optional=st.booleans(), human=choice),
    st.builds(Type, word, word, human=choice),
    st.builds(Press, word, text),
    st.builds(Scroll, st.booleans(), st.integers(1, 99), seconds, text, human=choice),
    st.builds(Wait, word),
    st.builds(Wait, seconds=seconds),
    st.builds(Wait, condition=word),
    st.builds(Click, word, popup=st.booleans()),
    st.builds(Screenshot, st.booleans()),
    st.builds(Pdf, st.booleans()),
)
browsings = st.builds(
    Browsing,
    wait_until=st.sampled_from(["commit", "domcontentloaded", "load", "networkidle"]),
    wait_for=text,
    wait_s=seconds | st.just(0),
    actions=st.lists(actions, max_size=5),
    script=text,
    capture=st.lists(text, max_size=3),
    step_timeout_s=seconds,
    dialogs=st.sampled_from(["dismiss", "accept"]),
    human=choice,
)


@pytest.mark.slow
@given(browser=browsings)
def test_it_comes_back_with_its_request(browser):
    request = Request("https://a/b", browser=browser)
    assert unpack_request(pack_request(request, "a"), "a") == request
    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request
    assert json.loads(json.dumps(msgspec.to_builtins(request)))["fetch"] == "browser"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Request("http://a/", browser={"wait_for": "h1"}), "a request's browser must be a Browsing"),
        (lambda: Browsing(actions="Click"), "actions of Browsing must be a list, not 'Click'"),
        (lambda: Browsing(actions=[Click("a"), "b"]), r"actions\[1\] of Browsing must be an action such as"),
        (lambda: Browsing(actions=[Click("a")] * (MAX_STEPS + 1)), "has 1,001 entries; there can be 1,000"),
        (lambda: Browsing(capture="*/api/*"), "capture of Browsing must be a list"),
        (lambda: Browsing(capture=[1]), r"capture\[0\] of Browsing must be a string, not 1"),
        (
            lambda: Browsing(wait_until="idle"),
            "domcontentloaded, load, networkidle, not 'idle'",
        ),
        (lambda: Browsing(wait_for=["h1"]), "wait_for of Browsing must be a string, not list"),
        (lambda: Browsing(wait_s=-1), "wait_s of Browsing must be a number of seconds, not -1"),
        (lambda: Browsing(wait_s=float("nan")), "must be a number of seconds"),
        (lambda: Browsing(step_timeout_s=0), "step_timeout_s of Browsing must be more than 0"),
        (lambda: Browsing(human="yes"), "human of Browsing must be True or False, not 'yes'"),
        (lambda: Browsing(dialogs="yes"), "dialogs of Browsing is one of dismiss, accept, not 'yes'"),
        (lambda: Wait(condition="a", seconds=1), "Wait takes either"),
        (lambda: Browsing(script=lambda page: None), "script must be a method of the spider or its name"),
        (lambda: Click(""), "selector of Click must not be empty"),
        (lambda: Click(None), "selector of Click must be a string, not NoneType"),
        (lambda: Type("#q", 1), "text of Type must be a string, not int"),
        (lambda: Scroll(max_scrolls=0), "max_scrolls of Scroll must be a whole number from 1, not 0"),
        (Wait, "Wait takes either"),
        (lambda: Wait("h1", seconds=1), "Wait takes either"),
    ],
)
def test_what_is_wrong_is_refused_where_it_is_written(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_the_way_that_a_request_names_stays():
    assert Request("http://a/", browser=Browsing()).fetch == "browser"
    assert Request("http://a/", browser=Browsing(), fetch="auto").fetch == "auto"
    assert Request("http://a/").fetch == ""


def test_a_redirect_leads_to_the_same_steps():
    request = Request("http://a/", browser=Browsing(wait_for="h1"))
    assert follow_redirect(request, "http://a/", 302, "/b", limit=3).browser == request.browser


def test_a_script_is_stored_by_its_name():
    class Menu(Spider):
        async def open_menu(self, page): ...

    assert Browsing(script=Menu().open_menu).script == "open_menu"


def test_what_is_typed_is_in_no_text():
    action = Type("#password", "hunter2")
    for shown in (repr(action), action.describe(), repr(Browsing(actions=[action]))):
        assert "hunter2" not in shown
    assert action.describe() == "type '#password'"


def test_a_captured_response_is_read_as_json():
    assert CapturedResponse(url="http://a/", status=200, body=b'{"n": 1}').json() == {"n": 1}
    with pytest.raises(ValueError, match="http://a/ is not JSON"):
        CapturedResponse(url="http://a/", status=200, body=b"<p>").json()
