"""The files that ``-o`` and ``-O`` name: checked before the crawl, written after it.

``-o`` appends each item of a job once to a file, over however many runs the job takes: which items a file
has is remembered in the data directory, once the file is safely in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gossamer.words.model import Job, StoredItem
    from gossamer.words.ports import Store


@dataclass(frozen=True)
class Output:
    """One file to export to."""

    path: Path
    append: bool
    format: str

    @classmethod
    def of(cls, *, append: Sequence[str] | None, overwrite: Sequence[str] | None) -> tuple[Output, ...]:
        """The files of the two options. Raises ``UsageError`` for what could not be written later."""
        named = [(name, True) for name in append or ()] + [(name, False) for name in overwrite or ()]
        return tuple(checked(name, append=is_append) for name, is_append in named)


def checked(name: str, *, append: bool, format: str | None = None) -> Output:  # noqa: A002 - users' word
    """A file that can be written: its format is known, its folder is there (it is made) and writable."""
    from gossamer.store.export import SUFFIXES, format_of

    if format is not None and format not in SUFFIXES.values():
        raise UsageError(
            f"there is no format {format!r}; known are {', '.join(dict.fromkeys(SUFFIXES.values()))}"
        )
    path = Path(name).expanduser()
    chosen = format or format_of(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be made: {error.strerror}") from None
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path} cannot be written: permission denied")
    return Output(path.absolute(), append, chosen)


async def export(output: Output, store: Store, job: Job, data: Path) -> int:
    """Write a job's items; for ``append``, those that the file does not have from an earlier run."""
    from gossamer.store.export import write_items

    mark = _Mark(data, output.path)
    reader = _Reader(store, job, mark.last_id(job) if output.append else 0)
    count = await write_items(reader.items(), output.path, output.format, append=output.append)
    mark.set(job, reader.last_id)
    return count


class _Reader:
    """Items of a job after a given one; remembers the last."""

    def __init__(self, store: Store, job: Job, after_id: int) -> None:
        self._store = store
        self._job = job
        self.last_id = after_id

    async def items(self) -> AsyncIterator[StoredItem]:
        async for item in self._store.items(self._job, self.last_id):
            self.last_id = max(self.last_id, item.id)
            yield item


class _Mark:
    """How far a job was exported into a file."""

    def __init__(self, data: Path, path: Path) -> None:
        self._target = path
        name = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
        self._path = data / "exports" / f"{name}.json"

    def last_id(self, job: Job) -> int:
        """The id of the last item of the job that the file has; 0 when it has none, or is gone."""
        with suppress(OSError, ValueError):
            known = json.loads(self._path.read_text())
            if known.get("job") == job.id and self._target.stat().st_size > 0:
                return int(known["last_id"])
        return 0

    def set(self, job: Job, last_id: int) -> None:
        """Remember; a file beside it is renamed over it, so that it is never half written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps({"file": str(self._target), "job": job.id, "last_id": last_id}))
        part.replace(self._path)
