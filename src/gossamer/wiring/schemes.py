"""The URL schemes of the settings, and their openers: a table that installed packages can extend.

A row is a :class:`FrontierScheme` or a :class:`StoreScheme`. The rows of the built-in back ends are at the
end of this file; those of other packages are entry points of the groups ``gossamer.frontiers`` and
``gossamer.stores``, named by their scheme. The opener of a row is imported when a URL needs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.record import Record
from gossamer.core.redaction import shown_server
from gossamer.core.text import describe_error
from gossamer.drivers.redis.address import ADDRESSES, REDIS_SCHEMES
from gossamer.ports.backends import FrontierBackend, StoreBackend
from gossamer.ports.clock import Clock
from gossamer.wiring.databases import DatabasePool

SchemeT = TypeVar("SchemeT")

DEFAULT = "sqlite"
"""The scheme of a place that is not named."""


class BackendParts(Record, frozen=True):
    """Parameters for opening back ends."""

    settings: Settings
    databases: DatabasePool  # the SQLite files, each opened once; others have no use for them
    limit_s: float | None = None  # the longest that one question to a server may take; None: as it likes


class ServerReport(Record, frozen=True):
    """How a server is that can be used."""

    found: str = ""
    """Its version and the like, for people."""

    advice: str = ""
    """A suggested change, or a fact that could not be determined; empty: none."""


class FrontierScheme(Record, frozen=True):
    """A scheme of ``frontier.url``."""

    open: Callable[[str | None, BackendParts], Awaitable[FrontierBackend]]
    """Opens the place at a URL. Raises ``MissingServiceError``, ``StorageError`` and ``SettingError``."""

    check: Callable[[str, Settings], Awaitable[str | ServerReport]] | None = None
    """Raises the errors of ``open`` and of the first write, and changes nothing. Returns the server's state,
    or the facts that could not be determined (empty: none). ``None``: the scheme has no server.
    """

    read_clock: Callable[[str, Settings], Awaitable[float]] | None = None
    """By how many seconds this machine's clock is ahead of the server's; ``None``: no server has a clock."""

    serves_fleet: bool = False
    """Whether its back ends have a ``fleet``."""

    extra: str = ""
    """The extra of Gossamer that it needs, for `gossamer doctor`."""


class StoreScheme(Record, frozen=True):
    """A scheme of ``store.url``."""

    open: Callable[[str | None, BackendParts, Clock], Awaitable[StoreBackend]]
    """Opens the place at a URL; the clock is that of the frontier. Raises as that of a frontier."""

    check: Callable[[str, Settings], Awaitable[str | ServerReport]] | None = None
    """As that of a frontier."""

    read_clock: Callable[[str, Settings], Awaitable[float]] | None = None
    """As that of a frontier."""

    extra: str = ""
    """The extra of Gossamer that it needs, for `gossamer doctor`."""


class SchemeTable(Generic[SchemeT]):
    """From the scheme of one setting's URLs to its row, of type ``kind``."""

    def __init__(
        self,
        setting: str,
        group: str,
        kind: type[SchemeT],
        ours: Mapping[str, SchemeT],
        examples: Sequence[str],
    ) -> None:
        self._setting = setting
        self._group = group
        self._kind = kind
        self._ours = ours
        self._examples = examples

    def find_scheme(self, url: str | None) -> SchemeT:
        """Return the row for a URL; ``None`` is the default place. Raises ``SettingError`` if none has it."""
        name, colon, _ = (f"{DEFAULT}:" if url is None else url).partition(":")
        if colon and name in self._ours:
            return self._ours[name]
        return self._load_entry(name if colon else "", shown_server(url or ""))

    def _load_entry(self, name: str, shown: str) -> SchemeT:
        """Return the row that an installed package has for a scheme."""
        entries = self._installed_entries()
        if name not in entries:
            raise SettingError(
                f"{self._setting} = {shown!r}: unsupported scheme; use {self._list_examples(entries)}"
            )
        entry = entries[name]
        package = entry.dist.name if entry.dist is not None else entry.module
        try:
            row = entry.load()
        except Exception as error:
            raise SettingError(
                f"{self._setting} = {shown!r}: the package {package!r}, which supports {name}://, cannot be "
                f"loaded ({describe_error(error)})"
            ) from error
        if not isinstance(row, self._kind):
            raise SettingError(
                f"{self._setting} = {shown!r}: the entry point {name!r} of the package {package!r} in the "
                f"group {self._group} is a {type(row).__name__}; it must be a {self._kind.__name__}"
            )
        return row

    def _installed_entries(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self._group)}

    def _list_examples(self, others: Mapping[str, EntryPoint]) -> str:
        *first, last = *self._examples, *(f"{name}://..." for name in sorted(others))
        return f"{', '.join(first)} or {last}"


def _import_late(module: str, function: str) -> Callable[..., Awaitable[Any]]:
    """Return a function of a module that is imported when it is called."""

    async def call(*arguments: Any) -> Any:
        return await getattr(import_module(module), function)(*arguments)

    return call


_IN_REDIS = FrontierScheme(
    _import_late("gossamer.wiring.redis", "open_frontier"),
    check=_import_late("gossamer.wiring.redis", "check_frontier"),
    read_clock=_import_late("gossamer.wiring.redis", "read_clock"),
    serves_fleet=True,
    extra="redis",
)
_IN_POSTGRES = StoreScheme(
    _import_late("gossamer.wiring.postgres", "open_store"),
    check=_import_late("gossamer.wiring.postgres", "check_store"),
    read_clock=_import_late("gossamer.wiring.postgres", "read_clock"),
    extra="postgres",
)
_IN_MONGODB = StoreScheme(
    _import_late("gossamer.wiring.mongodb", "open_store"),
    check=_import_late("gossamer.wiring.mongodb", "check_store"),
    extra="mongo",
)

FRONTIERS = SchemeTable(
    "frontier.url",
    "gossamer.frontiers",
    FrontierScheme,
    {
        DEFAULT: FrontierScheme(_import_late("gossamer.wiring.sqlite", "open_frontier")),
        **dict.fromkeys(REDIS_SCHEMES, _IN_REDIS),
    },
    ("sqlite:///FILE", *ADDRESSES),
)

STORES = SchemeTable(
    "store.url",
    "gossamer.stores",
    StoreScheme,
    {
        DEFAULT: StoreScheme(_import_late("gossamer.wiring.sqlite", "open_store")),
        **dict.fromkeys(("postgresql", "postgres"), _IN_POSTGRES),
        **dict.fromkeys(("mongodb", "mongodb+srv"), _IN_MONGODB),
    },
    ("sqlite:///FILE", "postgresql://USER@HOST/DATABASE", "mongodb://HOST/DATABASE"),
)
