"""Settings of a fleet, its broker and the log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Seconds


class BrokerSettings(BaseSettings):
    """How the workers of a cluster are told what to do."""

    url: str | None = Field(
        default=None,
        description="`redis://HOST/DB` or `amqp://USER@HOST/VHOST`; by default the Redis of the frontier.",
    )


class ClusterSettings(BaseSettings):
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


class LogSettings(BaseSettings):
    """What is logged, and where to."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important messages that are shown."
    )
    file: str | None = Field(default=None, description="A file to log to as well as to stderr.")
