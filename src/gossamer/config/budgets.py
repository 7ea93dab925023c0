"""Settings of budgets: what a crawl may spend besides pages and time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count

Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class BudgetSettings(BaseSettings):
    """What a crawl may spend, over all its workers and runs; unlimited where nothing is set."""

    cost: Amount | None = Field(
        default=None,
        description="What the whole crawl may cost, in the currency of the gateways' prices; credits where "
        "they have no price.",
    )
    cost_per_host: Amount | None = Field(default=None, description="What the pages of one host may cost.")
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
    over: Literal["downgrade", "stop"] = Field(
        default="stop",
        description="What happens then: `stop` skips the other requests of a host over its budget, and ends "
        "a crawl over its own; `downgrade` continues with the rungs of the ladder that spend nothing of it, "
        "as far as there are any.",
    )
