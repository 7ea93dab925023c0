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
    from gossamer.cli.errors import SIGNALS, release_output, replace_missing_output

    replace_missing_output()
    try:
        _run_command(sys.argv[1:])
    finally:
        # What is left is Python's own end; neither a signal nor a closed pipe in it may change the exit code.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        release_output()


def _run_command(arguments: list[str]) -> None:
    """Run one command. Raises ``SystemExit`` with its exit code."""
    first, *more = arguments or [""]
    if first in ("version", "--version") and not more:  # must not wait for option parsing
        import typer

        from gossamer.cli.commands import doctor
        from gossamer.cli.errors import exit_codes

        try:
            with exit_codes():
                doctor.show_version(as_json=False)
        except typer.Exit as end:
            sys.exit(end.exit_code)
        return

    from gossamer.cli.app import build_app

    build_app(first)(prog_name="gossamer")


if __name__ == "__main__":
    main()
