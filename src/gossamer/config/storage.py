"""Settings of the places where requests and results are kept."""

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, Seconds


class FrontierSettings(BaseSettings):
    """Where the requests of a crawl are kept."""

    url: str | None = Field(
        default=None,
        description="`sqlite:///FILE`, `redis://HOST/DB`, `redis+sentinel://HOST,HOST/NAME/DB` or "
        "`redis+cluster://HOST` (`rediss` in place of `redis` is over TLS), or a URL of another scheme that "
        "an installed package supports; by default `gossamer.db` in the data directory.",
    )
    lease_ttl: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Seconds that a worker has for a request before the request is handed out again.",
    )
    shards: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1,
        description="Number of parts of a frontier in Redis, which may be on several nodes; a host belongs "
        "to one part.",
    )
    dedup: Literal["exact", "bloom"] = Field(
        default="exact",
        description="How a frontier in Redis recognizes known URLs; `bloom` needs less memory and loses a "
        "few pages.",
    )
    seen_ttl: Seconds | None = Field(
        default=None,
        description="Seconds after which a known URL is accepted again (Redis); never if not set.",
    )
    expected: Count = Field(
        default=1_000_000,
        description="Expected number of URLs of a crawl; a frontier in Redis is sized for it.",
    )
    keep: Seconds | None = Field(
        default=30 * 86_400.0,
        description="How long Redis keeps the requests of a fleet's job after its end, in seconds; `none` "
        "is forever. Pages, items and the ledger stay.",
    )


class StoreSettings(BaseSettings):
    """Where items, pages and the ledger are kept."""

    url: str | None = Field(
        default=None,
        description="`sqlite:///FILE`, `postgresql://USER@HOST/DATABASE` or `mongodb://HOST/DATABASE`, or a "
        "URL of another scheme that an installed package supports; by default `gossamer.db` in the data "
        "directory.",
    )
    min_interval: Seconds = Field(
        default=0.0,
        description="Minimum seconds between two changes of an item.",
    )
    history: bool = Field(
        default=False,
        description="Whether all former versions of items are kept; those that another job saw are anyway.",
    )
    ledger_days: Count | None = Field(
        default=None,
        description="Number of days for which the ledger keeps attempts; forever if not set.",
    )
    seen_resolution: Seconds = Field(
        default=3600.0,
        description="An item that is found again as it was is written again only if it was last seen longer "
        "ago than this, in seconds; 0 is each time (PostgreSQL, MongoDB).",
    )
    patience: Seconds = Field(
        default=60.0,
        description="How long to wait for an unreachable store, in seconds (PostgreSQL, MongoDB).",
    )


class RedisSettings(BaseSettings):
    """How Redis is used."""

    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="gossamer", description="The first part of every key, for a Redis that others use too."
    )
    require_durable: bool = Field(
        default=True,
        description="Whether Redis is refused if it may lose data (an eviction policy, no append-only file).",
    )


class SqliteSettings(BaseSettings):
    """How SQLite writes."""

    synchronous: Literal["normal", "full"] = Field(
        default="normal",
        description="`full` keeps even the last commits when the power fails, and is slower; both keep all "
        "commits when the process crashes.",
    )
