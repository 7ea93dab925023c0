"""Settings of proxies: where they are listed, and which one a request goes through."""

from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Literal

from pydantic import Field, field_validator

from gossamer.config.section import COUNTRY, HTTP_URL, BaseSettings, Name, Seconds, SectionName
from gossamer.policy.proxies import BLOCK_S, FAILURE_S

ProxyText = Annotated[str, Field(min_length=1)]
Country = Annotated[str, Field(pattern=COUNTRY)]
ProxyKind = Literal["", "datacenter", "residential", "mobile"]
KindOrOther = Literal["datacenter", "residential", "mobile", "other"]


def _describe_lengths(table: dict[str, float]) -> str:
    return ", ".join(f"{kind} {seconds:g}" for kind, seconds in table.items())


class ProxyListSettings(BaseSettings):
    """Lists of proxies: here, in a file, at their provider, or in several of these."""

    urls: tuple[ProxyText, ...] = Field(
        default=(),
        description="Proxies, as `http://USER:PASSWORD@HOST:PORT` (also `https://` and `socks5://`), "
        "`HOST:PORT` or `HOST:PORT:USER:PASSWORD`; after it, `provider=NAME`, `kind=residential` and "
        "`country=de` may follow. `${NAME}` stands for an environment variable, so that no file need hold a "
        "password.",
    )
    file: str | None = Field(
        default=None, description="A file with a proxy on each line, in the same forms; `#` begins a comment."
    )
    url: str | None = Field(
        default=None,
        pattern=HTTP_URL,
        description="A URL that gives such a list; it is fetched at the start, without a proxy.",
    )

    @field_validator("urls")
    @classmethod
    def _check_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        lists = import_module("gossamer.policy.proxy_list")  # what crawls without proxies have no use for
        for number, text in enumerate(urls, 1):
            try:
                lists.parse_proxy(text)
            except ValueError as error:
                raise ValueError(f"entry {number}: {error}") from None
        return urls

    @property
    def is_empty(self) -> bool:
        """Whether the settings name no list."""
        return not (self.urls or self.file or self.url)


class ProviderSettings(ProxyListSettings):
    """The proxies of one provider."""

    kind: ProxyKind = Field(
        default="", description="The kind of these proxies: `datacenter`, `residential` or `mobile`."
    )
    country: Country = Field(
        default="", description="The country of these proxies, as a code of two letters (`de`)."
    )


class ProxySettings(ProxyListSettings):
    """Proxies and their use."""

    pools: dict[SectionName, ProviderSettings] = Field(
        default={}, description="Proxies by their provider, each with a section of its own."
    )
    refresh: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        default=3600.0, description="Seconds after which lists in files and at URLs are read again."
    )
    always: bool = Field(
        default=True,
        description="Whether every request goes through a proxy, if there are any; if not, only those of "
        "rungs that name a kind of proxy, such as `http+residential`.",
    )
    rotation: Literal["round_robin", "sticky", "least_used"] = Field(
        default="round_robin",
        description="Which proxy is next: `round_robin` takes one after the other; with `sticky` a session "
        "stays with its proxy at a site; `least_used` takes the one that this worker has used least.",
    )
    country: Country = Field(
        default="", description="Only proxies of this country are used (`de`); all of them if not set."
    )
    only: tuple[Name, ...] = Field(
        default=(),
        description="Only these proxies are used: names of proxies as `gossamer proxies` shows them, "
        "`HOST:PORT`, or providers. It binds one worker of a fleet to its own proxies.",
    )
    block_quarantine: dict[KindOrOther, Seconds] = Field(
        default={},
        description="For how many seconds a proxy is not used for a host that has blocked it, by kind; twice "
        "as long for each block that follows soon, up to 64 times. The defaults are as in: "
        f"{_describe_lengths(BLOCK_S)}.",
    )
    failure_quarantine: dict[KindOrOther, Seconds] = Field(
        default={},
        description="For how many seconds a proxy that is out of order is not used at all, by kind; it grows "
        f"in the same way. The defaults are as in: {_describe_lengths(FAILURE_S)}.",
    )
    max_quarantine: Seconds = Field(
        default=86_400.0,
        description="Maximum seconds for which a proxy is not used, before it is tried.",
    )
    test_url: str | None = Field(
        default=None,
        pattern=HTTP_URL,
        description="The page that `gossamer proxies test` fetches if it is given no URL.",
    )

    def list_sources(self) -> Iterator[tuple[str, str, ProxyListSettings]]:
        """Yield each list of proxies: its name in the settings, its provider and its settings."""
        if not self.is_empty:
            yield "proxies", "", self
        for name, pool in self.pools.items():
            yield f"proxies.pools.{name}", name, pool

    @property
    def are_there(self) -> bool:
        """Whether any proxies are named at all."""
        return any(self.list_sources())
