"""Sentences with plain numbers, and what holds for each of them."""

from __future__ import annotations

import re

from gossamer.policy.sentences.words import Saying, SentenceFormatter

NOW = 1_000_000.0
SHOW = SentenceFormatter(
    span=lambda seconds: f"{seconds:.0f} s",
    time=lambda at: f"T+{at - NOW:.0f} s",
    rate=lambda rate: f"{rate:.0f}/s",
    size=lambda count: f"{count:.0f} B",
)
_NUMBER_WITH_UNIT = re.compile(r"(?<![\w:.+-])\d[\d,.]*(?:/s|%| of| (?:[KMG]iB|[a-z]+))")
_NUMBER = re.compile(r"(?<![\w:.+-])\d[\d,.]*")


def check_saying(said: Saying, longest: float) -> None:
    """Its answer is short, both parts are whole sentences, and each number has a unit."""
    assert 0 < len(said.answer) <= longest
    assert said.answer[0].isupper() or said.answer[0] in "av" or said.answer[0].isdigit()
    for text in filter(None, said):
        assert text.endswith(".")
        assert not re.search(r"None|  |\.\.", text)
        bare = [
            text[found.start() :]
            for found in _NUMBER.finditer(text)
            if not _NUMBER_WITH_UNIT.match(text, found.start())
        ]
        assert not bare, f"numbers without a unit: {bare}"
