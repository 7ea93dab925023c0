"""Settings of a fleet, its broker and the log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Name, Seconds


class BrokerSettings(BaseSettings):
    """How the workers of a cluster are told what to do."""

    url: str | None = Field(
        default=None,
        description="`redis://HOST/DB` or `amqp://USER@HOST/VHOST`; by default the Redis of the frontier.",
    )


class ClusterSettings(BaseSettings):
    """How a fleet of workers works on its jobs."""

    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="default",
        description="The fleet's name: workers and supervisors with the same name work together.",
    )
    shift: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Maximum length of a shift, a period in which a worker works on one job, in seconds.",
    )
    drain: Seconds = Field(
        default=20.0,
        description="Maximum seconds in which a worker that is told to stop finishes what it has in hand.",
    )


class LogSettings(BaseSettings):
    """What is logged, and where."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level of messages that are logged."
    )
    file: str | None = Field(default=None, description="A file to log to, in addition to stderr.")
    sinks: tuple[Name, ...] = Field(
        default=(),
        description="Sinks of installed packages that are given the events, too, by their names.",
    )
