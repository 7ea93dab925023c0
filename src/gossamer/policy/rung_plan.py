"""Choice of a request's rung: by its author, the settings, or the ladder. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gossamer.core.requests import Request
from gossamer.core.rungs import AUTO
from gossamer.policy.domains import find_domain


class RungPlan:
    """The rungs configured before the first page.

    The most specific one wins: of the request, of the settings for its host (``ladder.hosts``), of the spider
    for its callback, then the setting ``fetch``. ``auto`` gives the decision to the ladder.
    """

    def __init__(
        self,
        rungs: tuple[str, ...] = ("http",),
        *,
        choice: str = AUTO,
        hosts: Mapping[str, str | tuple[str, ...]] | None = None,
        by_callback: Callable[[Request], str] | None = None,
        named: Iterable[str] = (),
    ) -> None:
        self.rungs = rungs
        self._choice = choice
        self._hosts = {name.lower(): said for name, said in (hosts or {}).items()}
        self._by_callback = by_callback
        self._named = tuple(named)  # by the spider

    def __repr__(self) -> str:
        return f"RungPlan({', '.join(self.rungs)}; {self._choice})"

    @property
    def climbs(self) -> bool:
        """Whether requests without a configured rung use the ladder."""
        return self._choice == AUTO

    @property
    def is_plain(self) -> bool:
        """Whether everything is fetched by plain HTTP, but for requests that name a rung."""
        says_http = self._choice == "http" or (self.climbs and self.rungs == ("http",))
        return says_http and not self._hosts and self._by_callback is None

    def named_rung(self, request: Request, host: str) -> str:
        """The rung that a request of a host stays on; empty: the ladder decides."""
        rung = request.fetch
        if not rung:
            said = self._said_of(host) if self._hosts else None
            if isinstance(said, str):
                return said
            if self._by_callback is not None:
                rung = self._by_callback(request)
            rung = rung or (self._choice if said is None else AUTO)
        return "" if rung == AUTO else rung

    def common_rung(self, host: str) -> str:
        """The rung of a host's requests that name none themselves; empty: the ladder decides."""
        said = self._said_of(host) if self._hosts else None
        if said is not None:
            return said if isinstance(said, str) else ""
        return "" if self._choice == AUTO else self._choice

    def rungs_for(self, host: str) -> tuple[str, ...]:
        """The ladder of a host, the cheapest rung first."""
        said = self._said_of(host) if self._hosts else None
        return said if isinstance(said, tuple) else self.rungs

    @property
    def named_rungs(self) -> tuple[str, ...]:
        """The rungs that some requests stay on, as far as it is known before the first page."""
        named = [said for said in self._hosts.values() if isinstance(said, str)]
        said = (self._choice, *named, *self._named)
        return tuple(dict.fromkeys(rung for rung in said if rung != AUTO))

    @property
    def host_ladders(self) -> tuple[tuple[str, ...], ...]:
        """The ladders that the settings name for single hosts."""
        return tuple(said for said in self._hosts.values() if isinstance(said, tuple))

    @property
    def all_rungs(self) -> tuple[str, ...]:
        """The rungs of all ladders, each once."""
        ladders = (self.rungs, *self.host_ladders)
        return tuple(dict.fromkeys(rung for ladder in ladders for rung in ladder))

    def _said_of(self, host: str) -> str | tuple[str, ...] | None:
        """Return the settings' rungs for a host (``name`` or ``name:port``) or its domain."""
        return find_domain(self._hosts, host)
