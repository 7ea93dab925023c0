"""How far a list of seeds is, on stderr: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gossamer.cli.errors import print_progress
from gossamer.jobs.seed_files import SeedFile
from gossamer.jobs.seeding import SeedReport

EVERY_LINE_S = 10.0


class SeedProgress:
    """Shows how many seeds were read; ``file`` tells how far it is. With ``on=False`` it shows nothing."""

    def __init__(self, file: SeedFile | None, *, on: bool) -> None:
        self._file = file
        self._began = time.monotonic()
        self._due = self._began + EVERY_LINE_S
        self._on = on
        self._bar: Progress | None = None
        if on and sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("seeds", total=self._file.size_bytes if self._file else None)
        return self

    def show(self, report: SeedReport) -> None:
        """Tell what became of the seeds so far, if it is time to."""
        seconds = max(time.monotonic() - self._began, 1e-6)
        said = f"{report.rows:,} seeds, {report.rows / seconds:,.0f}/s"
        if self._bar is not None:
            read = self._file.read_bytes if self._file else None
            self._bar.update(self._bar.task_ids[0], description=said, completed=read)
        elif self._on and time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY_LINE_S
            print_progress(said)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
