"""The command that installs an extra: no other place in the code names one."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from shutil import which
from urllib.parse import unquote, urlsplit

PACKAGE = "gossamer"


def install_command(extra: str = "") -> str:
    """Return a shell command that installs ``extra`` beside this package, into the Python that runs now."""
    brackets = f"[{extra}]" if extra else ""
    return f"{pip_command()} {_source(brackets)}"


def pip_command() -> str:
    """Return ``pip install`` as it is written for the Python that runs now."""
    found = which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "pip install"
    if find_spec("pip") is None and which("uv"):
        return f"uv pip install --python {quote(sys.executable)}"
    return f"{quote(sys.executable)} -m pip install"


def _source(brackets: str) -> str:
    """Return the place that this package came from, as an argument of pip.

    An installer notes it in ``direct_url.json`` (PEP 610), unless the package came from an index.
    """
    metadata = import_module("importlib.metadata")
    try:
        noted = metadata.distribution(PACKAGE).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # imported from a checkout that is not installed
        return f"-e {quote(str(Path(__file__).parents[2]) + brackets)}"
    if noted is None:
        return quote(PACKAGE + brackets)
    return source_argument(json.loads(noted), brackets)


def source_argument(noted: dict[str, object], brackets: str) -> str:
    """Return pip's argument for the content of a ``direct_url.json``.

    Where the folder or file is gone, these are the packages of the extra.
    """
    url = str(noted["url"])
    if urlsplit(url).scheme != "file":
        kind = noted.get("vcs_info")
        scheme = f"{kind['vcs']}+" if isinstance(kind, dict) else ""
        return quote(f"{PACKAGE}{brackets} @ {scheme}{url}")
    path = unquote(urlsplit(url).path)
    if not Path(path).exists():
        return " ".join(quote(package) for package in _packages(brackets.strip("[]"))) or PACKAGE
    folder = noted.get("dir_info")
    option = "-e " if isinstance(folder, dict) and folder.get("editable") else ""
    return f"{option}{quote(path + brackets)}"


def _packages(extra: str) -> list[str]:
    """Return the packages of an extra with their versions, as the metadata of this package lists them."""
    listed = import_module("importlib.metadata").requires(PACKAGE) or ()
    split = (line.partition(";") for line in listed)
    return [package.strip() for package, _, marker in split if re.search(rf"extra == .{extra}\b", marker)]
