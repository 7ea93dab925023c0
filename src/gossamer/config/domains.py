"""Settings of single domains."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from gossamer.config.ladder import RungChoice
from gossamer.config.section import VARIABLE, BaseSettings, Count, HeaderName, HeaderText, Seconds, Timeout
from gossamer.core.authorization import authorization_of
from gossamer.core.errors import UsageError
from gossamer.core.request_options import own_options_of


def _check_auth(auth: Any) -> str:
    try:
        return authorization_of(auth, "auth")
    except UsageError as error:
        raise ValueError(str(error)) from None


def _check_cookies(cookies: Any) -> Any:
    try:
        return own_options_of({"cookies": cookies})["cookies"] or {}
    except UsageError as error:
        raise ValueError(str(error)) from None


class DomainSettings(BaseSettings):
    """Settings for the hosts of one domain and its subdomains, instead of the general ones."""

    delay: Seconds | None = Field(
        default=None, description="Seconds between the starts of two requests to one of its hosts."
    )
    per_host: Count | None = Field(
        default=None, description="Maximum number of requests in flight to one of its hosts."
    )
    robots: bool | None = Field(default=None, description="Whether its robots.txt is obeyed.")
    fetch: RungChoice | None = Field(
        default=None,
        description="The way to fetch of its pages, as `fetch` says it for all; a list of rungs is written "
        "in `ladder.hosts`, which goes before this.",
    )
    user_agent: HeaderText | None = Field(
        default=None, description="The User-Agent header; with `impersonate`, that is the browser's."
    )
    headers: dict[HeaderName, HeaderText] = Field(
        default={}, description="Headers sent with its requests, beside those of `http.headers`."
    )
    auth: Annotated[str, BeforeValidator(_check_auth)] | None = Field(
        default=None,
        description='Credentials: `["user", "password"]`, a bearer token, or a whole value of Authorization '
        "(`Token abc`).",
    )
    auth_env: str = Field(
        default="",
        pattern=VARIABLE,
        description="The environment variable that holds that, as `user:password` or as a token.",
    )
    cookies: Annotated[dict[str, str], BeforeValidator(_check_cookies)] = Field(
        default={}, description="Cookies that its hosts get while they have set none of that name."
    )
    timeout: Timeout | None = Field(
        default=None, description="Maximum seconds for a whole request, from connecting to the last byte."
    )
    max_size: Count | None = Field(
        default=None, description="Maximum size of a body after decoding, in bytes."
    )
    keep_fragments: bool | None = Field(
        default=None,
        description="Whether its URLs keep their fragments, as `keep_fragments` says it for all.",
    )
    max_retries: int | None = Field(
        default=None, ge=0, description="Maximum number of retries before a request becomes a dead letter."
    )
