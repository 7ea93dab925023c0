"""Settings of the ladder: which ways to fetch a crawl may use, and when a host changes its own."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from gossamer.config.section import BaseSettings, Count, HostName, Seconds
from gossamer.core.rungs import AUTO, explain_wrong_rung


def _check_rung(rung: str) -> str:
    if wrong := explain_wrong_rung(rung):
        raise ValueError(wrong)
    return rung


def _check_choice(rung: str) -> str:
    return rung if rung == AUTO else _check_rung(rung)


def _check_ladder(rungs: tuple[str, ...]) -> tuple[str, ...]:
    for rung in rungs:
        if "," in rung:
            raise ValueError(f'{rung!r} is not a rung (a list of them is written ["http", "browser"])')
        _check_rung(rung)
        if rungs.count(rung) > 1:
            raise ValueError(f"{rung!r} is named twice")
    if not rungs:
        raise ValueError("a ladder needs a rung")
    return rungs


def _read_host(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _check_rung(value)
    if isinstance(value, list | tuple) and all(isinstance(rung, str) for rung in value):
        return _check_ladder(tuple(value))
    raise ValueError("should be a rung, or a list of rungs")


RungChoice = Annotated[str, AfterValidator(_check_choice)]
RungList = Annotated[tuple[str, ...], AfterValidator(_check_ladder)]
HostRungs = Annotated[str | tuple[str, ...], BeforeValidator(_read_host)]


class LadderSettings(BaseSettings):
    """Ways to fetch a page after a refusal, from the cheapest to the most expensive."""

    rungs: RungList = Field(
        default=("http",),
        description="The ways to fetch that the crawl may climb, the cheapest first: `http`, `impersonate`, "
        "`browser`, `gateway` or `gateway:NAME`, each with `+datacenter`, `+residential` or `+mobile` to go "
        "through a proxy of that kind. The last one is as far as a host may climb.",
    )
    hosts: dict[HostName, HostRungs] = Field(
        default={},
        description="Exceptions by host, which hold for its sub-domains too: the one rung that all its "
        "requests take (`browser`), or a list of rungs, which is a ladder of its own.",
    )
    climb_after: Count = Field(
        default=3,
        description="Number of requests in a row that look refused, without a sure mark, after which a host "
        "climbs; also the number of proxies that must be refused in a row before the rung is to blame.",
    )
    probe_after: Seconds = Field(
        default=3600.0,
        description="Seconds after which one request of a host tries the next cheaper rung again; doubled "
        "each time that it is refused.",
    )
    remember: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=604_800.0,
        description="How long what works on a host is remembered, for later crawls too, in seconds.",
    )
