"""Random histories: memory, SQLite and Redis against a plain model, and against each other, step by step.

The model is written from the port's text, not from the code: a dict of requests, and for each answer
the properties that must hold of it. Hosts' pace comes from the policy, which has tests of its own.
"""

import asyncio
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from msgspec.structs import replace

from gossamer.core.errors import TransitionError
from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JOB_TABLE, JobCommand, JobState, RequestState
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.policy.politeness import KEPT_SHARE
from gossamer.policy.retry import due_after_expiry
from gossamer.testing.clock import EPOCH, ManualClock

PLACE = {"url": ""}


@pytest.fixture(autouse=True)
def place(redis_url):
    """Where the Redis is; a state machine takes no fixtures."""
    PLACE["url"] = redis_url


COMMANDS = [command for command in JobCommand if command is not JobCommand.CANCEL]  # it is for good
HOSTS = ("a", "b", "c", "free/a")
LANES = ("http", "browser", EXTRACT_LANE)

rules_ = st.builds(
    FrontierRules,
    delay_s=st.sampled_from([0.0, 0.002, 0.5, 3.0, None]),
    per_host=st.sampled_from([1, 2, 5]),
    max_pages=st.sampled_from([None, None, 6]),
    max_pages_per_host=st.sampled_from([None, None, 3]),
    max_expiries=st.sampled_from([0, 2]),
    max_depth=st.sampled_from([None, 1]),
    max_silences=st.just(3),
    host_patience_s=st.sampled_from([30.0, 21_600.0]),
    backoff_base_s=st.sampled_from([1.0, 1.0, 0.0]),
    backoff_cap_s=st.sampled_from([300.0, 0.0]),
    max_delay_s=st.sampled_from([30.0, 0.4]),
)
entries_ = st.lists(
    st.builds(
        lambda n, host, lane, priority, wait, depth, force: (n, host, lane, priority, wait, depth, force),
        st.integers(0, 25),
        st.sampled_from(HOSTS),
        st.sampled_from(LANES),
        st.sampled_from([-1, 0, 0, 0, 2, 1000, 999, -4, -9]),
        st.sampled_from([0, 0, 0, 4]),
        st.integers(0, 2),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=8,
)
signals_ = st.builds(
    lambda kind, late, latency, retry_after, read: (kind, late, latency, retry_after, read),
    st.sampled_from(list(HostSignalKind)),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([None, 0.2, 4.0]),
    st.sampled_from([None, None, 9.0, 0.0]),
    st.sampled_from([False, False, True]),
)


class Row:
    def __init__(self, number, entry, state):
        self.id, self.entry, self.state = number, entry, state
        self.due_at = entry.due_at
        self.attempts = self.failures = self.throttled = self.expiries = 0
        self.lease = None
        self.deadline = None


class Histories(RuleBasedStateMachine):
    leases = Bundle("leases")

    @initialize(rules=rules_)
    def open(self, rules):
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.rules = rules
        self.db = Database(self.folder / "x.db")
        self.memory = MemoryFrontier(rules, self.clock, seed=5)
        self.sqlite = SqliteFrontier(self.db, "j-1", rules, self.clock, seed=5)
        self.server = RedisServer(PLACE["url"])
        self.redis = self.in_redis(rules)
        self.loop.run_until_complete(self.redis.delete_requests())
        self.loop.run_until_complete(self.redis.create_shards())
        self.rows, self.known, self.tokens = [], set(), set()
        self.job = JobState.RUNNING
        self.pages = self.duplicates = self.too_deep = 0
        self.skipped = set()
        self.host_pages = dict.fromkeys(HOSTS, 0)

    def in_redis(self, rules):
        return RedisFrontier(self.server, "j-1", rules, self.clock, uses_server_time=False, seed=5)

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()
            self.loop.run_until_complete(self.server.close())
            self.loop.close()
            shutil.rmtree(self.folder)

    def all_of(self, method, *args, **named):
        """The answer of all frontiers, which must be the same."""
        one = self.loop.run_until_complete(getattr(self.memory, method)(*args, **named))
        two = self.loop.run_until_complete(getattr(self.sqlite, method)(*args, **named))
        assert one == two, f"{method}: memory says {one}, SQLite says {two}"
        three = self.loop.run_until_complete(getattr(self.redis, method)(*args, **named))
        assert one == three, f"{method}: memory says {one}, Redis says {three}"
        return one

    # ------------------------------------------------------------- the model's own words

    def now(self):
        return self.clock.now()

    def in_state(self, *states):
        return [row for row in self.rows if row.state in states]

    def entries(self, drawn):
        return [
            Entry(
                request=Request(f"http://{host}/{n}", priority=p, lane=lane, depth=depth, dont_filter=force),
                fingerprint=n,
                host=host,
                due_at=self.now() + wait if wait else 0.0,
            )
            for n, host, lane, p, wait, depth, force in drawn
        ]

    def accept(self, entries):
        accepted = 0
        for entry in entries:
            if self.rules.max_depth is not None and entry.request.depth > self.rules.max_depth:
                self.too_deep += 1
            elif entry.fingerprint in self.known and not entry.request.dont_filter:
                self.duplicates += 1
            else:
                accepted += 1
                if not entry.request.dont_filter:
                    self.known.add(entry.fingerprint)
                state = RequestState.DELAYED if entry.due_at > self.now() else RequestState.PENDING
                self.rows.append(Row(len(self.rows), entry, state))
        return accepted

    def expire(self, row):
        row.attempts += 1
        row.expiries += 1
        row.lease = None
        row.due_at = due_after_expiry(row.entry.fingerprint, row.expiries, self.rules, self.now())
        row.entry = replace(row.entry, due_at=row.due_at)
        row.state = RequestState.DEAD if row.expiries > self.rules.max_expiries else RequestState.DELAYED

    def holder(self, lease):
        return next((row for row in self.rows if row.lease and row.lease.token == lease.token), None)

    def signal(self, drawn, lease):
        kind, late, latency, retry_after, read = drawn
        return HostSignal(
            kind=kind,
            started_at=lease.granted_at + late,
            latency_s=latency,
            retry_after_s=retry_after,
            robots_read=read,
            crawl_delay_s=2.0 if read else None,
        )

    # ------------------------------------------------------------- what can happen

    @rule(drawn=entries_)
    def add(self, drawn):
        self.add_(drawn)

    def add_(self, drawn):
        entries = self.entries(drawn)
        added = self.all_of("add", entries)
        assert added.accepted == self.accept(entries)
        assert added.accepted + added.duplicates + added.too_deep == len(entries)

    @rule(
        target=leases,
        lane=st.sampled_from([*LANES, "new"]),
        limit=st.sampled_from([0, 1, 2, 3, 50]),
        ttl=st.sampled_from([2, 30]),
    )
    def lease(self, lane, limit, ttl):
        return multiple(*self.lease_(lane, limit, ttl))

    def lease_(self, lane, limit, ttl):
        grant = self.all_of("lease", lane, limit, ttl)
        overdue = [row for row in self.in_state(RequestState.LEASED) if row.deadline <= self.now()]
        assert {lease.token for lease in grant.expired} == {row.lease.token for row in overdue}
        for row in overdue:
            self.expire(row)
        for row in self.in_state(RequestState.DELAYED):
            if row.entry.request.lane == lane and row.due_at <= self.now():
                row.state = RequestState.PENDING
        assert len(grant.leases) <= limit
        assert self.job is JobState.RUNNING or not grant.leases
        last_band = 0
        for lease in grant.leases:
            row = self.take(lease, lane, ttl)
            # No better request of a host that could still start may have been passed over.
            assert row.entry.request.band >= last_band
            last_band = row.entry.request.band
        self.check_next_at(grant, lane, limit)
        assert all(lease.start_by > self.now() + 10**9 for lease in grant.leases if "/" in lease.entry.host)
        return grant.leases

    def take(self, lease, lane, ttl):
        assert lease.token not in self.tokens, "a token was reused"
        self.tokens.add(lease.token)
        waiting = [
            row
            for row in self.in_state(RequestState.PENDING)
            if row.entry.host == lease.entry.host and row.entry.request.lane == lane
        ]
        row = min(
            waiting, key=lambda row: (-row.entry.request.priority, row.id)
        )  # the host's best, the oldest
        assert lease.entry == row.entry
        counts = (row.attempts + 1, row.failures, row.throttled, row.expiries)
        assert (lease.attempt, lease.failures, lease.throttled, lease.expiries) == counts
        assert lease.granted_at == self.now()
        assert lease.deadline == self.now() + ttl
        assert lease.start_by > self.now()
        assert row.entry.host not in self.skipped
        row.state, row.lease, row.deadline = RequestState.LEASED, lease, lease.deadline
        return row

    def check_next_at(self, grant, lane, limit):
        """Never later than a deadline or a due time; and ahead, if the grant was not cut short."""
        held = [row.deadline for row in self.in_state(RequestState.LEASED)]
        times = (
            held
            if not self.budget_left(lane)
            else held
            + [row.due_at for row in self.in_state(RequestState.DELAYED) if row.entry.request.lane == lane]
        )
        if times:
            assert grant.next_at is not None
            assert grant.next_at <= min(times)
        if grant.next_at is not None and len(grant.leases) < limit:
            assert grant.next_at > self.now()

    def budget_left(self, lane):
        leased = len(self.in_state(RequestState.LEASED))
        spent = self.rules.max_pages is not None and self.pages + leased >= self.rules.max_pages
        return self.job is JobState.RUNNING and (lane == EXTRACT_LANE or not spent)

    @rule(
        lease=leases,
        verdict=st.sampled_from(
            [Verdict.SUCCESS, Verdict.SUCCESS, Verdict.SKIPPED, Verdict.RETRY, Verdict.DEAD, Verdict.REROUTED]
        ),
        charged=st.sampled_from([True, False, None]),
        wait=st.sampled_from([0.0, 5.0]),
        drawn=signals_,
        outlinks=entries_,
        lane=st.sampled_from([*LANES, "new"]),
    )
    def settle(self, lease, verdict, charged, wait, drawn, outlinks, lane):
        self.settle_(lease, verdict, charged, wait, drawn, outlinks, lane)

    def settle_(self, lease, verdict, charged, wait, drawn, outlinks, lane=""):
        links = tuple(self.entries(outlinks))
        is_page = verdict is Verdict.SUCCESS
        outcome = Outcome(
            lease=lease,
            verdict=verdict,
            reason=verdict.value,
            due_at=self.now() + wait,
            charged=bool(charged),
            is_excused=charged is None,
            is_page=is_page,
            lane=lane if verdict is Verdict.REROUTED else "",
            signal=self.signal(drawn, lease),
            outlinks=links,
        )
        (accepted,) = self.all_of("settle", [outcome])
        row = self.holder(lease)
        assert accepted == (row is not None)
        if row is None:
            return
        row.attempts += 1
        row.lease = None
        self.pages += is_page
        self.host_pages[row.entry.host] += is_page
        if verdict is Verdict.RETRY:
            row.state, row.due_at = RequestState.DELAYED, outcome.due_at
            row.entry = replace(row.entry, due_at=outcome.due_at)
            row.failures += charged is True
            row.throttled += charged is False
        elif verdict is Verdict.REROUTED:
            row.state = RequestState.PENDING
            row.entry = replace(row.entry, request=row.entry.request.replace(lane=lane))
        else:
            row.state = RequestState.DEAD if verdict is Verdict.DEAD else RequestState.DONE
        self.accept(links)

    @rule(target=leases, drawn=entries_, signal=signals_, charged=st.booleans())
    def a_round(self, drawn, signal, charged):
        """What mostly happens, in one step, so that short histories get far."""
        self.add_(drawn)
        self.clock.advance(6)
        leases = self.lease_(LANES[0], 3, 30)
        for lease in leases[1:]:
            self.settle_(lease, Verdict.RETRY, charged, 1.0, signal, [])
        return multiple(*leases)

    @rule(batch=st.lists(leases, max_size=6), drawn=signals_)
    def settle_many(self, batch, drawn):
        outcomes = [
            Outcome(lease=lease, verdict=Verdict.SKIPPED, signal=self.signal(drawn, lease)) for lease in batch
        ]
        answers = self.all_of("settle", outcomes)
        for lease, accepted in zip(batch, answers, strict=True):
            row = self.holder(lease)
            assert accepted == (row is not None)
            if row is not None:
                row.attempts, row.lease, row.state = row.attempts + 1, None, RequestState.DONE

    @rule(batch=st.lists(leases, max_size=4), drawn=signals_)
    def release(self, batch, drawn):
        self.all_of("release", batch, [self.signal(drawn, lease) for lease in batch])
        for lease in batch:
            row = self.holder(lease)
            if row is not None:
                row.lease, row.state = None, RequestState.PENDING

    @rule(batch=st.lists(leases, max_size=4), ttl=st.sampled_from([1, 40]))
    def extend(self, batch, ttl):
        answers = self.all_of("extend", batch, ttl)
        assert answers == [self.holder(lease) is not None for lease in batch]
        for lease in batch:
            row = self.holder(lease)
            if row is not None:
                row.deadline = self.now() + ttl

    @rule(numbers=st.sets(st.integers(0, 25), max_size=6), priority=st.sampled_from([-1, 0, 1, 4, 999, 2000]))
    def raise_requests(self, numbers, priority):
        rows = [
            row for row in self.rows if row.entry.fingerprint in numbers and not row.entry.request.dont_filter
        ]
        wanted = [
            replace(row.entry, request=row.entry.request.replace(priority=priority, meta={"to": priority}))
            for row in rows
        ]
        waiting = [
            (row, entry)
            for row, entry in zip(rows, wanted, strict=True)
            if row.state in (RequestState.PENDING, RequestState.DELAYED)
            and row.entry.request.priority < priority
        ]
        assert self.all_of("raise_requests", wanted) == len(waiting)
        for row, entry in waiting:
            row.entry = entry

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 45.0, 400.0]))
    def wait(self, seconds):
        self.clock.advance(seconds)

    @rule(
        change=st.sampled_from([one for one in JobCommand if one is not JobCommand.CANCEL]),
        rules=st.none() | rules_,
    )
    def apply_change(self, change, rules):
        if (self.job, change) not in JOB_TABLE:
            for frontier in (self.memory, self.sqlite, self.redis):
                with pytest.raises(TransitionError):
                    self.loop.run_until_complete(frontier.apply_change(change, rules))
            return
        taken = self.all_of("apply_change", change, rules)
        self.rules, self.job = rules or self.rules, JOB_TABLE[self.job, change]
        held = self.in_state(RequestState.LEASED) if change is JobCommand.RECOVER else []
        assert {lease.token for lease in taken} == {row.lease.token for row in held}
        for row in held:
            self.expire(row)

    @rule()
    def count_due(self):
        """All say the same, and of no lane more than waits in it or in its delayed requests that are due."""
        for due in self.all_of("count_due"):
            waiting = [
                row
                for row in self.in_state(RequestState.PENDING, RequestState.DELAYED)
                if row.entry.request.lane == due.lane
                and (row.state is RequestState.PENDING or row.due_at <= self.now())
            ]
            assert 0 < due.requests <= len(waiting)
            assert due.since <= self.now()
            assert self.budget_left(due.lane)

    @rule(lane=st.sampled_from(LANES))
    def lease_all_that_is_due(self, lane):
        """As many as was said. What is overdue is taken back before, and changes hosts."""
        if any(row.deadline <= self.now() for row in self.in_state(RequestState.LEASED)):
            return
        said = sum(due.requests for due in self.all_of("count_due") if due.lane == lane)
        assert len(self.lease_(lane, 400, 30)) == said

    @rule(rules=rules_, is_expected=st.booleans())
    def change_rules(self, rules, is_expected):
        expected = self.rules if is_expected else replace(self.rules, max_throttled=99)
        assert self.all_of("change_rules", rules, expected=expected) == is_expected
        self.rules = rules if is_expected else self.rules
        assert self.all_of("read_rules") == self.rules

    @rule(
        host=st.sampled_from(HOSTS),
        command=st.sampled_from(HostCommand),
        delay=st.sampled_from([None, 0.0, 0.4, 5.0]),
        wait=st.sampled_from([0.0, 8.0, 90.0]),
    )
    def steer_host(self, host, command, delay, wait):
        order = HostOrder(command=command, delay_s=delay, until=self.now() + wait)
        before = self.all_of("find_host", host)
        assert self.all_of("steer_host", host, order) == (before and before.state)
        if before is not None and command in (HostCommand.SKIP, HostCommand.TAKE):
            self.skipped = (self.skipped - {host}) | ({host} if command is HostCommand.SKIP else set())
        assert self.all_of("find_host", host) is not None or before is None

    @rule(verb=st.sampled_from(["revive_letters", "drop_letters"]), host=st.none() | st.sampled_from(HOSTS))
    def sort_out_the_dead(self, verb, host):
        chosen = [row for row in self.in_state(RequestState.DEAD) if host in (None, row.entry.host)]
        assert self.all_of(verb, DeadLetterFilter(host=host)) == len(chosen)
        for row in chosen:
            row.state = RequestState.DONE if verb == "drop_letters" else RequestState.PENDING
            row.attempts = row.failures = row.throttled = row.expiries = 0
        if chosen and verb == "revive_letters" and self.job is JobState.FINISHED:
            self.job = JobState.RUNNING

    @rule(host=st.none() | st.sampled_from(HOSTS))
    def take_back_a_retry(self, host):
        letters = self.all_of("dead_letters", DeadLetterFilter(host=host))
        rows = [(row, row.attempts) for row in self.in_state(RequestState.DEAD)]
        self.sort_out_the_dead("revive_letters", host)
        assert self.all_of("bury_letters", letters, were_dropped=False) == len(letters)
        for row, attempts in rows:
            row.state, row.attempts = RequestState.DEAD, attempts
        assert self.all_of("dead_letters", DeadLetterFilter(host=host)) == letters

    @rule()
    def restart(self):
        self.db.close()
        self.db = Database(self.folder / "x.db")
        generator = self.sqlite._random
        self.sqlite = SqliteFrontier(self.db, "j-1", FrontierRules(), self.clock)
        self.sqlite._random = generator  # so that all draw the same jitter
        before, self.redis = self.redis, self.in_redis(FrontierRules())
        self.redis._random, self.redis._jitters = before._random, before._jitters

    # ------------------------------------------------------------- what always holds

    @invariant()
    def counts_agree(self):
        if not hasattr(self, "rules"):
            return
        stats = self.all_of("read_stats")
        for state in RequestState:
            assert getattr(stats, state.value) == len(self.in_state(state)), state
        totals = (stats.pages, stats.duplicates, stats.too_deep, stats.state)
        assert totals == (self.pages, self.duplicates, self.too_deep, self.job)
        assert stats.hosts == len({row.entry.host for row in self.rows})
        if self.rules.max_pages is not None:
            left = [
                row
                for row in self.in_state(RequestState.PENDING, RequestState.DELAYED)
                if row.entry.request.lane == EXTRACT_LANE
            ]
            if self.pages < self.rules.max_pages or any(
                row.state is RequestState.DELAYED
                or ("/" in row.entry.host and row.entry.host not in self.skipped)
                for row in left
            ):
                assert not stats.budget_spent
            elif not left:
                assert stats.budget_spent

    @invariant()
    def hosts_are_within_bounds(self):
        if not hasattr(self, "rules"):
            return
        for report in self.all_of("busiest_hosts", 10):
            rows = [row for row in self.rows if row.entry.host == report.host]
            assert report.pending == sum(row.state is RequestState.PENDING for row in rows)
            assert report.state.in_flight == sum(row.state is RequestState.LEASED for row in rows)
            assert report.state.pages == (0 if report.state.is_free else self.host_pages[report.host])
            assert report.state.is_free == ("/" in report.host)

    @invariant()
    def counters_equal_the_rows(self):
        if not hasattr(self, "rules"):
            return
        codes = self.db.run_sync(
            lambda conn: dict(conn.execute("SELECT state, count(*) FROM request GROUP BY state").fetchall())
        )
        expected = [RequestState.PENDING, RequestState.DELAYED, RequestState.LEASED, RequestState.DEAD]
        assert [codes.get(code, 0) for code in range(4)] == [len(self.in_state(s)) for s in expected]
        assert self.loop.run_until_complete(self.sizes_in_redis()) == [
            len(self.in_state(s)) for s in expected
        ]

    async def sizes_in_redis(self):
        key, ask = self.server.key_for("j-1:0"), self.server.run_command
        sizes = dict.fromkeys("qbdl", 0)
        commands = {"q": "LLEN", "b": "ZCARD", "d": "ZCARD"}
        for name in await ask("KEYS", f"{key}:[qbd]:*"):
            kind = name.decode().removeprefix(f"{key}:")[0]
            sizes[kind] += await ask(commands[kind], name)
        leased, dead = await ask("HLEN", f"{key}:leases"), await ask("ZCARD", f"{key}:dead")
        assert leased == await ask("ZCOUNT", f"{key}:deadlines", "-inf", "(inf")
        return [sizes["q"] + sizes["b"], sizes["d"], leased, dead]


Histories.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # a long history says enough; shrinking takes minutes
)
test_histories = Histories.TestCase


class TwoJobs(RuleBasedStateMachine):
    """Two jobs of one place: all frontiers say the same, and no host is asked sooner than it may be."""

    @initialize(first=rules_, second=rules_)
    def open(self, first, second):
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.rules = [replace(rules, max_pages=None, max_expiries=2) for rules in (first, second)]
        self.databases = [Database(self.folder / "x.db") for _ in range(2)]  # two processes
        self.server = RedisServer(PLACE["url"])
        self.loop.run_until_complete(self.server.delete_keys(f"{self.server.key_for('model')}*"))
        paces = {}
        self.jobs = []
        for number, rules in enumerate(self.rules):
            redis = RedisFrontier(
                self.server, f"m-{number}", rules, self.clock, paces="model", uses_server_time=False, seed=5
            )
            self.loop.run_until_complete(redis.delete_requests())
            self.loop.run_until_complete(redis.create_shards())
            sqlite = SqliteFrontier(self.databases[number], f"m-{number}", rules, self.clock, seed=5)
            self.jobs.append((MemoryFrontier(rules, self.clock, paces=paces, seed=5), sqlite, redis))
        for job in (0, 1):  # from now on, each knows of the other
            self.all_of(job, "add", [Entry(request=Request("http://b/"), fingerprint=-1, host="b")])
        self.held = [[], []]
        self.latest = {}  # by host: when it was asked last, and the delay that the asking job had
        self.fingerprint = 0

    def teardown(self):
        if hasattr(self, "jobs"):
            for database in self.databases:
                database.close()
            self.loop.run_until_complete(self.server.close())
            self.loop.close()
            shutil.rmtree(self.folder)

    def all_of(self, job, method, *args):
        answers = [self.loop.run_until_complete(getattr(one, method)(*args)) for one in self.jobs[job]]
        assert answers[0] == answers[1], f"{method}: memory says {answers[0]}, SQLite says {answers[1]}"
        assert answers[0] == answers[2], f"{method}: memory says {answers[0]}, Redis says {answers[2]}"
        return answers[0]

    @rule(job=st.sampled_from([0, 1]), host=st.sampled_from(["a", "b", "free/a"]), count=st.integers(1, 5))
    def add(self, job, host, count):
        entries = []
        for _ in range(count):
            self.fingerprint += 1
            request = Request(f"http://{host}/{self.fingerprint}", priority=(self.fingerprint % 3) * 100)
            entries.append(Entry(request=request, fingerprint=self.fingerprint, host=host))
        self.all_of(job, "add", entries)

    @rule(
        jobs=st.permutations([0, 1]),
        limit=st.sampled_from([1, 3, 20]),
        wait=st.sampled_from([0, 0.05, 0.5, 4.0]),
    )
    def lease(self, jobs, limit, wait):
        self.clock.advance(wait)
        for job in jobs:
            grant = self.all_of(job, "lease", "http", limit, 30)
            expired = {lease.token for lease in grant.expired}
            self.held[job] = [lease for lease in self.held[job] if lease.token not in expired]
            for lease in grant.leases:
                self.held[job].append(lease)
                self.check_start(job, lease)

    def check_start(self, job, lease):
        host, now = lease.entry.host, self.clock.now()
        if "/" in host:
            return
        in_hand = [
            held for leases in self.held for held in leases if held.entry.host == host and held.deadline > now
        ]
        assert len(in_hand) <= max(rules.per_host for rules in self.rules)
        if any(held in in_hand for held in self.held[1 - job]):
            assert len(in_hand) <= self.rules[job].per_host, "no more than its own rules allow"
        delay_s = self.rules[job].delay_s or 0.0
        if host in self.latest:
            at, asked_s = self.latest[host]
            assert now - at >= max(delay_s, asked_s) * KEPT_SHARE - 1e-6
        self.latest[host] = now, delay_s

    @rule(job=st.sampled_from([0, 1]), drawn=signals_, is_page=st.booleans())
    def settle(self, job, drawn, is_page):
        if not self.held[job]:
            return
        lease = self.held[job].pop(0)
        kind, _, latency, retry_after, read = drawn
        if kind is HostSignalKind.UNUSED:
            kind = HostSignalKind.OK
        signal = HostSignal(
            kind=kind, started_at=lease.granted_at, latency_s=latency, retry_after_s=retry_after,
            robots_read=read, crawl_delay_s=2.0 if read else None,
        )  # fmt: skip
        outcome = Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=is_page, signal=signal)
        self.all_of(job, "settle", [outcome])

    @rule(job=st.sampled_from([0, 1]))
    def extend(self, job):
        held = [lease for lease in self.held[job] if lease.deadline > self.clock.now()]
        self.all_of(job, "extend", held, 40)
        self.held[job] = [replace(lease, deadline=self.clock.now() + 40) for lease in held]

    @rule(
        job=st.sampled_from([0, 1]), until=st.sampled_from([3.0, 60.0]), command=st.sampled_from(HostCommand)
    )
    def steer(self, job, until, command):
        if command is HostCommand.ASK:  # a person may ask sooner than the delay of another job says
            return
        delay_s = self.rules[job].delay_s
        order = HostOrder(command=command, delay_s=delay_s, until=self.clock.now() + until)
        self.all_of(job, "steer_host", "a", order)

    @rule(seconds=st.sampled_from([0.02, 0.3, 6.0, 100.0]))
    def wait(self, seconds):
        self.clock.advance(seconds)

    @invariant()
    def reports_agree(self):
        for job in range(2) if hasattr(self, "jobs") else ():
            self.all_of(job, "busiest_hosts", 9)
            self.all_of(job, "count_due")
            self.all_of(job, "read_stats")


TwoJobs.TestCase.settings = settings(Histories.TestCase.settings, stateful_step_count=30)
test_two_jobs = TwoJobs.TestCase


def test_a_long_crawl_is_the_same_everywhere(tmp_path):
    """One long seeded history with many requests: what the state machine's short ones do not reach."""
    rng = random.Random(3)
    clock = ManualClock(EPOCH)
    rules = FrontierRules(delay_s=None, per_host=2, max_expiries=1)
    db = Database(tmp_path / "x.db")
    server = RedisServer(PLACE["url"])
    redis = RedisFrontier(server, "j", rules, clock, uses_server_time=False, seed=2)
    frontiers = (
        MemoryFrontier(rules, clock, seed=2),
        SqliteFrontier(db, "j", rules, clock, seed=2),
        redis,
    )

    def entry(number):
        host = f"h{number % 37}"
        request = Request(f"http://{host}/{number}", priority=(number % 3 - 1) * (number % 50))
        return Entry(request=request, fingerprint=number * 7919, host=host)

    async def all_of(method, *args):
        answers = [await getattr(frontier, method)(*args) for frontier in frontiers]
        assert answers[0] == answers[1] == answers[2], method
        return answers[0]

    async def crawl():
        added, rounds = 300, 0
        await redis.create_shards()
        await all_of("add", [entry(number) for number in range(added)])
        while (stats := await all_of("read_stats")).waiting:
            rounds += 1
            assert rounds < 5000, "the crawl does not end"
            grant = await all_of("lease", "http", 20, 30)
            outcomes = []
            for lease in grant.leases:
                links = tuple(entry(rng.randrange(added + 5)) for _ in range(10)) if added < 900 else ()
                added += 3
                verdict = rng.choice([Verdict.SUCCESS] * 6 + [Verdict.RETRY, Verdict.DEAD])
                signal = HostSignal(
                    kind=HostSignalKind.OK if verdict is Verdict.SUCCESS else HostSignalKind.UNREACHABLE,
                    started_at=clock.now(),
                    latency_s=rng.random(),
                )
                if rng.random() > 0.02:  # the others are lost with their worker
                    outcomes.append(
                        Outcome(
                            lease=lease,
                            verdict=verdict,
                            signal=signal,
                            outlinks=links,
                            due_at=clock.now() + 3,
                        )
                    )
            await all_of("settle", outcomes)
            clock.advance(
                0.3 if grant.leases else max((grant.next_at or clock.now()) - clock.now(), 0) + 1e-3
            )
        await server.close()
        return stats

    stats = asyncio.run(crawl())
    db.close()
    assert stats.done + stats.dead > 400
    assert stats.dead > 0
