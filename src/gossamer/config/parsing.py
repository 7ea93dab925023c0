"""Settings of parsing, and of URL traps."""

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count


class ParseSettings(BaseSettings):
    """How pages are parsed, and the limits for one page."""

    engine: Literal["turbohtml", "lxml"] = Field(
        default="turbohtml",
        description="The tree for `response.css()` and `response.xpath()` on HTML pages: `turbohtml`, the "
        "tree of the HTML standard, as browsers build it; or `lxml`, the tree of libxml2, as in Scrapy and "
        "parsel, for spiders that rely on it. Links, texts and structured data are those of `turbohtml`.",
    )
    guess_charset: bool = Field(
        default=True,
        description="Guess the charset of a page that names none and is not UTF-8 from its characters and "
        "the country of its host, as browsers do; otherwise it is read as windows-1252.",
    )
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=5.0,
        description="Maximum CPU seconds that a separate process may spend on checking one suspicious page; "
        "a page that needs more becomes a dead letter (`parse_timeout`). How busy the machine is does not "
        "matter.",
    )
    max_memory_mb: Annotated[int, Field(ge=128)] = Field(
        default=512,
        description="Maximum address space of the process that checks suspicious pages, in megabytes; a page "
        "that needs more becomes a dead letter (`parse_timeout`).",
    )
    max_inline_bytes: Count = Field(
        default=3 * 1024 * 1024,
        description="Bodies of more than this many bytes are first checked in a separate process; smaller "
        "ones too if they have very many tags.",
    )
    max_depth: Count = Field(
        default=256,
        description="Maximum depth of elements in a page that is nested much too deeply; deeper elements "
        "are removed, but the page keeps its text and its links and is flagged `parse_truncated`.",
    )
    max_tags: Count = Field(
        default=400_000,
        description="Maximum number of elements of a page that is checked; the rest is left out, and the "
        "page is flagged `parse_truncated`. Anything after 12 million characters is left out too.",
    )
    max_links: Count = Field(
        default=50_000,
        description="Maximum number of links taken from one page, and of requests or items that one "
        "callback may yield; a callback that yields more is stopped there.",
    )
    callback_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=60.0,
        description="Maximum seconds that a callback may take. A callback that neither yields nor awaits "
        "cannot be stopped, but is reported.",
    )


class TrapSettings(BaseSettings):
    """Limits for sites that never end. Pages are counted by all workers together, over all runs of a job."""

    max_segments: Count | None = Field(
        default=20, description="Maximum number of segments in the path of a URL; `none` is unlimited."
    )
    max_repeats: Count | None = Field(
        default=2,
        description="How often a segment of a path may repeat itself in a row; `none` is unlimited.",
    )
    max_same_body: Count | None = Field(
        default=1000,
        description="Maximum number of pages of a host with the same content whose links are followed, if "
        "pages of their own path or directory led to them; `none` is unlimited.",
    )
    max_worthless: Count | None = Field(
        default=500,
        description="How many pages a site without an end may cost. URLs of one pattern are refused after "
        "half as many pages which others of the pattern led to, which lead to more of them and bring nothing "
        "new, more than pages with something new make up for (one with new items for five, one with a text "
        "of its own for two); `none` is unlimited.",
    )
    max_per_pattern: Count | None = Field(
        default=None,
        description="Maximum number of URLs of a host that differ only in numbers and values; unlimited if "
        "not set.",
    )
    max_per_domain: Count | None = Field(
        default=None,
        description="Maximum number of URLs of one registrable domain, all its hosts together; unlimited if "
        "not set.",
    )
