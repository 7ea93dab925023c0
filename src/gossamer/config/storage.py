"""Settings of the places where requests and results are kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, Seconds


class FrontierSettings(BaseSettings):
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


class StoreSettings(BaseSettings):
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


class RedisSettings(BaseSettings):
    """How Redis is used."""

    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="gossamer", description="The first part of every key, for a Redis that others use, too."
    )
    require_durable: bool = Field(
        default=True,
        description="Whether a Redis that forgets (an eviction policy, no append-only file) is refused.",
    )


class SqliteSettings(BaseSettings):
    """How SQLite writes."""

    synchronous: Literal["normal", "full"] = Field(
        default="normal",
        description="`full` survives a loss of power without losing the last commits, and is slower; "
        "both survive a crash of the process.",
    )
