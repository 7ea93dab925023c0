"""The ``gossamer`` command: from the start of the process to its end."""

from __future__ import annotations

import gc
import signal
import sys

IMPORTED = 200_000
"""Objects before the first garbage collection: more than all imports make."""


def main() -> None:
    """The entry point of the ``gossamer`` script."""
    gc.set_threshold(IMPORTED)
    from gossamer.cli import app, errors  # imported late: these imports make most objects

    errors.replace_missing_output()
    try:
        first, *more = sys.argv[1:] or [""]
        if first in ("version", "--version") and not more:  # must not wait for option parsing
            app.print_version()
        else:
            app.build_app(first)(prog_name="gossamer")
    finally:
        # Only Python's own shutdown follows; a signal or a closed pipe in it must not change the exit code.
        for number in errors.SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        errors.release_output()


if __name__ == "__main__":
    main()
