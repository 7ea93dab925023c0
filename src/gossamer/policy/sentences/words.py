"""Parts of all sentences: formats of numbers, and names short enough for a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from gossamer.core.text import format_count

S = TypeVar("S")
F = TypeVar("F")
LONGEST_NAME = 48
"""Maximum length of a name in a sentence; longer ones are cut in the middle."""
SURPLUS = 1.1
"""A pace above the allowed one by this factor dates from a time when more was allowed."""
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class SentenceFormatter(NamedTuple):
    """How numbers are written in a sentence; each with its unit."""

    span: Callable[[float], str]  # a duration in seconds
    time: Callable[[float], str]  # a point in time, in seconds since the epoch
    rate: Callable[[float], str]  # things per second
    size: Callable[[float], str]  # bytes


class Saying(NamedTuple):
    """Two sentences, or more in the second."""

    answer: str  # one sentence that answers
    reason: str = ""  # the reason and further facts


SentenceTable = Mapping[
    S, tuple[Callable[[F, SentenceFormatter], str], Callable[[F, SentenceFormatter], str]]
]
"""The answer and its reason for each situation, made from facts."""


def describe_pace(done: float, allowed: float | None, allows: str, show: SentenceFormatter) -> str:
    """A pace beside the one that is allowed. It may be more, where less is allowed than a moment ago."""
    if not allowed:
        return show.rate(done)
    if done > allowed * SURPLUS:
        return f"{show.rate(done)} lately, more than the {show.rate(allowed)} that {allows} now"
    return f"{show.rate(done)} of the {show.rate(allowed)} that {allows}"


def number_word(count: int) -> str:
    """A number as it stands in a sentence: in a word up to nine."""
    return _SMALL[count] if 0 <= count < len(_SMALL) else f"{count:,}"


def count_words(count: int, noun: str, plural: str = "") -> str:
    """``one job``, ``12 jobs``."""
    return format_count(count, noun, plural).replace(f"{count:,}", number_word(count), 1)


def all_of(count: int, noun: str) -> str:
    """``All three workers``, ``Both workers``; for more than one."""
    return f"Both {noun}s" if count == 2 else f"All {count_words(count, noun)}"


def short_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of strangers' making on one line, cut in the middle when it is too long."""
    plain = "".join(char if char.isprintable() else "�" for char in name)
    if len(plain) <= longest:
        return plain
    tail = longest // 3
    return f"{plain[: longest - tail - 1]}…{plain[-tail:]}"


def start_sentence(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def list_names(names: list[str], most: int = 3) -> str:
    """``a, b and c``; ``a, b, c and 4 others``."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {format_count(len(names) - most, 'other')}"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
