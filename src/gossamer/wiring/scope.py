"""The scope of a crawl and the canonical form of its URLs, by the settings and a spider.

Separate from ``rules.py``, since commands that only look at jobs need no spider.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from gossamer.config.settings import Settings
from gossamer.core.shifts import BROWSER_LANE, PAGE_LANE
from gossamer.engine.admission import Admission
from gossamer.engine.trap_meter import TrapMeter
from gossamer.fetch.guard import place_of
from gossamer.fetch.routing.spending import SpendingMeter
from gossamer.policy import urls
from gossamer.policy.scope import Scope, domain_of
from gossamer.policy.traps import TrapCounter
from gossamer.policy.urls import UrlOptions
from gossamer.ports.clock import Clock
from gossamer.ports.router import Router
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.spider import Spider
from gossamer.wiring.trap_rules import trap_rules_of


def admission_of(
    settings: Settings,
    spider: Spider,
    key: bytes,
    lanes: Sequence[str] = (PAGE_LANE,),
    router: Router | None = None,
    *,
    meter: TrapMeter | None = None,
    spending: SpendingMeter | None = None,
    clock: Clock | None = None,
    authorized: Collection[str] = (),
) -> Admission:
    """Return the admission of a job's requests; ``lanes`` are those that a worker serves.

    With several lanes, ``router`` returns the lane of a request. ``meter`` knows traps, ``spending`` the
    budgets of patterns. ``clock`` is the frontier's, ``authorized`` are the origins of start URLs with
    credentials.
    """
    return Admission(
        scope_of(settings, spider),
        url_options_of(settings),
        key,
        lanes=lanes,
        max_depth=settings.max_depth,
        traps=TrapCounter(trap_rules_of(settings)),
        meter=meter,
        find_overrun=None if spending is None or not spending.rules.judges_links else spending.find_overrun,
        lane_for=router.lane_for if router is not None and BROWSER_LANE in lanes else None,
        takes_files=settings.replay.job is None,  # an archive has none
        now=None if clock is None else clock.now,
        authorized=authorized,
    )


def scope_of(settings: Settings, spider: Spider) -> Scope:
    """Return the scope of a spider's crawl."""
    return Scope(
        spider.allowed_domains,
        include=settings.include,
        exclude=settings.exclude,
        deny_extensions=settings.deny_extensions,
    )


def url_options_of(settings: Settings) -> UrlOptions:
    """Return the rules for the canonical form of URLs."""
    sessions = urls.SESSION_PARAMETERS if settings.drop_session_ids else ()
    return UrlOptions(
        drop_parameters=(*settings.tracking_params, *sessions),
        sort_query=settings.sort_query,
        unescape=settings.unescape,
        keep_fragments=settings.keep_fragments,
        fragment_domains=tuple((name.lower(), own.keep_fragments) for name, own in settings.domain.items()),
    )


def fragment_rule_of(settings: Settings) -> Callable[[str], bool] | None:
    """Return the rule for URLs that keep their fragments; ``None``: none does."""
    keeps_any = settings.keep_fragments or any(own.keep_fragments for own in settings.domain.values())
    return url_options_of(settings).keeps_fragment if keeps_any else None


def trusted_places(spider: Spider) -> frozenset[str]:
    """Return the hosts that the operator named, with their ports: they may have private addresses.

    A domain without a port covers all ports, except in the built-in spider, which takes it from a URL.
    """
    port = "80" if isinstance(spider, GenericSpider) else ""
    domains = (domain_of(entry) for entry in spider.allowed_domains)
    named = (*spider.start_urls, *([spider.login_url] if spider.login_url else ()))
    return frozenset(
        {":".join(filter(None, (host, said or port))) for host, said in domains} | set(map(place_of, named))
    )
