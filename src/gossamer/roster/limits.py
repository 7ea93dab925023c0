"""How much a roster remembers, and for how long."""

from __future__ import annotations

GONE_S = 120.0
"""A worker that has not reported for this long is forgotten."""

BURIED_S = 600.0
"""How long the end of a shift is remembered, in case its worker reports again."""

STANDING_S = 86_400.0
"""A job without shifts is forgotten after a day."""

FORGET_EVERY_S = 30.0
"""The interval at which a roster looks for expired entries."""

ENDS = 100
SAMPLES = 60
