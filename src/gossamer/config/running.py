"""Settings of a fleet, its broker and the log."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gossamer.config.section import BaseSettings, Name, Seconds
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE, SEED_LANE


def _check_lane(lane: str) -> str:
    if lane == SEED_LANE:
        raise ValueError(f"{SEED_LANE!r} is the lane of the shifts that add a job's first requests")
    if lane == EXTRACT_LANE:
        raise ValueError(f"{EXTRACT_LANE!r} is the lane of pages that are archived: every fleet has it")
    return lane


LaneName = Annotated[Name, AfterValidator(_check_lane)]


class BrokerSettings(BaseSettings):
    """The broker of a cluster, which brings commands to its workers."""

    url: str | None = Field(
        default=None,
        description="`redis://HOST/DB`, `redis+sentinel://HOST,HOST/NAME/DB` or `amqp://USER@HOST/VHOST`; by "
        "default the Redis of the frontier.",
    )


class ClusterSettings(BaseSettings):
    """How a fleet of workers works on its jobs."""

    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = Field(
        default="default",
        description="The fleet's name: workers and supervisors with the same name work together.",
    )
    lanes: Annotated[tuple[LaneName, ...], Field(min_length=1)] = Field(
        default=(PAGE_LANE,),
        description="The lanes of the fleet: the kinds of workers that a request may ask for "
        "(`Request(lane=...)`). A request for any other lane is refused; a worker serves all of them, unless "
        "`--lanes` says otherwise.",
    )
    shift: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Maximum length of a shift, a period in which a worker works on one job, in seconds.",
    )
    drain: Seconds = Field(
        default=20.0,
        description="Maximum seconds in which a stopping worker finishes its requests in flight.",
    )


class MetricsSettings(BaseSettings):
    """Metrics exported to Prometheus."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        default=None,
        description="The port at which a process of a crawl or a fleet serves its metrics, for Prometheus; "
        "without one it serves none.",
    )
    host: Annotated[str, Field(pattern=r"^[0-9A-Fa-f.:]+$")] = Field(
        default="127.0.0.1",
        description="The address on which metrics are served; `0.0.0.0` is every address of this machine. "
        "The endpoint has no authentication.",
    )


class TraceSettings(BaseSettings):
    """Traces of OpenTelemetry."""

    enabled: bool = Field(
        default=False,
        description="Whether each visit is a trace of OpenTelemetry, for the SDK that the process has.",
    )


class LogSettings(BaseSettings):
    """Log levels, formats and destinations."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level of messages that are logged."
    )
    format: Literal["text", "json"] = Field(
        default="text",
        description="How lines are written: `text` for people, `json` for programs, one object a line "
        "([its fields](logs.md)).",
    )
    file: str | None = Field(default=None, description="A file to log to, in addition to stderr.")
    sinks: tuple[Name, ...] = Field(
        default=(),
        description="Sinks of installed packages that also receive the events, by their names.",
    )
