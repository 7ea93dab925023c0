"""Texts, numbers and addresses for made pages: the same for the same seed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from hashlib import blake2b
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as patterns  # type: ignore[attr-defined]
from typing import Any

from kit.side_by_side.needs import Need

_WORDS = (
    "warp",
    "weft",
    "loom",
    "silk",
    "thread",
    "knot",
    "hem",
    "lace",
    "twill",
    "bobbin",
    "selvage",
    "heddle",
)
_NUMBERS = re.compile(
    r"price|cost|count|num|score|rat(e|ing)|year|vote|amount|total|qty|star|size|id$|_id|rank|page|stock|sale|view|area|age$"
)
_DATES = re.compile(r"date|time|publish|posted|created|updated")
_UNBOUNDED = 1000


def number_of(*seed: object) -> int:
    """A large number that follows from the seed."""
    text = "\x1f".join(str(part) for part in seed)
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=6).digest())


def make_words(*seed: object, count: int = 3) -> str:
    """A few words."""
    number = number_of(*seed)
    return " ".join(_WORDS[(number >> 4 * place) % len(_WORDS)] for place in range(count))


def make_text(need: Need, flavour: str, *seed: object) -> str:
    """Return a text that suits the spider's use of it."""
    number = number_of(need.text, *seed)
    name = " ".join(need.names).lower()
    if need.date_format:
        return (datetime(2020, 1, 1) + timedelta(minutes=number % 900_000)).strftime(need.date_format)
    if need.patterns and (sample := sample_pattern(need.patterns[0], number)):
        return sample
    if need.is_number or flavour == "numbers" or _NUMBERS.search(name):
        one = str(number % 900 + 1)
    elif flavour == "dates" or _DATES.search(name):
        one = (datetime(2020, 1, 1) + timedelta(minutes=number % 900_000)).strftime("%Y-%m-%d %H:%M:%S")
    else:
        one = f"{make_words(number)} {number % 90 + 10}"
    if need.cuts:
        separator, place = max(need.cuts, key=lambda cut: abs(cut[1]))
        return separator.join([one] * (abs(place) + 2))
    return one


def sample_pattern(pattern: str, number: int) -> str:
    """A text that the pattern matches, with the number where it takes any digits; ``""``: none was found."""
    try:
        text = _Sampler(number).sample(patterns.parse(pattern))
        return text if re.search(pattern, text) else ""
    except (re.error, RecursionError, ValueError, OverflowError, TypeError):
        return ""


class _Sampler:
    def __init__(self, number: int) -> None:
        self._digits = str(number)
        self._groups: dict[int, str] = {}

    def sample(self, tree: Any) -> str:
        return "".join(self._sample_one(kind, value) for kind, value in tree)

    def _sample_one(self, kind: Any, value: Any) -> str:
        if kind is names.LITERAL:
            return chr(value)
        if kind is names.NOT_LITERAL:
            return "y" if chr(value) == "x" else "x"
        if kind is names.ANY:
            return "x"
        if kind is names.IN:
            return self._sample_set(value)
        if kind in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
            return self._sample_repeat(*value)
        if kind is names.SUBPATTERN:
            text = self.sample(value[3])
            if value[0] is not None:
                self._groups[value[0]] = text
            return text
        if kind is names.BRANCH:
            return self.sample(value[1][0])
        if kind is names.GROUPREF:
            return self._groups.get(value, "")
        if kind is names.ASSERT:
            return self.sample(value[1]) if value[0] > 0 else ""
        if kind is names.ATOMIC_GROUP:
            return self.sample(value)
        return ""

    def _sample_repeat(self, least: int, most: int, inner: Any) -> str:
        if most > _UNBOUNDED and self._takes_digits(inner):
            return self._digits if len(self._digits) >= least else self._digits.ljust(least, "0")
        return "".join(self.sample(inner) for _ in range(least or min(1, int(most))))

    def _takes_digits(self, inner: Any) -> bool:
        if len(inner) != 1:
            return False
        kind, value = inner[0]
        if kind is names.ANY or kind is names.NOT_LITERAL:
            return True
        return kind is names.IN and (
            value[0][0] is names.NEGATE or self._sample_set(value).isdigit() or _has_word(value)
        )

    @staticmethod
    def _sample_set(value: Any) -> str:
        kind, first = value[0]
        if kind is names.NEGATE:
            refused = {chr(one) for name, one in value[1:] if name is names.LITERAL}
            return next((sign for sign in "x1y" if sign not in refused), "x")
        if kind is names.LITERAL:
            return chr(first)
        if kind is names.RANGE:
            return chr(first[0])
        return {names.CATEGORY_DIGIT: "7", names.CATEGORY_SPACE: " ", names.CATEGORY_NOT_WORD: "-"}.get(
            first, "x"
        )


def _has_word(value: Any) -> bool:
    digits = (
        (names.CATEGORY, names.CATEGORY_WORD),
        (names.CATEGORY, names.CATEGORY_DIGIT),
        (names.RANGE, (48, 57)),
    )
    return any(part in value for part in digits)
