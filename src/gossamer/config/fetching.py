"""Settings of the ways to fetch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, HeaderName, HeaderText, Seconds


class HttpSettings(BaseSettings):
    """How pages are fetched over HTTP."""

    connect_timeout: Seconds = Field(default=10.0, description="Seconds to look up, connect and finish TLS.")
    headers_timeout: Seconds = Field(default=20.0, description="Seconds until the whole header has arrived.")
    read_timeout: Seconds = Field(default=20.0, description="Seconds a body may stall.")
    total_timeout: Seconds = Field(default=120.0, description="Seconds for one response as a whole.")
    max_size_bytes: Count = Field(
        default=32 * 1024 * 1024, description="Bytes a body may have after decoding; larger ones are refused."
    )
    max_redirects: int = Field(
        default=10, ge=0, description="Redirects in a row before a request is given up."
    )
    insecure_hosts: tuple[str, ...] = Field(
        default=(), description="Hosts whose certificates are not checked; all others are."
    )
    tls: Literal["modern", "compatible"] = Field(
        default="modern",
        description="`compatible` also connects to old servers: TLS 1.0 and 1.1, RSA key exchange, SHA-1, "
        "small keys, unsafe legacy renegotiation. Certificates are checked all the same.",
    )
    headers: dict[HeaderName, HeaderText] = Field(
        default={}, description="Headers sent with every request, by name."
    )


class ReplaySettings(BaseSettings):
    """Crawling saved pages instead of the network."""

    folder: str | None = Field(
        default=None,
        description="Folder of saved pages; when set, pages come from there and no host is contacted.",
    )
    rules: dict[str, str] = Field(
        default={},
        description="URL template to file template, as `https://shop.example/page/{n}/` to `{n}.html`.",
    )
