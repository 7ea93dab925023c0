"""A Twisted reactor for code that needs one: it uses the running event loop, and never runs itself.

Timers, threads (``deferToThread``) and Deferreds work with it. It is installed with the first import of
``twisted.internet.reactor``, and only then.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import Thread
from types import ModuleType
from typing import Any

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.main import installReactor

NAME = "twisted.internet.reactor"


class ReactorFinder(MetaPathFinder, Loader):
    """Answers the import of a reactor, where none is installed yet."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the reactor; ``None`` for any other module."""
        return ModuleSpec(fullname, self) if fullname == NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Any; the reactor takes its place."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Install a reactor, as the module of that name does."""
        del sys.modules[NAME]
        reactor: Any = AsyncioSelectorReactor(_find_loop())
        installReactor(reactor)  # type: ignore[no-untyped-call]
        reactor.startRunning(installSignalHandlers=False)
        reactor.getThreadPool().threadFactory = partial(Thread, daemon=True)  # a crawl's end waits for none
        sys.modules[NAME] = reactor


def install_reactor_finder() -> None:
    """See to it that no other loop is started. Idempotent."""
    if not any(isinstance(finder, ReactorFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, ReactorFinder())


def follow_loop() -> None:
    """Let the reactor that was installed, if one was, use the loop that runs now."""
    reactor: Any = sys.modules.get(NAME)
    if reactor is None or not hasattr(reactor, "_asyncioEventloop"):
        return
    loop = asyncio.get_running_loop()
    if reactor._asyncioEventloop is not loop:
        readers, writers = reactor.getReaders(), reactor.getWriters()
        reactor.removeAll()
        reactor._asyncioEventloop = loop
        for reader in {*readers, reactor.waker} - {None}:
            reactor.addReader(reader)
        for writer in writers:
            reactor.addWriter(writer)


def _find_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.new_event_loop()
