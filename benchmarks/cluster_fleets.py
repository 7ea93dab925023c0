"""The fleets of the cluster's benchmark: two workers that run idle until a crawl is submitted.

Each starts its own servers and workers for one run and stops them after it. The clock starts after that, and
before the submission.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import redis
from cluster_processes import FleetError, running
from cluster_servers import Server, postgres_server, redis_server
from run import HERE, PEERS_PYTHON, Workload, environment

PEERS = HERE / "peers"
WORKERS = 2


class ItemCount:
    """Counts the items in a PostgreSQL over one persistent connection."""

    def __init__(self, url: str) -> None:
        import asyncpg

        self._loop = asyncio.Runner()
        self._connection = self._loop.run(asyncpg.connect(url))

    def now(self) -> int:
        return self._loop.run(self._connection.fetchval("SELECT count(*) FROM gossamer.item"))

    def close(self) -> None:
        self._loop.run(self._connection.close())
        self._loop.close()


class Fleet(contextlib.ExitStack):
    """Two workers and their servers, which all end when it is closed."""

    name: ClassVar[str]

    def __init__(self, workload: Workload, seeds: Sequence[str], folder: Path) -> None:
        super().__init__()
        self.workload, self.seeds, self.folder = workload, seeds, folder
        self.output = folder / "output.txt"
        self.servers: list[Server] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Servers and workers."""
        server = self.enter_context(redis_server(self.output))
        self.servers.append(server)
        self.redis_url = server.url
        self.redis = self.enter_context(redis.Redis.from_url(server.url))

    def submit(self) -> None:
        """Submit the crawl to the idle workers."""
        raise NotImplementedError

    def stored(self) -> int:
        """Return the number of stored items."""
        raise NotImplementedError

    def is_working(self) -> bool:
        """Return whether work seems to be left, as seen from outside."""
        raise NotImplementedError

    def export(self, items: Path) -> None:
        """Write the items as JSON lines."""
        raise NotImplementedError

    def _run(self, *command: str, **environ: str) -> subprocess.Popen[bytes]:
        options = {"cwd": self.folder, "env": environment() | environ}
        return self.enter_context(running(command, self.output, **options))

    def _lines(self, key: str, items: Path) -> None:
        items.write_bytes(b"".join(line + b"\n" for line in self.redis.lrange(key, 0, -1)))


class ScrapyRedis(Fleet):
    """Two spiders of scrapy-redis, the queue, the fingerprints and the items in Redis."""

    name = "scrapy-redis"

    def start(self) -> None:
        super().start()
        self._spider = "catalogue" if self.workload.site == "catalogue" else "pages"
        script = str(PEERS / "scrapy_redis_peer.py")
        limit = str(self.workload.per_host)
        self.workers = [
            self._run(str(PEERS_PYTHON), script, self.workload.name, self.redis_url, limit)
            for _ in range(WORKERS)
        ]

    def submit(self) -> None:
        self.redis.lpush(f"{self._spider}:start_urls", *(json.dumps({"url": seed}) for seed in self.seeds))

    def stored(self) -> int:
        return self.redis.llen(f"{self._spider}:items")

    def is_working(self) -> bool:
        return bool(self.redis.exists(f"{self._spider}:requests", f"{self._spider}:start_urls"))

    def export(self, items: Path) -> None:
        self._lines(f"{self._spider}:items", items)


class Tutorial(Fleet):
    """One Celery task per URL, requests and BeautifulSoup, a set of seen URLs; a worker of two processes."""

    name = "tutorial"

    def start(self) -> None:
        from celery import Celery

        super().start()
        celery = [str(PEERS_PYTHON), "-m", "celery", "-A", "tutorial_peer", "worker"]
        path = {"PYTHONPATH": str(PEERS), "BENCH_REDIS_URL": self.redis_url}
        self.workers = [self._run(*celery, "-c", str(WORKERS), "-l", "warning", **path)]
        self._app = Celery(broker=self.redis_url)
        self.callback(self._app.close)

    def submit(self) -> None:
        task = "tutorial_peer." + ("listing" if self.workload.site == "catalogue" else "page")
        for seed in self.seeds:
            self.redis.sadd("seen", seed)
            self._app.send_task(task, args=[seed], ignore_result=True)

    def stored(self) -> int:
        return self.redis.llen("items")

    def is_working(self) -> bool:
        return bool(self.redis.exists("celery", "unacked"))

    def export(self, items: Path) -> None:
        self._lines("items", items)


class Gossamer(Fleet):
    """Two workers and a supervisor; the frontier and the broker in Redis, the items in PostgreSQL."""

    name = "gossamer"

    def start(self) -> None:
        super().start()
        database = self.enter_context(postgres_server(self.output))
        self.servers.append(database)
        self._items = ItemCount(database.url)
        self.callback(self._items.close)
        self._environ = {
            "GOSSAMER_FRONTIER__URL": self.redis_url,
            "GOSSAMER_BROKER__URL": self.redis_url,
            "GOSSAMER_STORE__URL": database.url,
        }
        self.start_members()

    def start_members(self) -> None:
        """The supervisor and the workers."""
        self.workers = [self._command("supervisor"), *(self._command("worker") for _ in range(WORKERS))]

    def submit(self) -> None:
        spider = "Catalogue" if self.workload.site == "catalogue" else "Pages"
        # Each worker may have as many requests at the host as each worker of the peers.
        at_once = str(WORKERS * self.workload.per_host)
        limits = ("--delay", str(self.workload.delay_s), "--per-host", at_once)
        submitted = self._command(
            "submit", f"{PEERS / 'gossamer_peer.py'}:{spider}", "-a", f"seeds={','.join(self.seeds)}",
            *limits, "--concurrency", str(self.workload.per_host),
        )  # fmt: skip
        if submitted.wait(30):
            raise FleetError(f"gossamer submit ended with {submitted.returncode}; see {self.output}")
        self._job = spider.lower()
        self._waiting = self._command("wait", self._job, "-q")

    def stored(self) -> int:
        return self._items.now()

    def is_working(self) -> bool:
        if self._waiting.poll():
            raise FleetError(f"gossamer wait ended with {self._waiting.returncode}; see {self.output}")
        return self._waiting.returncode is None

    def export(self, items: Path) -> None:
        code = self._command("export", self._job, "-o", str(items)).wait(60)
        if code:
            raise FleetError(f"gossamer export ended with {code}; see {self.output}")

    def _command(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self._run(sys.executable, "-m", "gossamer", *arguments, **self._environ)


FLEETS: dict[str, type[Fleet]] = {fleet.name: fleet for fleet in (Gossamer, ScrapyRedis, Tutorial)}
