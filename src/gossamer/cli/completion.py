"""Complete spiders, jobs, settings and words in a shell, besides commands and options.

Run at every Tab: an error completes nothing, and nothing is printed but the words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from gossamer.cli.word_reader import WordReader

Words = list[tuple[str, str]]
"""Possible words, each with a short help."""


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


def _word_reader() -> type[WordReader]:
    from gossamer.cli.word_reader import WordReader  # most runs complete nothing

    return WordReader


def complete_spiders(incomplete: str) -> Words:
    """The spiders of the project, and files that may hold some."""
    found: dict[str, str] = {}
    with _silence_output():
        found = _word_reader().read_spiders()
    with _silence_output():
        found |= dict.fromkeys(_spider_files(incomplete), "")
    return _matching_words(found.items(), incomplete)


def _spider_files(incomplete: str) -> list[str]:
    folder, slash, _ = incomplete.rpartition("/")
    found = [path.name for path in Path(folder + slash or ".").iterdir() if path.suffix in (".py", ".toml")]
    return sorted(folder + slash + name for name in found if name != "gossamer.toml")


def complete_jobs(context: typer.Context, incomplete: str) -> Words:
    """The ids of the jobs, newest first, and the names of which there are several."""
    found: dict[str, str] = {}
    with _silence_output():
        found = _word_reader().read_jobs(context.params.get("data"))
    return _matching_words(found.items(), incomplete)


def complete_settings(incomplete: str) -> Words:
    """``KEY=`` of every setting."""
    return _matching_words(((f"{key}=", text) for key, text in _word_reader().read_settings()), incomplete)


def setting_keys(incomplete: str) -> Words:
    """The name of every setting."""
    return _matching_words(_word_reader().read_settings(), incomplete)


def complete_words(*, of: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the words of a list that is made when it is needed."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in of() if word.startswith(incomplete)]

    return complete


def known_faults() -> list[str]:
    """Reasons of dead letters."""
    return _word_reader().known_faults()


def known_reasons() -> list[str]:
    """Reasons of the ledger."""
    return _word_reader().known_reasons()


def known_verdicts() -> list[str]:
    """How attempts end."""
    return _word_reader().known_verdicts()


def known_formats() -> list[str]:
    """Formats of exports."""
    return _word_reader().known_formats()
