"""Which pairs of features `make test` crosses: drawn anew in each run, by a seed that is shown."""

from __future__ import annotations

import random
from itertools import combinations

from kit.pairs.features import FEATURES

PAIRS = list(combinations(FEATURES, 2))
LOTS, SLOW_LOTS, LONGEST_S = 8, 1, 5
"""How many pairs are drawn, how many of them may be such as wait, and for how long."""


def draw_pairs(seed: str) -> list[tuple[str, str]]:
    """Pairs by lot."""
    drawn = random.Random(seed).sample(PAIRS, len(PAIRS))
    waits_s = {pair: sum(FEATURES[name].waits_s for name in pair) for pair in drawn}
    slow = [pair for pair in drawn if 0 < waits_s[pair] <= LONGEST_S]
    quick = [pair for pair in drawn if not waits_s[pair]]
    return slow[:SLOW_LOTS] + quick[: LOTS - SLOW_LOTS]


def kill_at(seed: str, pair: tuple[str, ...]) -> int:
    """At which of its some 110 requests a crawl is killed; 0: one of two is not."""
    drawn = random.Random(f"{seed} {pair}")
    return drawn.randint(4, 85) if drawn.random() < 0.5 else 0
