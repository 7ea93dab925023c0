"""``gossamer new``: a project that runs. Nothing that exists is ever overwritten."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from gossamer.cli.options import Declarative
from gossamer.core.errors import UsageError

EXAMPLES = """
  gossamer new shop
  cd shop && gossamer crawl example -O books.jsonl
  gossamer new --declarative shop          with a spider in TOML
"""
FILES = {
    "gossamer.toml": "gossamer.toml.tmpl",
    "README.md": "README.md.tmpl",
    ".gitignore": "gitignore.tmpl",
    "spiders/__init__.py": "spiders_init.py.tmpl",
    "spiders/example.py": "example.py.tmpl",
}
"""The first files of a project, and the template of each."""
DECLARATIVE = {"spiders/example.toml": "example.toml.tmpl"}
"""Replaces the spider in Python with ``--declarative``."""


def create_project(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder to create; it may exist, without these files.")
    ],
    *,
    declarative: Declarative = False,
) -> None:
    """Make a project with a spider that runs."""
    wanted = {name: file for name, file in FILES.items() if not (declarative and name.endswith(".py"))}
    wanted |= DECLARATIVE if declarative else {}
    folder = folder.expanduser()
    name = folder.absolute().name
    present = [file for file in wanted if (folder / file).exists() or (folder / file).is_symlink()]
    if present:
        raise UsageError(f"{folder} has {', '.join(present)} already; nothing was written")
    templates = files("gossamer.cli") / "templates"
    try:
        for file, template in wanted.items():
            text = Template((templates / template).read_text(encoding="utf-8")).substitute(name=name)
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as out:
                out.write(text)
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be created: {error.strerror}") from None
    typer.echo(f"{folder} is ready: {', '.join(wanted)}")
    typer.echo(f"next: cd {folder} && gossamer crawl example -O books.jsonl")


COMMANDS = (("new", create_project, EXAMPLES),)
