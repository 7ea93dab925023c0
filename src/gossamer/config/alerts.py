"""Settings of alerts: their thresholds and destinations."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gossamer.config.section import VARIABLE, BaseSettings, Late, Seconds, SectionName

Share = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[int, Field(ge=0)]
Address = Annotated[str, Field(pattern=r"^[^@\s,<>]+@[^@\s,<>]+$")]


class AlertTargetSettings(BaseSettings):
    """An alert destination."""

    kind: Literal["webhook", "email", "apprise"] = Field(
        default="webhook",
        description="The kind of message: a POST of JSON, a mail, or a service of Apprise (extra `alerts`).",
    )
    url_env: str = Field(
        default="",
        pattern=VARIABLE,
        description="The environment variable that holds the URL, since no setting holds a secret: of the "
        "webhook, of the mail server (`smtp://USER:PASSWORD@HOST:587`, `smtps://…`), of Apprise.",
    )
    sender: str = Field(default="", description="`email`: the address that mails come from.")
    to: tuple[Address, ...] = Field(default=(), description="`email`: the addresses that mails go to.")
    severities: tuple[Literal["needs_you", "takes_care", "know"], ...] = Field(
        default=("needs_you", "takes_care"),
        description="Severities to report: needs a person, recovers on its own, good to know.",
    )
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=10.0,
        description="Maximum seconds for an answer; a failed message is sent again for three days.",
    )

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if not self.url_env:
            raise ValueError("a target needs url_env, the environment variable that holds its URL")
        if self.kind == "email" and not (self.sender and self.to):
            raise ValueError("a target of the kind email needs sender and to")
        return self


class AlertSettings(BaseSettings):
    """Thresholds of alerts. A limit of 0 turns its rule off."""

    targets: dict[SectionName, Late[AlertTargetSettings]] = Field(
        default={}, description="Alert destinations, by name: `[alerts.targets.NAME]`."
    )
    holds: Seconds = Field(default=300.0, description="Seconds that a problem lasts before it is reported.")
    clears: Seconds = Field(
        default=60.0, description="Seconds without the problem before its end is reported."
    )
    window: Annotated[float, Field(ge=60, le=3600)] = Field(
        default=900.0, description="Seconds in which dead letters and failures are counted."
    )
    dead_letters: Limit = Field(default=20, description="New dead letters in the window.")
    dead_share: Share = Field(
        default=0.05, description="... if they are more than this share of the attempts."
    )
    host_failures: Share = Field(default=0.5, description="Share of the attempts at one host that fail.")
    host_attempts: Limit = Field(default=50, description="... of at least this many in the window.")
    no_items_pages: Limit = Field(default=100, description="Pages in a row without any item.")
    stalled: Seconds = Field(default=120.0, description="Seconds without an attempt, although work is due.")
    no_success: Seconds = Field(
        default=900.0, description="Seconds for which a host has given no good answer to requests."
    )
    growing: Limit = Field(
        default=10_000,
        description="Waiting requests of a job that has a tenth more of them than an hour ago.",
    )
    store_lag: Seconds = Field(default=5.0, description="Seconds that the store takes to answer.")
    budget: Share = Field(default=0.9, description="Share of a budget that is spent.")
    redis_memory: Share = Field(default=0.85, description="Share of `maxmemory` that Redis uses.")
    no_worker: Seconds = Field(default=120.0, description="Seconds that work is due and no worker takes it.")
    no_supervisor: Seconds = Field(default=60.0, description="Seconds without a supervisor that leads.")
    away: Seconds = Field(default=30.0, description="Seconds that Redis or the database does not answer.")
