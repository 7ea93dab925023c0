"""Exit codes: how every process of Gossamer ends."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0  # finished
    DEAD_LETTERS = 1  # finished, but with dead letters (only with ``--strict``)
    USAGE = 2  # wrong use: an option, a name, a setting, a spider that does not import
    STOPPED = 3  # stopped early: by a signal, or because the job was paused or cancelled
    MISSING = 4  # a needed service, package or the storage is missing or fails
    BUG = 70  # a bug in Gossamer; the traceback is shown (``EX_SOFTWARE`` of sysexits.h)
    NO_READER = 141  # nobody reads the output any more (what a shell reports for SIGPIPE)
