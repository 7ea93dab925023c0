"""The workers of a crawl: one in this process, or a pool of processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.engine.worker import Worker
from gossamer.ports.worker_group import WorkerGroup
from gossamer.spiders.spider import Spider
from gossamer.wiring.assemble import CrawlParts


def make_worker_group(
    target: str | type[Spider],
    arguments: Mapping[str, str],
    settings: Settings,
    wired: CrawlParts,
    failed_hooks: list[str],
) -> WorkerGroup:
    """Return this process's worker, or a pool with the other processes of the settings.

    ``failed_hooks`` receives the failures of closing pipelines in those.
    """
    worker = Worker(wired.parts, wired.shift)
    for watcher in wired.watchers:
        watcher.watch_work(lambda: worker.in_flight, {})
    if settings.processes == 1:
        return worker
    from gossamer.crawl.processes import messages, pool  # only a crawl in several processes needs them

    plan = messages.StartMessage(
        job=wired.parts.job.id,
        target=target if isinstance(target, str) else _class_target(target),
        arguments=dict(arguments),
        settings=settings.model_dump_json(),
        trusted=sorted(wired.guard.trusted_places),
    )
    processes = pool.ProcessPool(
        worker,
        wired.backends.open_frontier(wired.parts.job),
        plan,
        settings.processes - 1,
        wired.parts.sink,
        writers=wired.backends.blocking_writers,
        failed_hooks=failed_hooks,
    )
    wired.guard.told = processes.trust_host
    return processes


def _class_target(spider: type[Spider]) -> str:
    """``FILE.py:Class``, by which another process finds a class. Raises ``UsageError`` when it could not."""
    file = getattr(sys.modules.get(spider.__module__), "__file__", None) or ""
    if not file.endswith(".py") or "." in spider.__qualname__:
        raise UsageError(
            f"the spider {spider.name!r} is not at the top level of a Python file, where other processes "
            "could find it: put it there, or crawl with one process"
        )
    return f"{file}:{spider.__name__}"
