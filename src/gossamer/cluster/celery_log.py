"""Celery's own lines are lines of our log: in its form, and without secrets.

Celery would give its loggers handlers of their own. A receiver of its signal ``setup_logging`` keeps it from
that.
"""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from typing import Any

from celery import signals

from gossamer.config.settings import Settings
from gossamer.observe.log_setup import attach_handlers, open_log_file

_attached = ExitStack()
"""Handlers that stay attached until the process ends."""


def keep_log() -> None:
    """The log of this process is set up, and stays as it is."""
    signals.setup_logging.connect(_leave_log, weak=False)


def set_up_log(settings: Settings) -> None:
    """The log of a worker that Celery's own command starts is set up when Celery would do it.

    Its options ``--loglevel`` (for its own lines, and those of libraries) and ``--logfile`` count.
    """

    def attach(loglevel: int | None = None, logfile: str | None = None, **_: Any) -> None:
        handlers = [logging.StreamHandler(sys.stderr), *open_log_file(logfile or settings.log.file)]
        _attached.enter_context(attach_handlers(settings.log.level, handlers, settings.log.format))
        if loglevel:
            logging.getLogger().setLevel(loglevel)

    signals.setup_logging.connect(attach, weak=False, dispatch_uid="gossamer.log")


def _leave_log(**_: Any) -> None:
    """Nothing is to be done."""
