"""The proxies of a crawl: one is chosen per request, and all workers learn from its result.

Guarantee: a worker that has looked since (about once a second) does not choose a proxy that is in
quarantine, for the host or altogether, and the first request after a quarantine runs alone. The state of
proxies outlasts the crawl. If no proxy is left, requests wait without failing, and the operator is notified
once.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.core.errors import MissingServiceError, OperatorError
from gossamer.core.routes import Advice, Detour, Proxy, Route, RouteReport
from gossamer.core.rungs import kind_of
from gossamer.fetch.routing.proxy_alarm import ProxyAlarm
from gossamer.fetch.routing.proxy_health import SharedProxyHealth
from gossamer.policy.proxies import (
    ProxyHealth,
    ProxyOutcome,
    QuarantineRules,
    apply_outcome,
    changes_quarantine,
    claim_canary,
    count_refusals,
    count_refused,
    has_canary,
    is_on_trial,
    judge_silence,
    outcome_of,
    pardon_host,
    release_canary,
    wait_s_of,
)
from gossamer.policy.proxy_answers import MOST_OTHERS, ErrorJudge
from gossamer.policy.proxy_rotation import ProxyRotation, RotationOrder, choose_candidate
from gossamer.policy.proxy_trials import TrialMemory
from gossamer.policy.urls import registrable_domain
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.ports.sink import Sink
from gossamer.runtime.cancelling import end_tasks

LONGEST_WAIT_S = 30.0
"""Seconds after which a host requests a proxy again, even if all rest for longer: the list may have
changed by then, or the operator may have restarted the crawl."""
MOST_FREE_TRIES = 10
"""Immediate retries of a request whose proxy failed; after that it waits as in a lost network."""
MOST_DOUBTED_TRIES = 30
"""Such retries after errors that may be the proxies' own, for its robots.txt and then its page."""
MAX_SUSPECTS = 1000
"""Limit of remembered hosts at which proxies fail."""
PROBED_S = 120.0
"""Seconds until a proxy through which a silent host did not answer is retried; it may be the host."""
SUSPICIOUS = 2
"""After this number of proxies have failed at a host in a row, the next failure is attributed to the host."""

ListReader = Callable[[], Awaitable[Sequence[Proxy]]]
"""Reads the list of proxies again. Raises ``OperatorError``."""


class _Canary(NamedTuple):
    """The request that tries a proxy out; no other request through the proxy starts meanwhile."""

    claimant: str
    claimed_at: float


class ProxyPool:
    """Chooses proxies, and learns from their results.

    ``read_list`` is called every ``refresh_s`` seconds. ``start`` differs between workers, so that they
    begin with different proxies. ``is_alone``: no other process works on the job.
    """

    def __init__(
        self,
        proxies: Sequence[Proxy],
        shared: SharedState,
        clock: Clock,
        *,
        order: RotationOrder = RotationOrder.ROUND_ROBIN,
        rules: QuarantineRules | None = None,
        sink: Sink | None = None,
        read_list: ListReader | None = None,
        refresh_s: float = 3600.0,
        start: int = 0,
        is_alone: bool = False,
    ) -> None:
        self._clock = clock
        self._order = order
        self._rules = rules or QuarantineRules()
        self._read_list = read_list
        self._refresh_s = refresh_s
        self._start = start
        self._health = SharedProxyHealth(shared, clock)
        self._alarm = ProxyAlarm(shared, clock, sink, is_alone=is_alone)
        self._uses: Counter[str] = Counter()
        self._silences: dict[str, list[str]] = {}  # hosts that did not answer since a proxy's last answer
        self._errors = ErrorJudge()
        self._pauses = TrialMemory()
        self._suspects: OrderedDict[str, set[str]] = OrderedDict()  # proxies that failed at a host in a row
        self._claimant, self._claims = uuid.uuid4().hex[:12], itertools.count()
        self._canaries: dict[tuple[str, str], _Canary] = {}  # of this worker, by proxy and host
        self._reading: asyncio.Task[None] | None = None
        self._read_at = clock.now()
        self._take_list(proxies)

    def __repr__(self) -> str:
        return f"<ProxyPool of {len(self.proxies)}, {self._order}>"

    def _take_list(self, proxies: Sequence[Proxy]) -> None:
        self._by_name = {proxy.name: proxy for proxy in proxies}
        self.proxies = tuple(self._by_name.values())
        self._rotations: dict[str, ProxyRotation] = {}
        for kept in (self._uses, self._silences):
            for name in kept.keys() - self._by_name.keys():
                del kept[name]
        self._errors.keep_proxies(self._by_name)
        self._health.watch_proxies(proxy.name for proxy in self.proxies)

    def find_proxy(self, name: str) -> Proxy | None:
        """Return the proxy of that name, if the lists still name it."""
        return self._by_name.get(name)

    def has_kind(self, kind: str) -> bool:
        """Return whether the crawl has a proxy of this kind."""
        return bool(self._find_rotation(kind).proxies)

    # ------------------------------------------------------------------ before a request

    async def choose_proxy(
        self,
        host: str,
        *,
        kind: str = "",
        session: str = "",
        preferred: str = "",
        avoid: Collection[str] = (),
    ) -> Proxy | Detour:
        """Return the proxy for a request of ``host`` (its politeness key), or a wait for one.

        An empty ``kind`` allows any; ``preferred`` names the proxy to take if it is usable; ``avoid`` names
        proxies that have failed this request. Raises ``StorageError``, and ``MissingServiceError`` if the
        crawl has no proxy of that kind at all.
        """
        self._refresh_list()
        await self._health.look()
        rotation = self._find_rotation(kind)
        if not rotation.proxies:
            raise MissingServiceError(
                f"the crawl has no proxy of the kind {kind!r}: add some to `proxies`, or do without"
                if kind
                else "the lists in the settings `proxies` are empty: add proxies to them"
            )
        asked = (f"{session} {registrable_domain(host.partition(':')[0])}", self._uses, preferred)
        while True:
            now = self._clock.now()
            choice = choose_candidate(
                rotation.list_candidates(*asked),
                self._health.find_health,
                host,
                now,
                avoid,
                working=rotation.list_working(*asked) if self._pauses.is_paused(host, now) else None,
            )
            if choice.proxy is None:
                return await self._wait_for_proxy(rotation, kind, host, choice.wait_s)
            if not choice.is_canary or await self._claim_canary(choice.proxy, host):
                break  # otherwise another worker has claimed it meanwhile
        rotation.note_use(choice.proxy.name)
        self._uses[choice.proxy.name] += 1
        self._note_trial(choice.proxy, host, is_canary=choice.is_canary)
        if not choice.is_canary:
            await self._alarm.end(kind, host)
        return choice.proxy

    def _note_trial(self, proxy: Proxy, host: str, *, is_canary: bool) -> None:
        if is_canary or not self._errors.is_proven(proxy.name):
            self._pauses.begin_trial(host, self._clock.now())

    def _find_rotation(self, kind: str) -> ProxyRotation:
        if kind not in self._rotations:
            of_kind = [proxy for proxy in self.proxies if not kind or proxy.kind == kind]
            self._rotations[kind] = rotation = ProxyRotation(of_kind, self._order, start=self._start)
            for proxy in of_kind:
                if self._errors.is_proven(proxy.name):
                    rotation.note_working(proxy)
        return self._rotations[kind]

    async def _claim_canary(self, proxy: Proxy, host: str) -> bool:
        """Claim the trial of a proxy for this request; return whether that succeeded."""
        claimant, now = f"{self._claimant}-{next(self._claims)}", self._clock.now()
        claim = partial(claim_canary, host=host, claimant=claimant, now=now)
        if not has_canary(await self._health.change(proxy.name, claim), host, claimant):
            return False
        self._canaries[proxy.name, host] = _Canary(claimant, now)
        return True

    async def _wait_for_proxy(self, rotation: ProxyRotation, kind: str, host: str, wait_s: float) -> Detour:
        healths = [self._health.find_health(proxy.name) for proxy in rotation.proxies]
        is_everywhere = all(is_on_trial(health, "") for health in healths)
        now = self._clock.now()
        why = await self._alarm.begin(kind, "" if is_everywhere else host, len(healths), wait_s)
        return Detour(
            wait_s=min(wait_s, LONGEST_WAIT_S),
            why=why,
            refusals=count_refusals(healths, host, now),
            refused=count_refused(healths, host, now),
        )

    # ------------------------------------------------------------------ after it

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """Learn from a request's result; advise a free retry if its proxy failed it.

        Raises ``StorageError``.
        """
        proxy, outcome = report.route.proxy, outcome_of(report)
        if proxy is None:
            return None
        if outcome is None:
            await self.release_proxy(proxy, report.host, report.result.attempts[0].at)
            return None
        row, latency_s = report.result.attempts[0], report.fetched.latency_s if report.fetched else 0.0
        if outcome is ProxyOutcome.FAILED:
            self._alarm.note_failure(row.detail)
        most_s = PROBED_S if report.is_probe else self._rules.max_s
        await self.record_outcome(
            proxy, report.host, outcome, started_at=row.at, latency_s=latency_s, most_s=most_s
        )
        most = {ProxyOutcome.FAILED: MOST_FREE_TRIES, ProxyOutcome.DOUBTED: MOST_DOUBTED_TRIES}.get(
            outcome, 0
        )
        if row.attempt > most:
            return None
        why = "again, since" if outcome is ProxyOutcome.FAILED else "again through another proxy, since"
        return Advice(due_at=self._clock.now(), detail=f"{why} the proxy {proxy.name} failed")

    async def record_outcome(
        self,
        proxy: Proxy,
        host: str,
        outcome: ProxyOutcome,
        *,
        started_at: float,
        latency_s: float = 0.0,
        most_s: float = float("inf"),
    ) -> None:
        """Learn from the result of a request of ``host`` through a proxy. Raises ``StorageError``.

        ``most_s`` limits a quarantine that follows.
        """
        canary = self._end_canary(proxy, host, started_at)
        if canary or not self._errors.is_proven(proxy.name):
            is_failed = outcome in (ProxyOutcome.FAILED, ProxyOutcome.SILENT)
            self._pauses.end_trial(host, self._clock.now(), started_at if is_failed else None)
        known = self._health.find_health(proxy.name)
        counted, outcome = outcome, self._judge(proxy.name, host, outcome, is_canary=bool(canary))
        if not changes_quarantine(known, host, outcome):
            await self._health.count(proxy.name, counted, latency_s)
            return
        self._health.add_count(proxy.name, counted, latency_s)
        rules = replace(self._rules, max_s=min(self._rules.max_s, most_s))

        def change(health: ProxyHealth) -> ProxyHealth:
            return apply_outcome(
                release_canary(health, canary),
                host,
                outcome,
                kind=proxy.kind,
                started_at=started_at,
                now=self._clock.now(),
                rules=rules,
            )

        await self._health.change(proxy.name, change)

    async def pardon_host(self, host: str) -> None:
        """Let the proxies that rest at a host return: they were not to blame. Raises ``StorageError``."""
        await self._health.look(is_forced=True)  # another worker may have put one to rest just now
        now = self._clock.now()
        for proxy in self.proxies:
            health = self._health.find_health(proxy.name)
            if pardon_host(health, host, now) is not health:
                await self._health.change(proxy.name, partial(pardon_host, host=host, now=now))

    def _judge(self, name: str, host: str, outcome: ProxyOutcome, *, is_canary: bool) -> ProxyOutcome:
        """Attribute an outcome to the proxy or the host, considering earlier outcomes."""
        if outcome in (ProxyOutcome.SILENT, ProxyOutcome.DOUBTED) and is_canary:
            is_whole = is_on_trial(self._health.find_health(name), "")
            return ProxyOutcome.FAILED if is_whole else ProxyOutcome.STALLED
        if outcome is ProxyOutcome.DOUBTED:
            return self._errors.judge_proxy(name, host)
        if outcome is ProxyOutcome.SILENT:
            hosts = self._silences.setdefault(name, [])
            hosts.append(host)
            judged = judge_silence(hosts)
            if judged is not ProxyOutcome.SILENT:
                del self._silences[name]
            return judged
        self._silences.pop(name, None)
        if outcome is not ProxyOutcome.FAILED:
            self._suspects.pop(host, None)
            return outcome
        failed = self._suspects.setdefault(host, set())
        is_hosts = len(failed - {name}) >= SUSPICIOUS
        failed.add(name)
        if len(self._suspects) > MAX_SUSPECTS:
            self._suspects.popitem(last=False)
        return ProxyOutcome.STALLED if is_hosts and not is_canary else outcome

    # ------------------------------------------------------------------ whose an error is

    def note_answer(self, proxy: Proxy, host: str, url: str) -> None:
        """Record a host's answer through a proxy that is not an error."""
        if proxy.name in self._by_name:
            if not self._errors.is_proven(proxy.name):
                self._pauses.end_trial(host, self._clock.now())
                for rotation in self._rotations.values():
                    rotation.note_working(proxy)
            self._errors.note_answer(proxy.name, host, url)

    def doubt_error(self, route: Route, host: str, url: str, *, is_signed: bool) -> bool:
        """Return whether a host's error may be the proxy's own, so that another proxy must confirm it."""
        if route.proxy is None or route.proxy.name not in self._by_name:  # a spider's own
            return False
        others = self._count_others(route.proxy, kind_of(route.rung), host)
        return self._errors.doubt_error(route.proxy.name, host, url, others=others, is_signed=is_signed)

    def _count_others(self, proxy: Proxy, kind: str, host: str) -> int:
        """Return the number of other usable proxies, as far as it matters."""
        now = self._clock.now()
        usable = (
            other
            for other in self._find_rotation(kind).proxies
            if other.name != proxy.name and not wait_s_of(self._health.find_health(other.name), host, now)
        )
        return sum(1 for _ in itertools.islice(usable, MOST_OTHERS))

    async def release_proxy(self, proxy: Proxy, host: str, started_at: float | None = None) -> None:
        """Release a proxy without a verdict; another request may try it out. Raises ``StorageError``.

        ``started_at`` is ``None`` for a request that was not sent.
        """
        if claimant := self._end_canary(proxy, host, started_at):
            await self._health.change(proxy.name, partial(release_canary, claimant=claimant))

    def _end_canary(self, proxy: Proxy, host: str, started_at: float | None) -> str:
        """Return the claimant of a proxy's trial; empty if the request began before it."""
        canary = self._canaries.get((proxy.name, host))
        if canary is None or (started_at is not None and started_at < canary.claimed_at):
            return ""
        del self._canaries[proxy.name, host]
        return canary.claimant

    # ------------------------------------------------------------------ the list

    def _refresh_list(self) -> None:
        """Read the list again in the background, if it is due."""
        is_due = self._clock.now() - self._read_at >= self._refresh_s
        if self._read_list is not None and is_due and self._reading is None:
            self._reading = asyncio.create_task(self._read_now(self._read_list))

    async def _read_now(self, read_list: ListReader) -> None:
        try:
            proxies = await read_list()
        except OperatorError as error:
            self._alarm.tell("warning", f"{error}; the former list of proxies stays in use")
        else:
            if {proxy.name for proxy in proxies} != {proxy.name for proxy in self.proxies}:
                self._alarm.tell("info", f"the list of proxies has changed: now there are {len(proxies)}")
            self._take_list(proxies)
        finally:
            self._read_at, self._reading = self._clock.now(), None

    async def close(self) -> None:
        """Save counts. Idempotent. Raises ``StorageError``."""
        await end_tasks(self._reading)
        await self._health.save_counts()
