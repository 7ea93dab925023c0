"""Who gets into the frontier: canonical form, scope, fingerprint and politeness key of a request.

Pure, and shared by seeding and worker, so that a seed, a link and a redirect pass the same door.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.policy import urls
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions
from gossamer.words.model import Entry, Request


class Admission:
    """The door of one job. ``key`` keys its fingerprints."""

    def __init__(self, scope: Scope, options: UrlOptions, key: bytes) -> None:
        self._scope = scope
        self._options = options
        self._key = key

    def fingerprint(self, request: Request) -> int | None:
        """The fingerprint of a request as the job knows it; ``None`` when it is no URL for it."""
        canonical = urls.canonicalise(request.url, self._options)
        if canonical is None:
            return None
        return urls.fingerprint(request.method, canonical, request.body, self._key)

    def admit(self, request: Request, *, due_at: float = 0.0) -> Entry | str:
        """The entry to add, or the reason (a short word) why not."""
        canonical = urls.canonicalise(request.url, self._options)
        if canonical is None:
            return "bad_url"
        refused = self._scope.check(canonical)
        if refused is not None:
            return refused
        if canonical != request.url:
            request = request.replace(url=canonical)
        return Entry(
            request=request,
            fingerprint=urls.fingerprint(request.method, canonical, request.body, self._key),
            host=urls.host_key(canonical),
            due_at=due_at,
        )

    def admit_all(self, requests: Iterable[Request], dropped: dict[str, int]) -> tuple[Entry, ...]:
        """The entries of a page, each fingerprint once; refusals are counted into ``dropped``."""
        entries: list[Entry] = []
        taken: set[int] = set()
        for request in requests:
            entry = self.admit(request)
            if isinstance(entry, str):
                reason = f"link:{entry}"
                dropped[reason] = dropped.get(reason, 0) + 1
            elif entry.fingerprint not in taken or request.dont_filter:
                taken.add(entry.fingerprint)
                entries.append(entry)
        return tuple(entries)
