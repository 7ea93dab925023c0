"""Processes that outlive the one that starts them."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


def start_detached(
    command: Sequence[str], folder: Path, log: Path, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; its output is appended to a log. Raises ``OSError``.

    ``variables`` are added to its environment.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        os.fchmod(out.fileno(), 0o600)
        process = subprocess.Popen(  # noqa: S603 - our own program, without a shell
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    # It must not stay as a zombie, and an event loop would end it with itself.
    threading.Thread(target=process.wait, name=f"gossamer-{process.pid}", daemon=True).start()
    return process


def last_words(log: Path, size: int = 600) -> str:
    """Return the end of a log."""
    try:
        text = log.read_bytes()[-size:].decode("utf-8", "replace")
    except OSError:
        return ""
    return " ".join(text.split())
