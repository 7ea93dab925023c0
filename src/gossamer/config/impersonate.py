"""Settings of the rung that looks like a browser."""

from typing import Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, HeaderText, Name


class ImpersonateSettings(BaseSettings):
    """Which browser `impersonate` looks like."""

    profile: Name = Field(
        default="chrome",
        description="The browser that the rung `impersonate` looks like: `chrome`, `edge`, `firefox`, "
        "`opera` or `safari` in the newest version that is known, or one version of it, such as `chrome150`.",
    )
    platform: Literal["windows", "macos", "linux", "android", "ios"] | None = Field(
        default=None,
        description="The platform on which that browser claims to run; by default this machine's, or one on "
        "which there is such a browser.",
    )
    accept_language: HeaderText = Field(
        default="",
        description="The Accept-Language header of the rung `impersonate`, such as `de-DE,de;q=0.9`; by "
        "default American English, as the profiles have it.",
    )
