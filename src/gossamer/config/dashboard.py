"""Settings of the dashboard and the HTTP API."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gossamer.config.section import BaseSettings, Name


class DashboardSettings(BaseSettings):
    """Where the dashboard listens, and what it may do."""

    host: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        default="127.0.0.1",
        description="The address that the dashboard listens at. Anywhere but on this machine's loopback it "
        "starts only when there is a token (`gossamer token create`).",
    )
    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=8787, description="The port that the dashboard listens at; 0 is any that is free."
    )
    trusted_proxies: tuple[Name, ...] = Field(
        default=(),
        description="Addresses of reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are "
        "believed.",
    )
    allow_private: bool = Field(
        default=False,
        description="Whether crawls that are started from the dashboard or the HTTP API may reach private "
        "addresses: those of this machine and of its network.",
    )
