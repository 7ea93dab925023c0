"""Settings of pages that refuse us."""

from typing import Annotated

from pydantic import Field

from gossamer.config.section import BaseSettings


class BlockSettings(BaseSettings):
    """How pages that refuse a visitor are recognised."""

    detect: bool | None = Field(
        default=True,
        description="Whether challenges, CAPTCHAs and other refusals are recognised by their marks, even if "
        "they come with a successful status; such a page is not given to the spider. `none`: only where a "
        "page can be fetched in another way, by a ladder or through proxies; the default for Scrapy's "
        "spiders.",
    )
    marks: tuple[Annotated[str, Field(min_length=3)], ...] = Field(
        default=(),
        description="Further texts that only stand on pages that refuse you; upper and lower case are the "
        "same.",
    )
