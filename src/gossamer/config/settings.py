"""Every setting: its type, default, bounds and meaning, in one place.

The reference in the documentation is generated from these descriptions. Durations are seconds, sizes
bytes. Types are strict (``"5"`` is not a number, ``true`` is not a count): text from the command line or the
environment is parsed before it gets here.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin

from pydantic import Field, field_validator, model_validator
from pydantic.fields import FieldInfo

from gossamer.config.alerts import AlertSettings
from gossamer.config.blocks import BlockSettings
from gossamer.config.browser import BrowserSettings
from gossamer.config.budgets import BudgetSettings
from gossamer.config.dashboard import DashboardSettings
from gossamer.config.data import (
    ArchiveSettings,
    ExtractSettings,
    FileSettings,
    OutputSettings,
    QualitySettings,
    S3Settings,
)
from gossamer.config.domains import DomainSettings
from gossamer.config.fetching import CacheSettings, HttpSettings, ReplaySettings
from gossamer.config.freshness import FreshnessSettings
from gossamer.config.gateways import GatewaySettings
from gossamer.config.impersonate import ImpersonateSettings
from gossamer.config.ladder import LadderSettings, RungChoice
from gossamer.config.parsing import ParseSettings, TrapSettings
from gossamer.config.pipeline import DuplicateSettings, PipelineSettings
from gossamer.config.proxies import ProxySettings
from gossamer.config.running import (
    BrokerSettings,
    ClusterSettings,
    LogSettings,
    MetricsSettings,
    TraceSettings,
)
from gossamer.config.section import (
    BaseSettings,
    Count,
    HeaderText,
    HostName,
    Late,
    Name,
    Pattern,
    Seconds,
    SectionName,
    make_section,
)
from gossamer.config.sessions import SessionSettings
from gossamer.config.storage import FrontierSettings, RedisSettings, SqliteSettings, StoreSettings
from gossamer.core.errors import UsageError
from gossamer.policy.patterns import compile_pattern
from gossamer.policy.urls import TRACKING_PARAMETERS
from gossamer.version import __version__

DOMAIN = "domain"
"""The group of sections whose names have dots."""


class Settings(BaseSettings):
    """All settings of one crawl."""

    delay: Seconds | None = Field(
        default=None,
        description="Seconds between the starts of two requests to one host; if not set, the delay follows "
        "the host's response time.",
    )
    min_delay: Seconds = Field(
        default=0.1, description="Minimum seconds of a delay that follows the host's response time."
    )
    random_delay: bool = Field(
        default=False,
        description="Whether each delay is drawn from half to one and a half of it; a Crawl-delay, and what "
        "a host that throttles asks for, are never undercut.",
    )
    max_delay: Seconds = Field(
        default=30.0, description="Maximum seconds of a delay that follows the host's response time."
    )
    per_host: Count = Field(default=1, description="Maximum number of requests in flight to one host.")
    concurrency: Count = Field(
        default=64,
        description="Maximum number of requests in flight altogether; the processes of a crawl share them.",
    )
    processes: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1,
        description="Number of processes of this machine that work on a crawl; a fleet has workers instead.",
    )
    max_pages: Count | None = Field(
        default=None, description="Maximum number of pages of the whole crawl; unlimited if not set."
    )
    max_pages_per_host: Count | None = Field(
        default=None, description="Maximum number of pages of one host; unlimited if not set."
    )
    max_items: Count | None = Field(
        default=None,
        description="Maximum number of different items of the whole crawl; unlimited if not set.",
    )
    max_errors: Count | None = Field(
        default=None,
        description="Number of dead letters (requests given up) at which the crawl ends; unlimited if not "
        "set.",
    )
    max_depth: int | None = Field(
        default=None, ge=0, description="Maximum number of hops from a seed; unlimited if not set."
    )
    max_time: Seconds | None = Field(
        default=None, description="Maximum seconds that the crawl may run; unlimited if not set."
    )
    robots: bool = Field(default=True, description="Whether robots.txt is obeyed.")
    contact: HeaderText = Field(
        default="", description="A URL or mail address for site owners; it becomes part of the User-Agent."
    )
    user_agent: HeaderText = Field(
        default="",
        description="The User-Agent header; by default `gossamer/VERSION (+CONTACT)`.",
    )
    max_retries: int = Field(
        default=3, ge=0, description="Maximum number of retries before a request becomes a dead letter."
    )
    retry_backoff: Seconds = Field(
        default=1.0, description="Seconds before the first retry; doubled for each further one."
    )
    retry_backoff_cap: Seconds = Field(default=300.0, description="Maximum seconds before a retry.")
    retry_after_cap: Seconds = Field(
        default=3600.0,
        description="Maximum seconds for which a Retry-After header holds a host; longer ones are shortened.",
    )
    host_patience: Seconds = Field(
        default=21_600.0,
        description="How long a host that has answered before may be silent, or refuse everything, before "
        "its requests become dead letters, in seconds. Meanwhile it is tried again about once a minute.",
    )
    crawl_delay_cap: Seconds = Field(
        default=30.0,
        description="Maximum seconds of a Crawl-delay in robots.txt; longer ones are shortened.",
    )
    hooks: tuple[str, ...] = Field(
        default=(),
        description="Hooks that every request and answer passes after those of the spider, as `module:Name`.",
    )
    tracking_params: tuple[Name, ...] = Field(
        default=tuple(word for line in TRACKING_PARAMETERS for word in line.split()),
        description="Query parameters that do not change the page and are removed from URLs; "
        "`*` at the end stands for any ending, as in `utm_*`.",
    )
    sort_query: bool = Field(
        default=False,
        description="Whether URLs that differ only in the order of their query parameters are one page.",
    )
    unescape: bool = Field(
        default=False,
        description="Whether URLs that differ only in needless escapes (`%7e`, `~`) are one page.",
    )
    keep_fragments: bool = Field(
        default=False,
        description="Whether URLs that differ only in their fragments are different pages, as in "
        "applications with routes such as `#/items/5`, which a browser has to show. No server gets the "
        "fragment.",
    )
    drop_session_ids: bool = Field(
        default=False,
        description="Whether parameters that usually identify a visit (`PHPSESSID`) are removed too.",
    )
    include: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions; if there are any, only URLs that match one of them are followed. "
        "A search takes a time that grows with the URL and no faster, but for those with look-around or back "
        "references.",
    )
    exclude: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions; URLs that match one of them are not followed."
    )
    deny_extensions: tuple[Name, ...] = Field(
        default=(),
        description="Path suffixes (`pdf`, `zip`); URLs with one of them are not fetched, even if a spider "
        "requests them.",
    )
    follow_nofollow: bool = Field(
        default=False, description="Whether links marked `nofollow` (on the link or the page) are followed."
    )
    data: str = Field(
        default=".gossamer",
        min_length=1,
        description="The data directory: it holds the database and everything else that is kept.",
    )
    memory: bool = Field(
        default=False,
        description="Whether a crawl is kept in memory alone: it makes no files, and an unfinished crawl "
        "cannot be continued.",
    )
    fetch: RungChoice = Field(
        default="auto",
        description="The way to fetch of requests that do not name one: a rung, such as `impersonate` or "
        "`browser`; `auto` begins at the cheapest rung of `ladder.rungs` and climbs where a host refuses.",
    )
    domain: dict[HostName, Late[DomainSettings]] = Field(
        default={}, description="Settings for the hosts of one domain and its subdomains."
    )
    http: Late[HttpSettings] = make_section(HttpSettings, description="Fetching over HTTP.")
    blocks: Late[BlockSettings] = make_section(BlockSettings, description="Pages that refuse a visitor.")
    ladder: Late[LadderSettings] = make_section(
        LadderSettings, description="Ways to fetch a page after a refusal."
    )
    sessions: Late[SessionSettings] = make_section(
        SessionSettings, description="Identities for sites: cookies, proxy, browser profile."
    )
    browser: Late[BrowserSettings] = make_section(
        BrowserSettings, description="Fetching in a browser (the way to fetch `browser`)."
    )
    proxies: Late[ProxySettings] = make_section(ProxySettings, description="Proxies, and how they are used.")
    impersonate: Late[ImpersonateSettings] = make_section(
        ImpersonateSettings, description="Fetching as a browser would."
    )
    parse: Late[ParseSettings] = make_section(ParseSettings, description="Parsing of pages.")
    pipeline: Late[PipelineSettings] = make_section(
        PipelineSettings, description="The stages between a spider and the store."
    )
    duplicates: Late[DuplicateSettings] = make_section(
        DuplicateSettings, description="Pages with almost the same text."
    )
    frontier: Late[FrontierSettings] = make_section(FrontierSettings, description="The requests of a crawl.")
    store: Late[StoreSettings] = make_section(StoreSettings, description="Items, pages and the ledger.")
    broker: Late[BrokerSettings] = make_section(BrokerSettings, description="The broker of a cluster.")
    redis: Late[RedisSettings] = make_section(RedisSettings, description="Redis.")
    cluster: Late[ClusterSettings] = make_section(ClusterSettings, description="Fleets of workers.")
    replay: Late[ReplaySettings] = make_section(
        ReplaySettings, description="Saved pages instead of the network."
    )
    cache: Late[CacheSettings] = make_section(
        CacheSettings, description="Pages that are not fetched again while a spider is being written."
    )
    gateways: dict[SectionName, Late[GatewaySettings]] = Field(
        default={}, description="HTTP APIs that fetch pages for us, each by a name of its own."
    )
    budgets: Late[BudgetSettings] = make_section(BudgetSettings, description="Budgets of a crawl.")
    sqlite: Late[SqliteSettings] = make_section(SqliteSettings, description="SQLite.")
    archive: Late[ArchiveSettings] = make_section(
        ArchiveSettings, description="Answers of sites, as WARC files."
    )
    extract: Late[ExtractSettings] = make_section(ExtractSettings, description="When callbacks run.")
    files: Late[FileSettings] = make_section(
        FileSettings, description="Files and pictures that spiders request."
    )
    outputs: dict[SectionName, Late[OutputSettings]] = Field(
        default={}, description="Places to which items are written as they change, each by a name of its own."
    )
    scrapy: dict[str, Any] = Field(
        default={},
        description="Settings of Scrapy's own, by their names, for spiders that are written for Scrapy; "
        "`-s NAME=VALUE` adds one.",
    )
    s3: Late[S3Settings] = make_section(S3Settings, description="Buckets that speak S3.")
    freshness: Late[FreshnessSettings] = make_section(
        FreshnessSettings, description="Repeated visits to pages."
    )
    traps: Late[TrapSettings] = make_section(TrapSettings, description="Sites that never end.")
    dashboard: Late[DashboardSettings] = make_section(
        DashboardSettings, description="The dashboard and the HTTP API."
    )
    quality: Late[QualitySettings] = make_section(
        QualitySettings, description="Checks of the items of a job."
    )
    alerts: Late[AlertSettings] = make_section(AlertSettings, description="Notifications of problems.")
    log: Late[LogSettings] = make_section(LogSettings, description="Logging.")
    traces: Late[TraceSettings] = make_section(TraceSettings, description="Traces of visits.")
    metrics: Late[MetricsSettings] = make_section(MetricsSettings, description="Metrics for Prometheus.")

    @field_validator("include", "exclude")
    @classmethod
    def _check_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                compile_pattern(pattern)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return patterns

    @model_validator(mode="before")
    @classmethod
    def _fill_user_agent(cls, data: Any) -> Any:
        """An honest User-Agent names the program and how to reach its operator."""
        if not isinstance(data, dict) or data.get("user_agent"):
            return data
        contact = data.get("contact")
        return {**data, "user_agent": f"gossamer/{__version__}" + (f" (+{contact})" if contact else "")}

    @model_validator(mode="after")
    def _check_delays(self) -> Self:
        if self.min_delay > self.max_delay:
            raise ValueError(f"min_delay ({self.min_delay}) is greater than max_delay ({self.max_delay})")
        return self


@cache
def setting_fields() -> Mapping[str, FieldInfo]:
    """Every setting by its full name (``http.max_redirects``), in the order of their definition.

    Those of sections that users name themselves are in :func:`section_groups`.
    """
    found: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseSettings):
            found.update({f"{name}.{inner}": info for inner, info in section.model_fields.items()})
        else:
            found[name] = field
    return {name: field for name, field in found.items() if _named_section(field) is None}


def split_name(name: str) -> list[str]:
    """Split a full name; the name of a domain, as in ``domain.shop.example.delay``, is one part."""
    group, _, rest = name.partition(".")
    own, _, key = rest.rpartition(".")
    return [group, own, key] if group == DOMAIN and own else name.split(".")


@cache
def section_groups() -> Mapping[str, type[BaseSettings]]:
    """The settings of each section that users name themselves, by what its name begins with.

    ``gateways`` stands for ``[gateways.NAME]``.
    """
    found: dict[str, type[BaseSettings]] = {}
    for name, field in Settings.model_fields.items():
        fields = {name: field}
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseSettings):
            fields = {f"{name}.{key}": info for key, info in section.model_fields.items()}
        found.update({key: kind for key, info in fields.items() if (kind := _named_section(info))})
    return found


@cache
def section_names() -> frozenset[str]:
    """Return every section, and every table of sections that users name, by its full name."""
    names = {*section_groups()}
    for setting in setting_fields():
        *around, _ = setting.split(".")
        names.update(".".join(around[:length]) for length in range(1, len(around) + 1))
    return frozenset(names)


def find_field(name: str) -> FieldInfo | None:
    """Return the setting with a full name (``http.max_redirects``, ``gateways.zyte.price``), if any."""
    *around, key = split_name(name)
    group = ".".join(around[:-1])
    if group in section_groups():
        return section_groups()[group].model_fields.get(key)
    return setting_fields().get(name)


def _named_section(field: FieldInfo) -> type[BaseSettings] | None:
    """Return the class of the sections in a table of named sections; ``None`` for another setting."""
    if get_origin(field.annotation) is not dict:
        return None
    kind = get_args(field.annotation)[1]
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind if isinstance(kind, type) and issubclass(kind, BaseSettings) else None
