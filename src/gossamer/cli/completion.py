"""What a shell may complete besides commands and options: spiders, jobs, settings, words.

Run at every Tab: whatever goes wrong completes nothing, and nothing is printed but the words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gossamer.wiring.backends import Backends

Words = list[tuple[str, str]]
"""What can stand there, each with a short help."""


@contextmanager
def _silence_output() -> Iterator[None]:
    """Spiders are users' code, and may print and raise."""
    with (
        suppress(Exception, SystemExit),
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        yield


def _matching_words(words: Iterable[tuple[str, str]], incomplete: str) -> Words:
    # Brackets in a help text would be taken for markup, and could be wrong as such.
    plain = str.maketrans("[]", "()")
    return [(word, text.translate(plain)) for word, text in words if word.startswith(incomplete)]


def complete_spiders(incomplete: str) -> Words:
    """The spiders of the project, and files of Python."""
    found: dict[str, str] = {}
    with _silence_output():
        from gossamer.config.layers import find_project
        from gossamer.targets.discovery import discover_spiders

        known = discover_spiders(find_project(Path.cwd())).spiders
        found = {name: _first_line(known[name].__doc__) for name in sorted(known)}
    with _silence_output():
        found |= dict.fromkeys(_python_files(incomplete), "")
    return _matching_words(found.items(), incomplete)


def _python_files(incomplete: str) -> list[str]:
    folder, slash, _ = incomplete.rpartition("/")
    return sorted(folder + slash + path.name for path in Path(folder + slash or ".").glob("*.py"))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def complete_jobs(context: typer.Context, incomplete: str) -> Words:
    """The ids of the jobs, newest first, and the names of which there are several."""
    found: dict[str, str] = {}
    with _silence_output():
        from gossamer.cli.terminal.backends import at_desk
        from gossamer.config.overrides import settings_of

        async def work(desk: Backends) -> list[Any]:
            return await desk.book.list_jobs()

        listed = at_desk(settings_of(context.params.get("data")), work)
        found = {job.name: "the latest of that name" for job in listed}
        found |= {job.id: job.state.value for job in listed}
    return _matching_words(found.items(), incomplete)


def complete_settings(incomplete: str) -> Words:
    """``KEY=`` of every setting."""
    return _matching_words(((f"{key}=", text) for key, text in _described_settings()), incomplete)


def setting_keys(incomplete: str) -> Words:
    """The name of every setting."""
    return _matching_words(_described_settings(), incomplete)


def _described_settings() -> list[tuple[str, str]]:
    from gossamer.config.settings import setting_fields

    return [(name, field.description or "") for name, field in setting_fields().items()]


def complete_words(*, of: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the words of a list that is made when it is needed."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in of() if word.startswith(incomplete)]

    return complete


def known_faults() -> list[str]:
    """Reasons of dead letters."""
    from gossamer.core.errors import Fault

    return [fault.value for fault in Fault]


def known_reasons() -> list[str]:
    """Reasons of the ledger."""
    from gossamer.core.errors import LedgerReason

    return [*known_faults(), *(remark.value for remark in LedgerReason)]


def known_verdicts() -> list[str]:
    """How attempts end."""
    from gossamer.core.results import Verdict

    return [verdict.value for verdict in Verdict]


def known_formats() -> list[str]:
    """Formats of exports."""
    from gossamer.export import SUFFIXES

    return list(dict.fromkeys(SUFFIXES.values()))
