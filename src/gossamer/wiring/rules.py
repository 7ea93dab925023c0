"""Turns settings into the rules of a frontier and of a job's admission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, SettingError
from gossamer.core.hosts import DomainRules, FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE
from gossamer.policy.blocks import BlockRules
from gossamer.targets.plan import plan_from, sections_under


def rules_of(settings: Settings, *, touches_network: bool = True) -> FrontierRules:
    """Return the frontier's rules by the settings. Without a network, politeness does not apply."""
    polite = touches_network or settings.delay is not None
    return FrontierRules(
        delay_s=settings.delay if polite else 0.0,
        min_delay_s=settings.min_delay,
        max_delay_s=settings.max_delay,
        initial_delay_s=min(max(FrontierRules().initial_delay_s, settings.min_delay), settings.max_delay),
        per_host=settings.per_host if touches_network else settings.concurrency,
        crawl_delay_cap_s=settings.crawl_delay_cap,
        retry_after_cap_s=settings.retry_after_cap,
        backoff_base_s=settings.retry_backoff,
        backoff_cap_s=settings.retry_backoff_cap,
        max_retries=settings.max_retries,
        max_throttled=FrontierRules().max_throttled if touches_network else 0,
        host_patience_s=settings.host_patience,
        max_pages=settings.max_pages,
        max_pages_per_host=settings.max_pages_per_host,
        max_depth=settings.max_depth,
        random_delay=settings.random_delay,
        domains=_domain_rules_of(settings) if settings.domain and touches_network else {},
    )


def _domain_rules_of(settings: Settings) -> dict[str, DomainRules]:
    """Return the frontier's rules for single domains."""
    said = {
        domain.lower(): DomainRules(delay_s=own.delay, per_host=own.per_host, max_retries=own.max_retries)
        for domain, own in settings.domain.items()
    }
    return said if any(rules != DomainRules() for rules in said.values()) else {}


_RULES = {
    "delay": ("delay_s",),
    "random_delay": ("random_delay",),
    "min_delay": ("min_delay_s", "initial_delay_s"),
    "max_delay": ("max_delay_s", "initial_delay_s"),
    "per_host": ("per_host",),
    "crawl_delay_cap": ("crawl_delay_cap_s",),
    "retry_after_cap": ("retry_after_cap_s",),
    "retry_backoff": ("backoff_base_s",),
    "retry_backoff_cap": ("backoff_cap_s",),
    "max_retries": ("max_retries",),
    "host_patience": ("host_patience_s",),
    "max_pages": ("max_pages",),
    "max_pages_per_host": ("max_pages_per_host",),
    "max_depth": ("max_depth",),
}
"""The rules that a setting decides; the first one has its value."""


def settings_in(rules: FrontierRules) -> dict[str, Any]:
    """Return the settings that rules are made of, by their names."""
    return {name: getattr(rules, fields[0]) for name, fields in _RULES.items()}


def change_rules(rules: FrontierRules, options: Sequence[SettingOption]) -> tuple[FrontierRules, Settings]:
    """Rules with some settings changed, and settings that hold the new values.

    Raises ``SettingError`` for values that do not do, alone or together with the rules in force.
    """
    said = [SettingOption(name, value, f"{name} now") for name, value in settings_in(rules).items()]
    settings = load_settings(overrides=[*said, *options], env={}).settings
    wanted = rules_of(settings)
    fields = {field for option in options for field in _RULES.get(option.key, ())}
    return replace(rules, **{field: getattr(wanted, field) for field in fields}), settings


def block_rules_of(settings: Settings) -> BlockRules:
    """Return the rules that recognise a page of refusal."""
    blocks, ladder = settings.blocks, settings.ladder
    has_other_ways = len(ladder.rungs) > 1 or bool(ladder.hosts) or settings.proxies.are_there
    return BlockRules(
        is_detected=has_other_ways if blocks.detect is None else blocks.detect,
        marks=tuple(mark.lower().encode() for mark in blocks.marks),
    )


def lanes_of(settings: Settings, job: Job) -> tuple[str, ...]:
    """Return the lanes on which workers work on a job."""
    pages = page_lanes_of(settings, job)
    return (*pages, EXTRACT_LANE) if is_deferred(settings, job) else pages


def lanes_of_job(job: Job, own: Settings) -> tuple[str, ...]:
    """Return the lanes by this machine's settings; a job of the fleet has its own in its plan."""
    if not job.is_fleet:
        return lanes_of(own, job)
    try:
        return lanes_of(sections_under(plan_from(job.plan), own, "extract"), job)
    except OperatorError:
        return lanes_of(own, job)  # the worker of the job reports the error


def is_deferred(settings: Settings, job: Job) -> bool:
    """Whether other workers than those that fetch pages run their callbacks."""
    return job.is_fleet and settings.extract.deferred


def check_deferral(settings: Settings, *, is_fleet: bool) -> None:
    """Raise ``SettingError`` where callbacks are to run elsewhere, and cannot."""
    if not settings.extract.deferred:
        return
    if not is_fleet:
        raise SettingError(
            "extract.deferred is for crawls of a fleet: submit this one with `gossamer submit`, or crawl "
            "here with -s extract.deferred=false"
        )
    if settings.archive.url is None or not settings.archive.is_on:
        raise SettingError(
            "extract.deferred needs an archive that all workers reach: set archive.url to a folder that they "
            "share, or to s3://BUCKET/PREFIX"
        )


def page_lanes_of(settings: Settings, job: Job) -> tuple[str, ...]:
    """Return the lanes of a job's pages: a crawl on one machine serves only one."""
    return tuple(dict.fromkeys(settings.cluster.lanes)) if job.is_fleet else (PAGE_LANE,)
