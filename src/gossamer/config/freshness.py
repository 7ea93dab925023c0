"""Settings of crawls that come back: how often pages are worth another look."""

from typing import Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, Seconds


class FreshnessSettings(BaseSettings):
    """Repeated visits to pages."""

    on: bool = Field(
        default=False,
        description="Whether it is kept of every page when it was checked and how often it had changed, for "
        "later crawls with `--recrawl`, which also keep it.",
    )
    recrawl: Literal["off", "due", "all"] = Field(
        default="off",
        description="Whether a crawl visits the pages that the spider knows: those that are `due`, or `all`; "
        "a page that has not changed is not sent again by servers that can tell. `--recrawl` is `due`.",
    )
    min_interval: Seconds = Field(
        default=3600.0, description="Minimum seconds between two checks of a page, however often it changes."
    )
    max_interval: Seconds = Field(
        default=2_592_000.0,
        description="Maximum seconds between two checks of a page that is there, more where `checks_per_day` "
        "is too small for it; one that is gone is asked for ever more rarely, up to once a year.",
    )
    first_interval: Seconds = Field(
        default=604_800.0,
        description="Seconds in which a page is thought to change once, as long as nothing is known of the "
        "spider's pages.",
    )
    checks_per_day: Count | None = Field(
        default=None,
        description="Number of checks a day that the intervals of all pages of the spider are to come to; "
        "where `max_interval` alone would take more than 15 % of them, it gives way. If not set, a page "
        "is checked when it is as likely as not to have changed.",
    )

    @property
    def is_on(self) -> bool:
        """Whether facts about pages are kept for later crawls."""
        return self.on or self.recrawl != "off"
