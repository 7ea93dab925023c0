"""How often a page is worth another look: estimates that learn, intervals within bounds, a year that pays."""

import itertools
from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.freshness import KnownPage, RateEstimate
from gossamer.core.requests import Request
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.freshness import (
    BOUND_SHARE,
    DAY_S,
    GONE_S,
    CheckedPage,
    FreshnessRules,
    asks_same,
    brings_news,
    checks_per_day,
    choose_interval,
    choose_tempo,
    fit_rules,
    is_due,
    note_check,
    note_gone,
    note_unchanged,
    prior_for,
    prior_of,
    rate_class_of,
    update_rate,
)
from kit.changing_site import log_normal_rates, look_at_intervals, look_when_due, web_rates

RULES = FreshnessRules(min_interval_s=3600.0, max_interval_s=30 * DAY_S, prior=prior_for(7 * DAY_S))
NEW = KnownPage(
    fingerprint=1,
    url="http://a/",
    host="a",
    request="p/",
    due_at=5.0,
    rate=RateEstimate(shape=1.0, span_s=1.0),
)
rates = st.builds(RateEstimate, shape=st.floats(0.05, 1e4), span_s=st.floats(1.0, 1e9))


def moments_by_hand(rate, elapsed_s):
    """Mean and variance of the rate after a change was seen, by adding up a fine grid."""
    top = 60 * max(rate.per_s, 1 / rate.span_s)
    grid = [top * (step + 0.5) / 200_000 for step in range(200_000)]
    weights = [x ** (rate.shape - 1) * exp(-rate.span_s * x) * (1 - exp(-elapsed_s * x)) for x in grid]
    total = sum(weights)
    mean = sum(x * w for x, w in zip(grid, weights, strict=True)) / total
    return mean, sum((x - mean) ** 2 * w for x, w in zip(grid, weights, strict=True)) / total


@pytest.mark.parametrize("elapsed_s", [0.1, 1.0, 7.0, 400.0])
@pytest.mark.parametrize("shape", [0.5, 2.0, 30.0])
def test_a_change_moves_the_estimate_to_the_mean_and_the_variance_of_the_exact_posterior(shape, elapsed_s):
    rate = RateEstimate(shape=shape, span_s=3.0)
    after = update_rate(rate, elapsed_s, has_changed=True)
    mean, variance = moments_by_hand(rate, elapsed_s)
    assert after.per_s == pytest.approx(mean, rel=2e-3)
    assert after.shape / after.span_s**2 == pytest.approx(variance, rel=5e-3)


@given(rates, st.floats(1e-3, 1e9))
def test_a_change_makes_a_page_faster_and_no_change_makes_it_slower(rate, elapsed_s):
    assert update_rate(rate, elapsed_s, has_changed=True).per_s >= rate.per_s * (1 - 1e-6)
    assert update_rate(rate, elapsed_s, has_changed=False).per_s <= rate.per_s


@given(rates)
def test_a_check_without_time_in_between_tells_nothing(rate):
    assert update_rate(rate, 0.0, has_changed=True) == rate
    assert update_rate(rate, -5.0, has_changed=False) == rate


@pytest.mark.parametrize("per_day", [0.02, 0.5, 3.0, 20.0])
def test_the_estimate_finds_the_rate_although_a_check_sees_at_most_one_change(per_day):
    random, rate = Random(3), prior_for(7 * DAY_S)
    for _ in range(3000):
        rate = update_rate(rate, DAY_S / 4, has_changed=random.random() > exp(-per_day / 4))
    assert rate.per_s * DAY_S == pytest.approx(per_day, rel=0.25)


@given(rates)
def test_intervals_stay_within_their_bounds(rate):
    assert RULES.min_interval_s <= choose_interval(rate, RULES) <= RULES.max_interval_s


def test_a_page_that_changes_is_looked_at_sooner_and_one_that_does_not_later():
    page = note_check(NEW, CheckedPage(at=0.0, job="1", body_hash=1), RULES)
    at, steady, restless = 0.0, page, page
    for number in range(2, 20):
        at += DAY_S
        steady = note_check(steady, CheckedPage(at=at, job="1", body_hash=1), RULES)
        restless = note_check(restless, CheckedPage(at=at, job="1", body_hash=number), RULES)
    assert restless.interval_s < page.interval_s < steady.interval_s
    assert (steady.changes, restless.changes, steady.checks) == (0, 18, 19)
    assert not steady.has_changed
    assert restless.has_changed
    assert restless.due_at == at + restless.interval_s


def test_an_answer_without_a_body_keeps_what_is_known():
    page = note_check(NEW, CheckedPage(at=1.0, job="1", body_hash=7, etag='"a"', modified="then"), RULES)
    same = note_unchanged(page, CheckedPage(at=DAY_S, job="2"), RULES)
    assert (same.body_hash, same.etag, same.modified, same.job) == (7, '"a"', "then", "2")
    assert (same.checks, same.changes, same.checked_at) == (2, 0, DAY_S)
    assert same.interval_s > page.interval_s
    assert note_unchanged(page, CheckedPage(at=2.0, job="2", etag='"b"'), RULES).etag == '"b"'


def test_a_page_that_is_gone_is_asked_for_ever_more_rarely_and_may_come_back():
    page = note_check(NEW, CheckedPage(at=0.0, job="1", body_hash=7, etag='"a"'), RULES)
    at, intervals = 0.0, []
    gone = page
    for _ in range(12):
        at += DAY_S
        gone = note_gone(gone, CheckedPage(at=at, job="1"), RULES)
        intervals.append(gone.interval_s)
    assert gone.gone_at == DAY_S
    assert gone.etag == ""
    assert all(later == min(2 * sooner, GONE_S) for sooner, later in itertools.pairwise(intervals))
    back = note_check(gone, CheckedPage(at=at + 1, job="1", body_hash=7), RULES)
    assert back.gone_at is None
    assert back.has_changed
    assert back.interval_s <= RULES.max_interval_s


@pytest.mark.parametrize("value", [("a", "b"), {"b": (1,), "a": [{}]}, ["a"], "a"])
def test_what_a_link_brings_is_compared_as_it_is_kept(value):
    """A bug it would catch: a tuple is never the list that it was stored as, and its page is always due."""
    link = Request("http://a.example/p", "parse_it", cb_kwargs={"one": value}, meta={"two": value})
    kept = unpack_request(pack_request(link, "a.example"), "a.example")
    assert asks_same(link, kept)
    assert not brings_news(link, kept)
    assert brings_news(link.replace(cb_kwargs={"one": "other"}), kept)


def test_a_page_is_due_by_its_time_or_by_what_a_sitemap_says():
    page = replace(NEW, checks=1, checked_at=100.0, due_at=200.0)
    assert is_due(NEW, 0.0)  # nobody has seen it
    assert not is_due(page, 150.0)
    assert is_due(page, 200.0)
    assert is_due(page, 150.0, lastmod=120.0)
    assert not is_due(page, 250.0, lastmod=80.0)


@given(
    st.dictionaries(st.integers(-120, 20), st.integers(1, 1000), min_size=1, max_size=30),
    st.floats(0.001, 100_000),
)
def test_the_tempo_spends_the_budget_as_far_as_the_bounds_allow(classes, per_day):
    pages = sum(classes.values())
    least, most = pages * DAY_S / RULES.max_interval_s, pages * DAY_S / RULES.min_interval_s
    spent = checks_per_day(classes, replace(RULES, tempo=choose_tempo(classes, RULES, per_day)))
    assert spent == pytest.approx(min(max(per_day, least), most), rel=1e-3)


@given(
    st.dictionaries(st.integers(-120, 20), st.integers(1, 1000), min_size=1, max_size=30),
    st.floats(0.001, 100_000),
)
def test_the_upper_bound_gives_way_to_a_budget_that_is_too_small_for_it(classes, per_day):
    pages = sum(classes.values())
    fitted = fit_rules(classes, RULES, per_day)
    demanded = pages * DAY_S / RULES.max_interval_s
    assert (fitted.max_interval_s > RULES.max_interval_s) == (demanded > BOUND_SHARE * per_day * (1 + 1e-9))
    assert pages * DAY_S / fitted.max_interval_s <= BOUND_SHARE * per_day * (1 + 1e-9)
    spent = checks_per_day(classes, fitted)
    assert spent == pytest.approx(min(per_day, pages * DAY_S / RULES.min_interval_s), rel=1e-3)


def test_what_is_thought_of_new_pages_is_the_mean_of_the_known_ones():
    fallback = prior_for(DAY_S)
    assert prior_of({}, fallback) == fallback
    weekly, daily = (rate_class_of(RateEstimate(shape=1.0, span_s=n * DAY_S)) for n in (7, 1))
    mean = prior_of({weekly: 50, daily: 50}, fallback).per_s * DAY_S
    assert mean == pytest.approx((1 + 1 / 7) / 2, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("make_rates", "per_day", "gain"),
    [
        (web_rates, 200, 1.5),
        pytest.param(web_rates, 400, 1.7, marks=pytest.mark.thorough),
        pytest.param(log_normal_rates, 200, 1.5, marks=pytest.mark.thorough),
    ],
)
def test_a_year_of_ten_thousand_pages_finds_more_changes_than_a_fixed_interval(make_rates, per_day, gain):
    rates_a_day = make_rates(10_000, Random(7))
    adaptive = look_when_due(rates_a_day, per_day, 365)
    fixed = look_at_intervals(rates_a_day, adaptive.checks, 365)
    assert fixed.checks == pytest.approx(adaptive.checks, rel=0.01)
    assert adaptive.checks == pytest.approx(per_day * 365, rel=0.15)
    assert adaptive.found >= gain * fixed.found


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("per_day", [200, 400, 1000, 3000])
def test_it_does_so_at_other_budgets_and_with_other_changes(per_day, seed):
    rates_a_day = web_rates(10_000, Random(100 + seed))
    adaptive = look_when_due(rates_a_day, per_day, 365, seed, longest=365)
    fixed = look_at_intervals(rates_a_day, adaptive.checks, 365, seed)
    assert adaptive.found >= 1.5 * fixed.found
