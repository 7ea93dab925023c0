"""All misbehaviours of :class:`~gossamer.testing.badsite.BadSite`, from one module for each subject."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.testing.misbehaving import (
    broken,
    connections,
    fine,
    headers,
    large,
    odd,
    pages,
    places,
    redirects,
    slow,
)
from gossamer.testing.misbehaviour import PAGE, ROUTES, Route

__all__ = ["PAGE", "SUBJECTS", "all_routes"]

SUBJECTS = (fine, slow, large, broken, headers, redirects, connections, odd, pages, places)
"""The modules that register routes when imported."""


def all_routes() -> Mapping[str, Route]:
    """Return all misbehaviours by name."""
    return ROUTES
