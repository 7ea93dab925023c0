"""When a watch looks again, and until when its silence is ordinary. Pure."""

from __future__ import annotations

from gossamer.core.record import Record

LEAST_REST = 20
"""Rest after a long check, as a multiple of its length: checks cost a twentieth of the time at most."""
LONGEST_REST = 12
"""Longest rest, as a multiple of the usual one."""
GRACE_S = 15.0
"""So much later than expected the next look may come before it counts as overdue."""


class LookPace(Record, frozen=True, kw_only=True):
    """How long looks take, and the rests between them.

    Each look promises when the next one will have come at the latest, and the rest after it keeps that
    promise, also when the look took longer than it was expected to.
    """

    every_s: float
    expected_s: float = 0.0  # for so long the next look lasts

    def rest_s(self, took_s: float) -> float:
        """The usual rest after a look of this length."""
        return max(self.every_s, min(took_s * LEAST_REST, LONGEST_REST * self.every_s))

    def due_at(self, began: float, now: float) -> float:
        """When the next look at what this one, begun at ``began``, has just looked at would be overdue."""
        length_s = max(self.expected_s, now - began)
        return now + length_s + self.rest_s(length_s) + GRACE_S

    def rest_after(self, began: float, ended: float) -> float:
        """The rest after a look, so that none of its promises is broken."""
        took_s = ended - began
        kept_s = self.due_at(began, began) - ended - took_s
        return max(self.every_s, min(self.rest_s(took_s), kept_s))

    def expect(self, took_s: float) -> LookPace:
        """The pace after a look of this length; one slow look is forgotten little by little."""
        return LookPace(every_s=self.every_s, expected_s=max(took_s, self.expected_s / 2))
