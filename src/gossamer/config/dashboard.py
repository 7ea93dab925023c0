"""Settings of the dashboard and the HTTP API."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, field_validator

from gossamer.config.section import BaseSettings, Name


class DashboardSettings(BaseSettings):
    """The address and the limits of the dashboard."""

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
        description="Addresses of reverse proxies (`127.0.0.1`, `10.1.0.0/16`) whose `X-Forwarded-For` and "
        "`X-Forwarded-Proto` are believed. All addresses at once (`*`) are refused: any client could claim "
        "any address.",
    )
    allow_private: bool = Field(
        default=False,
        description="Whether crawls that are started from the dashboard or the HTTP API may reach private "
        "addresses: those of this machine and of its network.",
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            try:
                is_everything = ip_network(place).prefixlen == 0
            except ValueError:
                is_everything = place == "*"
                if not is_everything:
                    raise ValueError(
                        f"{place!r} is neither an address nor a network: write 10.1.2.3, or 10.1.0.0/16"
                    ) from None
            if is_everything:
                raise ValueError(
                    f"with {place!r}, whatever anybody says of the address they come from would be believed; "
                    "name the address of your reverse proxy, or the network that only it is in"
                )
        return places
