"""Settings of sessions: who a crawl is for a site, and how it logs in."""

from typing import Annotated

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, Name

OF_LOG_INS = frozenset({"login_timeout", "max_login_failures"})
"""Settings of the section that say nothing of identities."""


class SessionSettings(BaseSettings):
    """Identities: who asks a site, by their cookies and, if rotation is `sticky`, by a proxy of their own."""

    per_host: Count = Field(
        default=1,
        description="Number of identities that share the requests to one site. A request with a session of "
        "its own (`Request(session=...)`) keeps to that.",
    )
    max_uses: Count | None = Field(
        default=None,
        description="Number of pages after which an identity is replaced by a new one, with no cookies "
        "and, if `proxies.rotation` is `sticky`, with another proxy; unlimited if not set.",
    )
    max_age: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Seconds after which an identity is replaced; unlimited if not set."
    )
    max_errors: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=3.0,
        description="The score of errors at which an identity is replaced: a doubtful refusal, or a failure "
        "of its proxy, adds 1, a page takes away 0.5, and a certain refusal is enough by itself.",
    )
    profiles: tuple[Name, ...] = Field(
        default=(),
        description="The browsers that identities pretend to be on the rung `impersonate`, one after the "
        'other, such as `["chrome", "firefox"]`: each identity stays with its own. If empty, all are '
        "`impersonate.profile`.",
    )
    login_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=300.0, description="Maximum seconds of one log-in, with the delays between its requests."
    )
    max_login_failures: Count = Field(
        default=3,
        description="Number of log-ins that may fail in a row before the crawl stops; its requests are kept.",
    )
