"""A site of many pages whose rates of change are known, looked at for a year of virtual time."""

from dataclasses import dataclass
from heapq import heapify, heapreplace
from random import Random

from msgspec.structs import replace

from gossamer.core.freshness import KnownPage
from gossamer.policy.freshness import (
    DAY_S,
    CheckedPage,
    FreshnessRules,
    fit_rules,
    note_check,
    prior_for,
    prior_of,
    rate_class_of,
)

WEB = ((0.23, 1.0), (0.15, 7.0), (0.16, 30.0), (0.16, 120.0), (0.30, 720.0))
"""Shares of pages, and days between their changes: Cho and Garcia-Molina, "The evolution of the web"."""


def web_rates(pages, random):
    """Changes a day of each page, as on the web of that study, each within a factor of two of its group's."""
    shares, days = zip(*WEB, strict=True)
    return [2 ** random.uniform(-1, 1) / random.choices(days, shares)[0] for _ in range(pages)]


def log_normal_rates(pages, random):
    """Changes a day of each page: the middle one changes once in 100 days, one in six more than weekly."""
    return [random.lognormvariate(-4.6, 2.6) for _ in range(pages)]


@dataclass
class YearResult:
    """Results of a year of visits to the site."""

    checks: int
    found: int  # checks that met a page which had changed


class ChangingSite:
    """Pages that change as Poisson processes; the same seed gives the same changes to everybody."""

    def __init__(self, rates, seed):
        self.rates = rates
        self._random = Random(seed)
        self._next = [self._random.expovariate(rate) for rate in rates]
        self.versions = [0] * len(rates)

    def look(self, number, day):
        """The version of a page on a day. Changes have no memory: those in between need not be drawn."""
        if self._next[number] <= day:
            self.versions[number] += 1
            self._next[number] = day + self._random.expovariate(self.rates[number])
        return self.versions[number]


def look_at_intervals(rates, checks, days, seed=1):
    """Visit every page equally often, with this many checks in all."""
    site, between = ChangingSite(rates, seed), days * len(rates) / checks
    found = made = 0
    for number in range(len(rates)):
        day = between * (number + 1) / len(rates)
        version = 0
        while day < days:
            made += 1
            now = site.look(number, day)
            found += now != version
            version = now
            day += between
    return YearResult(made, found)


def look_when_due(rates, per_day, days, seed=1, longest=90):
    """Pages are looked at when the policy calls them due, with a budget of checks a day."""
    site = ChangingSite(rates, seed)
    bounds = FreshnessRules(min_interval_s=3600.0, max_interval_s=longest * DAY_S, prior=prior_for(7 * DAY_S))
    rules = bounds
    pages = [
        note_check(_page(number), CheckedPage(at=1.0, job="first", body_hash=0), rules)
        for number in range(len(rates))
    ]
    classes = {}
    for page in pages:
        _count(classes, page, 1)
    rules = fit_rules(classes, bounds, per_day)
    # The first looks are spread over as long as one round takes.
    queue = [(number / per_day, number) for number in range(len(rates))]
    heapify(queue)
    made = found = 0
    tomorrow = 1.0
    while queue[0][0] < days:
        day, number = queue[0]
        if day >= tomorrow:
            tomorrow = day + 1.0
            rules = fit_rules(classes, replace(bounds, prior=prior_of(classes, bounds.prior)), per_day)
        page = pages[number]
        seen = CheckedPage(at=1.0 + day * DAY_S, job="again", body_hash=site.look(number, day))
        made += 1
        found += seen.body_hash != page.body_hash
        _count(classes, page, -1)
        page = pages[number] = note_check(page, seen, rules)
        _count(classes, page, 1)
        heapreplace(queue, ((page.due_at - 1.0) / DAY_S, number))
    return YearResult(made, found)


def _page(number):
    return KnownPage(
        fingerprint=number, url="http://a/", host="a", request="p/", due_at=0.0, rate=prior_for(DAY_S)
    )


def _count(classes, page, change):
    number = rate_class_of(page.rate)
    classes[number] = classes.get(number, 0) + change
    if not classes[number]:
        del classes[number]
