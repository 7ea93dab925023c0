"""The list of projects, and working copies of them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

_KINDS = {".py", ".cfg", ".json", ".txt", ".csv", ".ini", ".yml", ".yaml", ".toml", ".tsv", ".xml"}
_MOST_BYTES = 2_000_000
ALWAYS_STUBBED = {"pymongo", "redis", "psycopg2", "sqlalchemy", "boto3", "elasticsearch", "kafka", "pika"}
"""Packages whose servers are not here: empty ones, even where they are installed."""


@dataclass(frozen=True)
class ProjectEntry:
    """One project of the list."""

    name: str  # owner/name on GitHub
    commit: str
    roots: tuple[str, ...] = (".",)  # folders with a scrapy.cfg
    spiders: int = 4  # the maximum from each folder

    @property
    def folder(self) -> str:
        """The name of its clone: owner+name."""
        return self.name.replace("/", "+")

    @property
    def copy(self) -> str:
        """The name of the copy of its files."""
        return f"{self.folder}-{sha256(repr((self.commit, self.roots)).encode()).hexdigest()[:8]}"


def read_list(file: Path) -> list[ProjectEntry]:
    """The projects that a list names."""
    rows = tomllib.loads(file.read_text())["project"]
    return [
        ProjectEntry(r["name"], r["commit"], tuple(r.get("roots", ["."])), r.get("spiders", 4)) for r in rows
    ]


def find_repository(clones: Path, entry: ProjectEntry) -> Path | None:
    """The git directory of a project below a folder of clones: ``owner+name``, ``owner/name`` or ``name``."""
    for folder in (clones / entry.folder, clones / entry.name, clones / entry.name.rpartition("/")[2]):
        for place in (folder / "repo" / ".git", folder / "repo", folder / ".git", folder):
            if (place / "HEAD").exists():
                return place
    return None


def fetch_repository(clones: Path, entry: ProjectEntry) -> Path:
    """Fetch the project's one commit from GitHub; the git directory."""
    folder = clones / entry.folder
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    source = f"https://github.com/{entry.name}"
    subprocess.run(
        ["git", "-C", str(folder), "fetch", "--quiet", "--depth", "1", source, entry.commit], check=True
    )
    return folder


def check_out(entry: ProjectEntry, repository: Path, target: Path) -> Path:
    """Write the project's text files at its commit below ``target``; the folder."""
    folder = target / entry.copy
    if folder.exists():
        return folder
    git = ["git", "-C", str(repository)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", entry.commit, "--", *entry.roots], check=True, capture_output=True
    ).stdout.decode("utf-8", "replace")
    rows = [row.split("\t", 1) for row in listed.split("\0") if row]
    wanted = [(head.split()[2], name) for head, name in rows if _is_wanted(head, name)]
    partial = target / f"{entry.copy}.partial"
    asked = "".join(f"{key}\n" for key, _ in wanted).encode()
    contents = subprocess.run(
        [*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True
    ).stdout
    for (_, name), content in zip(wanted, _split_batch(contents), strict=True):
        if len(content) <= _MOST_BYTES:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(content)
    partial.rename(folder)
    return folder


def _is_wanted(head: str, name: str) -> bool:
    mode, kind, _ = head.split()
    return (
        kind == "blob" and mode != "120000" and Path(name).suffix in _KINDS and ".." not in Path(name).parts
    )


def _split_batch(data: bytes) -> Iterator[bytes]:
    """The objects that ``git cat-file --batch`` wrote; empty for one that is missing."""
    while data:
        head, _, data = data.partition(b"\n")
        if head.endswith(b"missing"):
            yield b""
            continue
        size = int(head.split()[2])
        yield data[:size]
        data = data[size + 1 :]


def copy_project(root: Path, target: Path) -> None:
    """A working copy in which no spider waits."""
    shutil.copytree(
        root, target, ignore=shutil.ignore_patterns("venv", ".venv", "node_modules", "site-packages")
    )
    for file in target.rglob("*.py"):
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        quick = re.sub(r"\b(download_delay\s*=\s*)[\d.]+", r"\g<1>0", text)
        if quick != text:
            file.write_text(quick, encoding="utf-8", errors="surrogateescape")


def stubs_for(root: Path) -> list[str]:
    """The packages that a project imports and that are neither its own nor installed."""
    own = {path.stem for path in root.rglob("*.py")} | {
        path.name for path in root.rglob("*") if path.is_dir()
    }
    names = set(_imported_names(root.rglob("*.py"))) - {"gossamer"}
    missing = {name for name in names if name in ALWAYS_STUBBED or not (name in own or _is_installed(name))}
    return sorted(missing)


def _imported_names(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        try:
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module.partition(".")[0]


def _is_installed(name: str) -> bool:
    try:
        return name in sys.builtin_module_names or find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def sources_of(root: Path, spider_file: Path) -> list[str]:
    """The spider's source, then those of the project's own modules that it imports (loaders of items)."""
    if not spider_file.is_file():
        return []
    names = {part for name in _dotted_names(spider_file) for part in name.split(".")}
    others = [
        f
        for f in sorted(root.rglob("*.py"))
        if f != spider_file and f.stem in names and f.parent.name != "spiders"
    ]
    files = [spider_file, *others[:8]]
    return [file.read_text(encoding="utf-8", errors="replace") for file in files]


def _dotted_names(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
