"""How much a roster remembers, and for how long."""

from __future__ import annotations

GONE_S = 120.0
"""A worker that has not been heard of for so long is forgotten."""

BURIED_S = 600.0
"""A shift that ended or was declared dead is told so for this long, should it be heard of again."""

STANDING_S = 86_400.0
"""What is known of a job without shifts is forgotten after a day."""

FORGET_EVERY_S = 30.0
"""So often a roster looks for what it may forget."""

ENDS = 100
SAMPLES = 60
