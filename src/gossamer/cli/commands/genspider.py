"""``gossamer genspider``: a spider that runs. Nothing that exists is ever overwritten."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib.metadata import packages_distributions
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from gossamer.cli.options import Declarative
from gossamer.config.layers import find_project
from gossamer.core.errors import UsageError
from gossamer.targets.start_url import allowed_domain_of, find_start_url

EXAMPLES = """
  gossamer genspider shop shop.example        spiders/shop.py in a project, else shop.py
  gossamer genspider shop https://shop.example/catalog
  gossamer genspider --declarative shop shop.example    the same in TOML
"""
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")


def write_spider(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The spider's name: letters, digits, - and _.")],
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="shop.example, or a URL to start from.")],
    *,
    declarative: Declarative = False,
) -> None:
    """Write a spider that runs.

    Writes to the project's `spiders/` folder, or to the current folder outside a project.
    """
    module = name.replace("-", "_").lower()
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a spider; use letters, digits, - and _")
    suffix = "toml" if declarative else "py"
    if not declarative and module in sys.stdlib_module_names | packages_distributions().keys():
        raise UsageError(f"a file {module}.py would hide the module {module!r}; choose another name")
    text = _render_spider(name, module, domain, f"genspider.{suffix}.tmpl")
    path = _spider_folder() / f"{module}.{suffix}"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; nothing was written") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    target = name if path.parent.name == "spiders" else str(path)
    typer.echo(f"{path} is ready")
    typer.echo(f"next: gossamer crawl {shlex.quote(target)} --max-pages 20 -O pages.jsonl")


def _render_spider(name: str, module: str, domain: str, file: str) -> str:
    url = find_start_url(domain)
    if url is None:
        raise UsageError(f"{domain!r} is not a domain; write shop.example, or a URL with http or https")
    allowed = allowed_domain_of(url)
    template = files("gossamer.cli") / "templates" / file
    return Template(template.read_text(encoding="utf-8")).substitute(
        domain=allowed,
        class_name="".join(part.capitalize() for part in module.split("_")) + "Spider",
        name=json.dumps(name),
        url=json.dumps(url),
        allowed=json.dumps(allowed),
    )


def _spider_folder() -> Path:
    """Return the folder of spiders, relative to the current one, so that a printed command works as typed."""
    project = find_project(Path.cwd())
    if project is None:
        return Path()
    return Path("spiders") if project == Path.cwd() else project / "spiders"


COMMANDS = (("genspider", write_spider, EXAMPLES),)
