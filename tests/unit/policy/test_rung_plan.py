"""Who decides by which rung a request is fetched."""

import pytest

from gossamer.core.requests import Request
from gossamer.core.rungs import explain_wrong_rung, way_of
from gossamer.policy.rung_plan import RungPlan

HOSTS = {
    "shop.test": "browser",
    "news.test": ("http", "gateway:zyte"),
    "news.test:8080": "http",
    "[::1]": "impersonate",
}


def rung(plan, host="a.test", **request):
    return plan.named_rung(Request(f"http://{host}/", **request), host)


def test_by_default_everything_climbs_a_ladder_of_one_rung():
    plan = RungPlan()
    assert rung(plan) == ""
    assert plan.rungs_for("a.test") == ("http",)
    assert plan.is_plain
    assert plan.climbs


def test_the_nearest_word_counts():
    plan = RungPlan(
        choice="impersonate",
        hosts=HOSTS,
        by_callback=lambda request: "gateway" if request.callback == "parse_price" else "",
    )
    assert rung(plan) == "impersonate"
    assert rung(plan, callback="parse_price") == "gateway"
    assert rung(plan, "shop.test", callback="parse_price") == "browser"
    assert rung(plan, "shop.test", fetch="http", callback="parse_price") == "http"
    assert rung(plan, "shop.test", fetch="auto") == ""


def test_a_host_stands_for_its_sub_domains_and_a_port_for_itself():
    plan = RungPlan(("http", "browser"), hosts=HOSTS)
    assert rung(plan, "shop.test") == rung(plan, "www.shop.test:8080") == "browser"
    assert rung(plan, "othershop.test") == ""
    assert rung(plan, "news.test:8080") == "http"
    assert rung(plan, "[::1]:81") == "impersonate"
    assert rung(plan, "news.test") == ""
    assert plan.rungs_for("de.news.test") == ("http", "gateway:zyte")
    assert plan.rungs_for("a.test") == ("http", "browser")


def test_a_host_with_a_ladder_of_its_own_climbs_whatever_the_others_do():
    assert rung(RungPlan(choice="browser", hosts=HOSTS), "news.test") == ""


def test_what_has_to_be_opened():
    plan = RungPlan(("http", "browser"), hosts=HOSTS, choice="http+mobile", named=["browser", "auto"])
    assert plan.all_rungs == ("http", "browser", "gateway:zyte")
    assert set(plan.named_rungs) == {"http+mobile", "browser", "http", "impersonate"}


@pytest.mark.parametrize(
    ("plan", "is_plain"),
    [
        (RungPlan(choice="http"), True),
        (RungPlan(("http", "browser"), choice="http"), True),
        (RungPlan(("http", "browser")), False),
        (RungPlan(choice="browser"), False),
        (RungPlan(("impersonate",)), False),
        (RungPlan(hosts={"a.test": "browser"}), False),
        (RungPlan(by_callback=lambda _: ""), False),
    ],
)
def test_plain(plan, is_plain):
    assert plan.is_plain is is_plain


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("http", "http"),
        ("browser+mobile", "browser"),
        ("gateway:zyte", "gateway:zyte"),
        ("gateway:zyte+residential", "gateway:zyte"),
    ],
)
def test_names_of_rungs(name, way):
    assert explain_wrong_rung(name) == ""
    assert way_of(name) == way


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("brwser", "'brwser' is not a rung (http, impersonate, browser, gateway); did you mean 'browser'?"),
        ("http+mobil", "'http+mobil' names no kind of proxy (datacenter, residential, mobile); did you mean"),
        ("http+", "names no kind of proxy"),
        ("http:x", "is not a rung"),
        ("gateway:", "is not a rung"),
        ("", "is not a rung"),
        ("auto", "is not a rung"),
    ],
)
def test_wrong_names_name_the_nearest(name, wrong):
    assert wrong in explain_wrong_rung(name)
