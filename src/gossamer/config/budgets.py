"""Settings of budgets, besides pages and time."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gossamer.config.section import BaseSettings, Count, Late, SectionName
from gossamer.core.errors import UsageError
from gossamer.policy.patterns import compile_pattern

Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PatternBudgetSettings(BaseSettings):
    """The budget of all URLs of one pattern, over all workers and runs of a crawl."""

    pattern: str = Field(
        default="",
        description="A regular expression that is searched in URLs, as in `include`: `/product/`.",
    )
    pages: Count | None = Field(default=None, description="Maximum number of their pages; never exceeded.")
    items: Count | None = Field(default=None, description="Maximum number of items that their pages give.")
    errors: Count | None = Field(
        default=None, description="Maximum number of them that are given up (dead letters)."
    )
    bytes: Count | None = Field(
        default=None, description="Maximum number of bytes of their bodies, as they come over the network."
    )
    seconds: Amount | None = Field(
        default=None, description="Maximum number of seconds for which requests to them are under way."
    )
    cost: Amount | None = Field(default=None, description="Maximum cost of their pages.")
    depth: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Maximum number of links from a start URL to them."
    )
    over: Literal["last", "stop"] = Field(
        default="stop",
        description="Action over the budget: `stop` skips such requests and links to such "
        "URLs; `last` puts them behind everything else.",
    )

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            compile_pattern(pattern)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return pattern

    @model_validator(mode="after")
    def _check_completeness(self) -> Self:
        if not self.pattern:
            raise ValueError('a budget needs a pattern, as in pattern = "/product/"')
        if not self.list_limits():
            raise ValueError(f"a budget needs a limit: one of {', '.join(_LIMITS)}")
        return self

    def list_limits(self) -> dict[str, float]:
        """Return the limits that are set, by the names of the settings."""
        return {name: limit for name in _LIMITS if (limit := getattr(self, name)) is not None}


_LIMITS = ("pages", "items", "errors", "bytes", "seconds", "cost", "depth")


class BudgetSettings(BaseSettings):
    """Budgets of a crawl, over all its workers and runs; unlimited by default."""

    cost: Amount | None = Field(
        default=None,
        description="Maximum cost of the whole crawl, in the currency of the gateways' prices; in credits "
        "where they have no price.",
    )
    cost_per_host: Amount | None = Field(default=None, description="Maximum cost of the pages of one host.")
    bytes: Count | None = Field(
        default=None, description="Maximum number of bytes of bodies, as they come over the network."
    )
    bytes_per_host: Count | None = Field(
        default=None, description="Maximum number of such bytes of one host."
    )
    browser_seconds: Amount | None = Field(
        default=None, description="Maximum number of seconds for which browsers are busy with pages."
    )
    browser_seconds_per_host: Amount | None = Field(
        default=None, description="Maximum number of such seconds for the pages of one host."
    )
    items_per_host: Count | None = Field(
        default=None, description="Maximum number of items that the pages of one host give."
    )
    errors_per_host: Count | None = Field(
        default=None, description="Maximum number of requests of one host that are given up (dead letters)."
    )
    seconds_per_host: Amount | None = Field(
        default=None, description="Maximum number of seconds for which requests to one host are under way."
    )
    over: Literal["downgrade", "last", "stop"] = Field(
        default="stop",
        description="Action over a budget: `stop` skips the other requests of a host over its budget, and "
        "ends a crawl over its own; `downgrade` continues with the rungs of the ladder that spend nothing of "
        "it, as far as there are any; `last` puts the other requests of a host behind everything else.",
    )
    patterns: dict[SectionName, Late[PatternBudgetSettings]] = Field(
        default={}, description="Budgets of URLs that match a pattern: `[budgets.patterns.NAME]`."
    )
