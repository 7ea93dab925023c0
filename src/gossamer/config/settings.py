"""Every setting: its type, default, bounds and meaning, in one place.

The reference in the documentation is generated from these descriptions. Durations are seconds, sizes
bytes. Types are strict (``"5"`` is no number, ``true`` is no count): what comes as text, from the command
line or the environment, was parsed before it gets here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.fields import FieldInfo

from gossamer.policy.urls import TRACKING_PARAMETERS
from gossamer.version import __version__

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Pattern = str
Name = Annotated[str, Field(pattern=r"^[^,&=\s]+$")]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]  # RFC 9110, 5.6.2
HeaderText = Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]


class Section(BaseModel):
    """The base of all settings: frozen, strict about names and types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class HttpSettings(Section):
    """How pages are fetched over HTTP."""

    connect_timeout: Seconds = Field(default=10.0, description="Seconds to look up, connect and finish TLS.")
    headers_timeout: Seconds = Field(default=20.0, description="Seconds until the whole header has arrived.")
    read_timeout: Seconds = Field(default=20.0, description="Seconds a body may stall.")
    total_timeout: Seconds = Field(default=120.0, description="Seconds for one response as a whole.")
    max_size_bytes: Count = Field(
        default=32 * 1024 * 1024, description="Bytes a body may have after decoding; larger ones are refused."
    )
    max_redirects: int = Field(
        default=10, ge=0, description="Redirects in a row before a request is given up."
    )
    insecure_hosts: tuple[str, ...] = Field(
        default=(), description="Hosts whose certificates are not checked; all others are."
    )
    tls: Literal["modern", "compatible"] = Field(
        default="modern",
        description="`compatible` also connects to old servers: TLS 1.0 and 1.1, RSA key exchange, SHA-1, "
        "small keys, unsafe legacy renegotiation. Certificates are checked all the same.",
    )
    headers: dict[HeaderName, HeaderText] = Field(
        default={}, description="Headers sent with every request, by name."
    )


class ParseSettings(Section):
    """How pages are taken apart, and what one page may cost."""

    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=5.0,
        description="CPU seconds that a separate process may spend on checking one suspicious page; a page "
        "that needs more becomes a dead letter (`parse_timeout`). How busy the machine is does not matter.",
    )
    max_memory_mb: Annotated[int, Field(ge=128)] = Field(
        default=512,
        description="Address space of the process that checks suspicious pages, in megabytes; a page that "
        "needs more becomes a dead letter (`parse_timeout`).",
    )
    max_inline_bytes: Count = Field(
        default=3 * 1024 * 1024,
        description="Bodies of more bytes than this are first checked in a separate process; smaller ones "
        "too if they have very many tags.",
    )
    max_depth: Count = Field(
        default=256,
        description="Depth to which elements are kept in a page that is nested much too deeply; it is "
        "flagged `parse_truncated`, and keeps its text and its links.",
    )
    max_tags: Count = Field(
        default=400_000,
        description="Maximum number of elements of one page that is checked; the rest is left out, and the "
        "page is flagged `parse_truncated`. What comes after 12 million characters is left out, too.",
    )
    max_links: Count = Field(
        default=50_000,
        description="Links taken from one page, and requests or items that one callback may give; "
        "it is stopped there.",
    )
    callback_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Seconds a callback may take. One that neither yields nor awaits cannot be stopped, "
        "but is reported.",
    )


class FrontierSettings(Section):
    """Where the requests of a crawl are kept."""

    url: str | None = Field(
        default=None,
        description="`sqlite:///FILE` or `redis://HOST/DB` (`rediss://` with TLS, `redis+cluster://` for a "
        "Redis Cluster); by default `gossamer.db` in the data directory.",
    )
    lease_ttl: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=60.0, description="Seconds a worker has for one request before it is handed out again."
    )
    shards: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1,
        description="Parts of a frontier in Redis, which may be on several nodes; a host is in one.",
    )
    dedup: Literal["exact", "bloom"] = Field(
        default="exact",
        description="How a frontier in Redis knows URLs again; `bloom` is smaller and loses a few pages.",
    )
    seen_ttl: Seconds | None = Field(
        default=None,
        description="Seconds after which a known URL is accepted again (Redis); none is never.",
    )
    expected: Count = Field(
        default=1_000_000,
        description="URLs that a crawl is expected to know; a frontier in Redis is laid out for so many.",
    )
    keep: Seconds | None = Field(
        default=30 * 86_400.0,
        description="Seconds after the end of a fleet's job for which Redis keeps its requests; none is for "
        "ever. Pages, items and the ledger stay.",
    )


class StoreSettings(Section):
    """Where items, pages and the ledger are kept."""

    url: str | None = Field(
        default=None,
        description="`sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`; by default `gossamer.db` in the "
        "data directory.",
    )
    min_interval: Seconds = Field(
        default=0.0,
        description="Seconds for which an item that has just changed is not changed again (PostgreSQL).",
    )
    history: bool = Field(
        default=False,
        description="Whether all former versions of items are kept (PostgreSQL); the values that another job "
        "saw are kept in any case.",
    )
    ledger_days: Count | None = Field(
        default=None, description="Days that the ledger keeps (PostgreSQL); none is all."
    )
    patience: Seconds = Field(
        default=60.0, description="Seconds for which a store that is away is waited for (PostgreSQL)."
    )


class BrokerSettings(Section):
    """How the workers of a cluster are told what to do."""

    url: str | None = Field(
        default=None,
        description="`redis://HOST/DB` or `amqp://USER@HOST/VHOST`; by default the Redis of the frontier.",
    )


class RedisSettings(Section):
    """How Redis is used."""

    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="gossamer", description="The first part of every key, for a Redis that others use, too."
    )
    require_durable: bool = Field(
        default=True,
        description="Whether a Redis that forgets (an eviction policy, no append-only file) is refused.",
    )


class ClusterSettings(Section):
    """How a fleet of workers goes about its jobs."""

    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="default", description="The fleet's name: workers and supervisors of one name work together."
    )
    shift: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=60.0, description="Most seconds of one shift of a worker on one job."
    )
    drain: Seconds = Field(
        default=20.0, description="Seconds that a worker told to end has to finish what it has in hand."
    )


class ReplaySettings(Section):
    """Crawling saved pages instead of the network."""

    folder: str | None = Field(
        default=None,
        description="Folder of saved pages; when set, pages come from there and no host is contacted.",
    )
    rules: dict[str, str] = Field(
        default={},
        description="URL template to file template, as `https://shop.example/page/{n}/` to `{n}.html`.",
    )


class SqliteSettings(Section):
    """How SQLite writes."""

    synchronous: Literal["normal", "full"] = Field(
        default="normal",
        description="`full` survives a loss of power without losing the last commits, and is slower; "
        "both survive a crash of the process.",
    )


class TrapSettings(Section):
    """What keeps a site that never ends to a budget; counts are of one run of one process."""

    max_segments: Count | None = Field(
        default=20, description="Segments that the path of a URL may have; none is no limit."
    )
    max_repeats: Count | None = Field(
        default=2, description="How often a segment of a path may follow itself; none is no limit."
    )
    max_same_body: Count | None = Field(
        default=1000, description="Pages of a host with the same content whose links are followed."
    )
    max_per_pattern: Count | None = Field(
        default=None, description="URLs of a host that differ only in numbers and values; none is no limit."
    )
    max_per_domain: Count | None = Field(
        default=None, description="URLs of one registrable domain, its hosts together; none is no limit."
    )


class LogSettings(Section):
    """What is logged, and where to."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important messages that are shown."
    )
    file: str | None = Field(default=None, description="A file to log to as well as to stderr.")


class Settings(Section):
    """All settings of one crawl."""

    delay: Seconds | None = Field(
        default=None,
        description="Seconds between two starts at one host; none follows the host's response time.",
    )
    min_delay: Seconds = Field(default=0.1, description="Least seconds of the delay that follows the host.")
    max_delay: Seconds = Field(default=30.0, description="Most seconds of the delay that follows the host.")
    per_host: Count = Field(default=1, description="Requests in flight at one host.")
    concurrency: Count = Field(default=64, description="Requests in flight; processes share them.")
    processes: Count = Field(default=1, description="Processes of this machine that work on the crawl.")
    max_pages: Count | None = Field(default=None, description="Pages of the whole crawl; none is no limit.")
    max_pages_per_host: Count | None = Field(default=None, description="Pages of one host; none is no limit.")
    max_depth: int | None = Field(default=None, ge=0, description="Hops from a seed; none is no limit.")
    max_time: Seconds | None = Field(default=None, description="Seconds the crawl may run; none is no limit.")
    robots: bool = Field(default=True, description="Whether robots.txt is obeyed.")
    contact: HeaderText = Field(
        default="", description="A URL or mail address for the owners of the sites; part of the User-Agent."
    )
    user_agent: HeaderText = Field(
        default="",
        description="The User-Agent header; by default `gossamer/VERSION (+CONTACT)`.",
    )
    max_retries: int = Field(
        default=3, ge=0, description="Failures of a request before it becomes a dead letter."
    )
    retry_backoff: Seconds = Field(
        default=1.0, description="Seconds before the first retry; doubled for each further one."
    )
    retry_backoff_cap: Seconds = Field(default=300.0, description="Most seconds between two retries.")
    retry_after_cap: Seconds = Field(
        default=3600.0, description="Most seconds a Retry-After header is honoured for."
    )
    host_patience: Seconds = Field(
        default=21_600.0,
        description="How long a host that has answered before may be silent, or refuse everything, until its "
        "requests become dead letters, in seconds. Meanwhile it is asked again about once a minute.",
    )
    crawl_delay_cap: Seconds = Field(
        default=30.0, description="Most seconds a Crawl-delay in robots.txt is honoured for."
    )
    tracking_params: tuple[Name, ...] = Field(
        default=tuple(word for line in TRACKING_PARAMETERS for word in line.split()),
        description="Query parameters that do not change the page and are dropped from links; "
        "`*` at the end stands for any ending, as in `utm_*`.",
    )
    sort_query: bool = Field(
        default=False, description="Whether URLs that differ only in the order of their query are one page."
    )
    unescape: bool = Field(
        default=False,
        description="Whether URLs that differ only in needless escapes (`%7e`, `~`) are one page.",
    )
    drop_session_ids: bool = Field(
        default=False,
        description="Whether parameters that usually name a visit (`PHPSESSID`) are dropped too.",
    )
    include: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions; when given, only URLs that match one of them are followed.",
    )
    exclude: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions; URLs that match one of them are not followed."
    )
    deny_extensions: tuple[Name, ...] = Field(
        default=(), description="Suffixes of paths (`pdf`, `zip`) that are not followed, whoever asks."
    )
    follow_nofollow: bool = Field(
        default=False, description="Whether links marked `nofollow` (on the link or the page) are followed."
    )
    data: str = Field(
        default=".gossamer",
        min_length=1,
        description="The data directory, for the database and what else is kept.",
    )
    http: HttpSettings = Field(default=HttpSettings(), description="Fetching over HTTP.")
    parse: ParseSettings = Field(default=ParseSettings(), description="Taking pages apart.")
    frontier: FrontierSettings = Field(default=FrontierSettings(), description="The requests of a crawl.")
    store: StoreSettings = Field(default=StoreSettings(), description="Items, pages and the ledger.")
    broker: BrokerSettings = Field(default=BrokerSettings(), description="The broker of a cluster.")
    redis: RedisSettings = Field(default=RedisSettings(), description="Redis.")
    cluster: ClusterSettings = Field(default=ClusterSettings(), description="Fleets of workers.")
    replay: ReplaySettings = Field(
        default=ReplaySettings(), description="Saved pages instead of the network."
    )
    sqlite: SqliteSettings = Field(default=SqliteSettings(), description="SQLite.")
    traps: TrapSettings = Field(default=TrapSettings(), description="Sites that never end.")
    log: LogSettings = Field(default=LogSettings(), description="Logging.")

    @field_validator("include", "exclude")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return patterns

    @model_validator(mode="before")
    @classmethod
    def _introduce(cls, data: Any) -> Any:
        """An honest User-Agent names the program and how to reach its operator."""
        if not isinstance(data, dict) or data.get("user_agent"):
            return data
        contact = data.get("contact")
        return {**data, "user_agent": f"gossamer/{__version__}" + (f" (+{contact})" if contact else "")}

    @model_validator(mode="after")
    def _bounds(self) -> Settings:
        if self.min_delay > self.max_delay:
            raise ValueError(f"min_delay ({self.min_delay}) is greater than max_delay ({self.max_delay})")
        return self


@cache
def fields() -> Mapping[str, FieldInfo]:
    """Every setting by its full name (``http.max_redirects``), in the order of their definition."""
    found: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            found.update({f"{name}.{inner}": info for inner, info in section.model_fields.items()})
        else:
            found[name] = field
    return found
