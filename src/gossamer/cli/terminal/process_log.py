"""The log of a process that works until it is told to stop."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager

from gossamer.cli.errors import write_messages_with
from gossamer.config.settings import Settings
from gossamer.observe.log_lines import message_formatter_of
from gossamer.observe.log_setup import attach_handlers, open_log_file


def write_log(settings: Settings, *, verbose: bool = False) -> AbstractContextManager[None]:
    """Lines on stderr, and in the file that the settings name."""
    write_messages_with(message_formatter_of(settings.log.format))
    handlers = [logging.StreamHandler(sys.stderr), *open_log_file(settings.log.file)]
    return attach_handlers("debug" if verbose else settings.log.level, handlers, settings.log.format)
