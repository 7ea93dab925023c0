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
    from gossamer.cli import app, errors  # only now: these are the imports that make so many objects

    errors.replace_missing_output()
    try:
        first, *more = sys.argv[1:] or [""]
        if first in ("version", "--version") and not more:  # must not wait for option parsing
            app.print_version()
        else:
            app.build_app(first)(prog_name="gossamer")
    finally:
        # What is left is Python's own end; neither a signal nor a closed pipe in it may change the exit code.
        for number in errors.SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        errors.release_output()


if __name__ == "__main__":
    main()
