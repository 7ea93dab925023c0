"""Settings of parsing, and of URL traps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gossamer.config.section import BaseSettings, Count


class ParseSettings(BaseSettings):
    """How pages are taken apart, and what one page may cost."""

    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=5.0,
        description="CPU seconds that a separate process may spend on checking one suspicious page; a page "
        "that needs more becomes a dead letter (`parse_timeout`). How busy the machine is does not matter.",
    )
    max_memory_mb: Annotated[int, Field(ge=128)] = Field(
        default=512,
        description="Address space of the process that checks suspicious pages, in megabytes; a page that "
        "needs more becomes a dead letter (`parse_timeout`).",
    )
    max_inline_bytes: Count = Field(
        default=3 * 1024 * 1024,
        description="Bodies of more bytes than this are first checked in a separate process; smaller ones "
        "too if they have very many tags.",
    )
    max_depth: Count = Field(
        default=256,
        description="Depth to which elements are kept in a page that is nested much too deeply; it is "
        "flagged `parse_truncated`, and keeps its text and its links.",
    )
    max_tags: Count = Field(
        default=400_000,
        description="Maximum number of elements of one page that is checked; the rest is left out, and the "
        "page is flagged `parse_truncated`. What comes after 12 million characters is left out, too.",
    )
    max_links: Count = Field(
        default=50_000,
        description="Links taken from one page, and requests or items that one callback may give; "
        "it is stopped there.",
    )
    callback_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Seconds a callback may take. One that neither yields nor awaits cannot be stopped, "
        "but is reported.",
    )


class TrapSettings(BaseSettings):
    """What keeps a site that never ends to a budget; counts are of one run of one process."""

    max_segments: Count | None = Field(
        default=20, description="Segments that the path of a URL may have; none is no limit."
    )
    max_repeats: Count | None = Field(
        default=2, description="How often a segment of a path may follow itself; none is no limit."
    )
    max_same_body: Count | None = Field(
        default=1000, description="Pages of a host with the same content whose links are followed."
    )
    max_per_pattern: Count | None = Field(
        default=None, description="URLs of a host that differ only in numbers and values; none is no limit."
    )
    max_per_domain: Count | None = Field(
        default=None, description="URLs of one registrable domain, its hosts together; none is no limit."
    )
