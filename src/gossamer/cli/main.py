"""The ``gossamer`` command: from the start of the process to its end."""

from __future__ import annotations

import gc
import signal
import sys

IMPORTED = 200_000
"""Objects that may be made before the first search for garbage: more than all imports make."""


def main() -> None:
    """The entry point of the ``gossamer`` script."""
    gc.set_threshold(IMPORTED)
    first, *more = sys.argv[1:] or [""]
    if first in ("version", "--version") and not more:  # must not wait for option parsing
        from gossamer.cli import doctor

        doctor.version(as_json=False)
        return

    from gossamer.cli.app import build
    from gossamer.cli.errors import SIGNALS

    try:
        build(first)(prog_name="gossamer")
    finally:
        # What is left is Python's own end; a signal in it must not change the exit code.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
