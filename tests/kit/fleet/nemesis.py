"""Disturbances of a fleet while it crawls: kills, stalls, restarts, lost messages; by a seed, and recorded.

A disturbance comes after a number of further requests at the site, so that a crawl meets equally many on a
fast and on a slow machine, or after some seconds without requests.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from types import TracebackType

import redis
from kombu.connection import Connection
from kombu.entity import Queue
from kombu.message import Message
from kombu.messaging import Consumer

from kit.fleet.processes import Fleet, Member
from kit.fleet.serving import Asked, ServedSite

FORGETS_S = 1.0
"""Seconds of acknowledged history that a killed Redis may lose, since it syncs every second."""
STALL_S = 3.0
"""Shorter than the time after which a worker counts as dead."""
STEAL_S, MOST_STEAL_S = 2.0, 6.0
"""Seconds for which new messages are taken away; the second where none has come by then."""
QUEUES = ("gossamer.default.http", "gossamer.default.seed")
"""Where shifts are asked for."""
LOOK_S = 0.01


@dataclass(frozen=True)
class Deed:
    """One thing that was done."""

    at: float  # seconds since the epoch
    what: str
    leases: int = 0  # that may be lost by it, so that their requests are made again
    messages: int = 0  # that were deleted
    forgets_s: float = 0.0  # this many seconds of changes may be lost; the minimum time before a repetition


Act = Callable[[Fleet, Random], Deed]
"""Disturbs a fleet once. Returns when everything it stopped runs again."""


def kill_workers(fleet: Fleet, chance: Random) -> Deed:
    """Every worker at once, as when a rack loses power."""
    at = time.time()
    for worker in fleet.workers:
        worker.kill()
    _start_again(fleet.workers, chance)
    return Deed(at, f"killed {len(fleet.workers)} workers", leases=len(fleet.workers) * fleet.in_flight)


def kill_one_worker(fleet: Fleet, chance: Random) -> Deed:
    """Kill one worker; the others continue."""
    worker = chance.choice(fleet.workers)
    at, pid = time.time(), worker.pid
    worker.kill()
    _start_again([worker], chance)
    return Deed(at, f"killed worker {pid}", leases=fleet.in_flight)


def kill_supervisors(fleet: Fleet, chance: Random) -> Deed:
    """Kill every supervisor; their knowledge is in shared storage."""
    at = time.time()
    for supervisor in fleet.supervisors:
        supervisor.kill()
    _start_again(fleet.supervisors, chance)
    return Deed(at, f"killed {len(fleet.supervisors)} supervisors")


def stall_workers(fleet: Fleet, chance: Random) -> Deed:
    """Freeze every worker for a while."""
    return _stall(fleet.workers)


def stall_one_worker(fleet: Fleet, chance: Random) -> Deed:
    """Freeze one worker for a while; the others continue."""
    return _stall([chance.choice(fleet.workers)])


def _stall(workers: Sequence[Member]) -> Deed:
    at = time.time()
    for worker in workers:
        worker.freeze()
    time.sleep(STALL_S)
    for worker in workers:
        worker.thaw()
    return Deed(at, f"stalled {len(workers)} workers for {STALL_S:g} s")


def kill_redis(fleet: Fleet, chance: Random) -> Deed:
    """Redis, and with it the requests; it comes back with what its append-only file has."""
    at = time.time()
    fleet.servers.redis.kill()
    time.sleep(chance.uniform(0.0, 1.0))
    fleet.servers.redis.start()
    return Deed(at, "killed Redis", leases=len(fleet.workers) * fleet.in_flight, forgets_s=FORGETS_S)


def restart_postgres(fleet: Fleet, chance: Random) -> Deed:
    """PostgreSQL, without a word to those who are connected."""
    at = time.time()
    fleet.servers.postgres.restart("immediate")
    return Deed(at, "restarted PostgreSQL", leases=len(fleet.workers) * fleet.in_flight)


def delete_messages(fleet: Fleet, chance: Random) -> Deed:
    """Every message in the broker, and for some seconds those that come and do not go to a worker."""
    at, url = time.time(), fleet.servers.broker_url
    count = _rob_rabbit(url) if url.startswith("amqp") else _rob_redis(url)
    return Deed(at, f"deleted {count} messages", messages=count)


def _left_to_rob(began: float, deleted: int) -> float:
    """How many seconds are left of a deed that began at `began`; none when it is done."""
    left = began + (STEAL_S if deleted else MOST_STEAL_S) - time.monotonic()
    return left if left > 0.01 else 0.0


def _rob_redis(url: str) -> int:
    """Take messages from queues, which are lists; unacknowledged ones are in `unacked*`. Bindings stay.

    Redis serves the longest-waiting client of a list first, so a new message comes here before a worker gets
    it.
    """
    began, deleted = time.monotonic(), 0
    with redis.Redis.from_url(url, socket_timeout=60) as client:
        for key in client.scan_iter():
            if client.type(key) == b"list" or key.startswith(b"unacked"):
                deleted += client.llen(key) if client.type(key) == b"list" else 1
                client.delete(key)
        while left := _left_to_rob(began, deleted):
            deleted += client.blpop(QUEUES, timeout=left) is not None
    return deleted


def _rob_rabbit(url: str) -> int:
    """A consumer beside the workers gets its share of the new ones."""
    began, taken = time.monotonic(), list[Message]()

    def take(message: Message) -> None:
        message.ack()
        taken.append(message)

    with Connection(url) as connection:
        queues = [Queue(name, channel=connection.default_channel, no_declare=True) for name in QUEUES]
        deleted = sum(queue.purge() or 0 for queue in queues)
        with Consumer(connection.default_channel, queues, on_message=take):
            while left := _left_to_rob(began, deleted + len(taken)):
                with contextlib.suppress(TimeoutError):
                    connection.drain_events(timeout=left)
    return deleted + len(taken)


def _start_again(members: Iterable[Member], chance: Random) -> None:
    time.sleep(chance.uniform(0.0, 0.5))
    for member in members:
        member.start()


class Nemesis:
    """Does an act to a fleet again and again. A context manager: it is at it within the block.

    Between two deeds the site gets `every` requests (drawn anew each time), or `patience_s` pass. After
    `most` of them the crawl is left in peace.
    """

    def __init__(
        self,
        act: Act,
        fleet: Fleet,
        site: ServedSite,
        *,
        seed: int,
        every: tuple[int, int],
        most: int = 1000,
        patience_s: float = 6.0,
    ) -> None:
        self.deeds: list[Deed] = []
        self._act, self._fleet, self._site = act, fleet, site
        self._chance = Random(seed)
        self._every, self._most, self._patience_s = every, most, patience_s
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="nemesis")

    def __repr__(self) -> str:
        return f"<Nemesis: {self.told()}>"

    def told(self) -> str:
        """Return the disturbances with their times."""
        return "; ".join(f"{time.strftime('%T', time.localtime(d.at))} {d.what}" for d in self.deeds)

    def cost(self, hits: Iterable[Asked]) -> int:
        """How many requests may have been made again because of all this."""
        times = [hit.at for hit in hits]
        forgotten = sum(
            deed.at - deed.forgets_s <= at <= deed.at for deed in self.deeds if deed.forgets_s for at in times
        )
        return sum(deed.leases for deed in self.deeds) + forgotten

    def _run(self) -> None:
        try:
            while len(self.deeds) < self._most and self._wait():
                self.deeds.append(self._act(self._fleet, self._chance))
        except BaseException as error:
            self._failed.append(error)

    def _wait(self) -> bool:
        """Until it is time for the next deed; False when there is none to be done."""
        until = self._site.count() + self._chance.randint(*self._every)
        deadline = time.monotonic() + self._patience_s
        while self._site.count() < until and time.monotonic() < deadline:
            if self._stop.wait(LOOK_S):
                return False
        return not self._stop.is_set()

    def __enter__(self) -> Nemesis:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is not None:
            error.add_note(f"its disturbances: {self.told() or 'nothing'}")
        elif self._failed:
            raise self._failed[0]
