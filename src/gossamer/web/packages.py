"""The imports from FastAPI and uvicorn; without them, an error that names the package to install."""

from __future__ import annotations

from gossamer.core.errors import MissingServiceError
from gossamer.install import install_command

try:
    import fastapi
    import uvicorn
except ImportError as error:
    raise MissingServiceError(
        f"the dashboard needs other packages ({error.name} is missing): {install_command('dashboard')}"
    ) from None

__all__ = ["fastapi", "uvicorn"]
