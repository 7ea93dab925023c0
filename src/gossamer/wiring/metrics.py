"""Metrics of this process, served where the settings say; without a port nothing of it is imported."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from gossamer.config.running import MetricsSettings
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.engine.timed_committer import TimedCommitter
from gossamer.install import install_command
from gossamer.observe.health import ProcessHealth
from gossamer.ports.committer import Committer
from gossamer.ports.sink import Sink
from gossamer.ports.work_watcher import WorkWatcher

log = logging.getLogger("gossamer.crawl")


@contextmanager
def serve_metrics(
    settings: MetricsSettings, health: ProcessHealth | None = None
) -> Iterator[tuple[Sink, ...]]:
    """Yield the sink whose counts are served within the block; none without a port.

    ``health`` is that of this process, by default that of its event loop. Requires a running event loop.
    Raises ``MissingServiceError`` without the package, ``SettingError`` if the port cannot be opened.
    """
    if settings.port is None:
        yield ()
        return
    server_module = load_server()
    lag = import_module("gossamer.observe.loop_lag").LoopLagMonitor()
    if health is None:
        health = import_module("gossamer.observe.health").ProcessHealth()
        health.watch_loop(lag.held_up_s)
    try:
        sink = import_module("gossamer.observe.metrics_sink").MetricsSink(loop_lag=lag.longest_s)
        try:
            server = server_module.MetricsServer(settings.host, settings.port, sink.read_samples, health)
        except OSError as error:
            raise SettingError(
                f"metrics.port: metrics cannot be served at {settings.host}:{settings.port} "
                f"({error.strerror or error}); choose another port (--metrics-port) or metrics.host"
            ) from None
        log.info("metrics are at http://%s:%d/metrics", settings.host, settings.port)
        try:
            yield (sink,)
        finally:
            server.close()
    finally:
        lag.close()


def load_server() -> ModuleType:
    """Import the server of metrics. Raises ``MissingServiceError`` without the package."""
    try:
        return import_module("gossamer.observe.metrics_server")
    except ImportError as error:
        raise MissingServiceError(
            f"metrics need another package ({error.name} is missing): {install_command('metrics')}"
        ) from error


def watched_committer(committer: Committer, sinks: Sequence[Sink]) -> Committer:
    """Return the committer, which reports the duration of its commits to interested sinks."""
    for sink in sinks:
        if isinstance(sink, WorkWatcher):
            committer = TimedCommitter(committer, sink)
    return committer
