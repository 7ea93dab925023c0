"""Settings of the ways to fetch."""

from typing import Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, HeaderName, HeaderText, Seconds, Timeout


class HttpSettings(BaseSettings):
    """How pages are fetched over HTTP."""

    connect_timeout: Timeout = Field(
        default=10.0, description="Maximum seconds for the name lookup, the connection and TLS together."
    )
    headers_timeout: Timeout = Field(
        default=20.0, description="Maximum seconds until the whole header has arrived."
    )
    read_timeout: Timeout = Field(
        default=20.0, description="Maximum seconds that a body may pause while it arrives."
    )
    total_timeout: Timeout = Field(default=120.0, description="Maximum seconds for a whole response.")
    max_size_bytes: Count = Field(
        default=32 * 1024 * 1024,
        description="Maximum size of a body after decoding, in bytes; larger bodies are refused.",
    )
    max_redirects: int = Field(
        default=10, ge=0, description="Maximum number of redirects in a row before a request is given up."
    )
    insecure_hosts: tuple[str, ...] = Field(
        default=(), description="Hosts whose certificates are not checked; those of all other hosts are."
    )
    tls: Literal["modern", "compatible"] = Field(
        default="modern",
        description="`compatible` also connects to old servers: TLS 1.0 and 1.1, RSA key exchange, SHA-1, "
        "small keys, unsafe legacy renegotiation. Certificates are checked all the same.",
    )
    private_hosts: Literal["named", "none"] = Field(
        default="named",
        description="Which hosts may have private addresses (loopback, a local network): those that the "
        "operator names in start URLs (on their ports) and `allowed_domains`, or none at all.",
    )
    headers: dict[HeaderName, HeaderText] = Field(
        default={}, description="Headers sent with every request, by name."
    )
    referer: bool = Field(
        default=False,
        description="Whether requests name the page that led to them (`Referer`), but for those from https "
        "to http. By `impersonate` and `browser` another origin gets only the origin of that page.",
    )


class CacheSettings(BaseSettings):
    """Pages that are not fetched again while a spider is being written."""

    on: bool = Field(
        default=False,
        description="Whether pages that crawls of this machine fetch are kept in the folder `cache` of the "
        "data directory, and taken from there.",
    )
    max_age: Seconds | None = Field(
        default=None, description="Maximum seconds since a page was fetched; unlimited if not set."
    )


class ReplaySettings(BaseSettings):
    """Crawling saved pages instead of the network."""

    job: str | None = Field(
        default=None,
        description="The name of a job in the archive (its id and 12 hexadecimal digits); if set, pages come "
        "from there and no host is contacted. `gossamer replay` sets it.",
    )
    folder: str | None = Field(
        default=None,
        description="A folder of saved pages; if set, pages come from there and no host is contacted.",
    )
    rules: dict[str, str] = Field(
        default={},
        description="Templates of URLs and the templates of their files, such as "
        "`https://shop.example/page/{n}/` and `{n}.html`.",
    )
