"""The words that a shell may complete, read from the project, the jobs and the code."""

from __future__ import annotations

from pathlib import Path

from gossamer.cli.terminal.backends import run_with_backends
from gossamer.config.command_settings import settings_of
from gossamer.config.layers import find_project
from gossamer.config.settings import setting_fields
from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.jobs import Job
from gossamer.core.results import Verdict
from gossamer.export.formats import KINDS
from gossamer.targets.discovery import discover_spiders
from gossamer.wiring.backends import Backends


class WordReader:
    """Each list is read anew when it is asked for; a short help belongs to a word where a shell shows it."""

    @staticmethod
    def read_spiders() -> dict[str, str]:
        """The spiders of the project, with the first line of their docstrings."""
        known = discover_spiders(find_project(Path.cwd())).spiders
        return {name: (known[name].__doc__ or "").strip().partition("\n")[0] for name in sorted(known)}

    @staticmethod
    def read_jobs(data: str | None) -> dict[str, str]:
        """The names and ids of the jobs in a data directory."""

        async def work(backends: Backends) -> list[Job]:
            return list(await backends.book.list_jobs())

        listed = run_with_backends(settings_of(data), work)
        found = {job.name: "the latest of that name" for job in listed}
        return found | {job.id: job.state.value for job in listed}

    @staticmethod
    def read_settings() -> list[tuple[str, str]]:
        """Every setting with its description."""
        return [(name, field.description or "") for name, field in setting_fields().items()]

    @staticmethod
    def known_faults() -> list[str]:
        """Reasons of dead letters."""
        return [fault.value for fault in Fault]

    @staticmethod
    def known_reasons() -> list[str]:
        """Reasons of the ledger."""
        return [*(fault.value for fault in Fault), *(reason.value for reason in LedgerReason)]

    @staticmethod
    def known_verdicts() -> list[str]:
        """How attempts end."""
        return [verdict.value for verdict in Verdict]

    @staticmethod
    def known_formats() -> list[str]:
        """Formats of exports."""
        return list(KINDS)
