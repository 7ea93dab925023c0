"""Packages in their installed form, for the discovery of entry points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def make_distribution(folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Lay a distribution into a folder of ``sys.path``: ``entry_points`` by group and name."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = (
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in entry_points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
