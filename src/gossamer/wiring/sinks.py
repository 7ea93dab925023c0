"""The sinks that the settings name: entry points of installed packages in the group ``gossamer.sinks``.

An entry point names a function that takes the settings and returns a context manager of a
:class:`~gossamer.ports.sink.Sink`, which is entered when the process begins and left when it ends. The log is
always present and is not one of these sinks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.metadata import entry_points

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError, UsageError
from gossamer.core.text import describe_error
from gossamer.observe.guarded_sink import GuardedSink
from gossamer.observe.health import ProcessHealth
from gossamer.ports.sink import Sink
from gossamer.spiders.spider import Spider
from gossamer.wiring.metrics import serve_metrics

GROUP = "gossamer.sinks"

log = logging.getLogger("gossamer.crawl")


@contextmanager
def open_sinks(settings: Settings, health: ProcessHealth | None = None) -> Iterator[tuple[Sink, ...]]:
    """The sinks of ``settings.log.sinks``, in order, and that of the metrics if there is a port for them.

    ``health``: of this process, where more than its event loop is watched. Within a running event loop.
    Raises ``SettingError`` for one that does not open.
    """
    with ExitStack() as stack:
        named = [stack.enter_context(_open_sink(name, settings)) for name in settings.log.sinks]
        yield (*named, *stack.enter_context(serve_metrics(settings.metrics, health)))


def sinks_of(spider: Spider) -> list[Sink]:
    """Return the sinks that a spider provides. Raises ``UsageError`` for any other object."""
    for sink in spider.sinks:
        if not callable(getattr(sink, "emit", None)):
            raise UsageError(
                f"the spider {spider.name!r}: sinks has {sink!r}, and a sink is an object with emit(event)"
            )
    return [GuardedSink(type(sink).__name__, sink) for sink in spider.sinks]


@contextmanager
def _open_sink(name: str, settings: Settings) -> Iterator[Sink]:
    try:
        manager = find_opener(name)(settings)
        sink = manager.__enter__()
    except SettingError:
        raise
    except Exception as error:
        raise SettingError(f"log.sinks: {name!r} cannot be opened ({describe_error(error)})") from error
    try:
        yield GuardedSink(name, sink)
    finally:
        try:
            manager.__exit__(None, None, None)
        except Exception:
            log.exception("the sink %r failed at its end", name)


def find_opener(name: str) -> Callable[[Settings], AbstractContextManager[Sink]]:
    """Return the opener of a named sink. Raises ``SettingError`` if no installed package has it."""
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        names = ", ".join(sorted(installed)) or "none"
        raise SettingError(f"log.sinks: no installed package has a sink {name!r}; installed: {names}")
    opener: Callable[[Settings], AbstractContextManager[Sink]] = installed[name].load()
    return opener
