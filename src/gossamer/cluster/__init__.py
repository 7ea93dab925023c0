"""The fleet over Celery: workers that take shifts, and supervisors that ask for them.

``celery -A gossamer.cluster worker`` finds the application here; ``gossamer worker`` is the same and more.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return the Celery application by the environment and ``gossamer.toml``, made when it is asked for."""
    if name not in ("app", "celery"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gossamer.cluster.app import configured_app

    return configured_app()
