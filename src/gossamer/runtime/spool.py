"""Files that exist only as long as they are referenced: not after a failure, and not after a kill."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

OPEN_FILES = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
"""Where the system shows the files that this process has open."""


class SpooledFile:
    """A file without a name in a folder, which is created if needed. It is gone with the last reference.

    Raises ``OSError`` if it cannot be created or written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this object

    def __repr__(self) -> str:
        return f"SpooledFile({self.path!r})"

    @property
    def path(self) -> str:
        """Where it can be opened by this process, as long as this object is held."""
        return str(OPEN_FILES / str(self.file.fileno()))

    def finish(self) -> None:
        """Finish writing: the file can be read now, from its beginning."""
        self.file.flush()
        self.file.seek(0)

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
