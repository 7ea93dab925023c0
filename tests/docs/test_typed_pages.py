"""The Python of the README, the documentation and the examples passes strict type checkers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.page_runner import Block
from kit.typed_pages import as_module, write_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITHOUT_TYPES = ("warcio.*",)
"""Packages of others that a page uses, and that have no types."""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of that code in one folder."""
    folder = tmp_path_factory.mktemp("code")
    for page in PAGES:
        write_page(page, folder / f"page_{page.stem.replace('-', '_')}")
    for project in sorted((ROOT / "examples").glob("*/")):
        shutil.copytree(project, folder / f"example_{project.name.replace('-', '_')}")
    assert len(list(folder.rglob("*.py"))) > 80
    return folder


def check(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_accepts_every_example(code: Path) -> None:
    settings = [
        "[mypy]",
        "strict = True",
        "explicit_package_bases = True",
        f"mypy_path = {ROOT / 'src'}",
        "follow_imports = silent",
    ]
    settings += [
        line for name in WITHOUT_TYPES for line in (f"[mypy-{name}]", "ignore_missing_imports = True")
    ]
    (code / "mypy.ini").write_text("\n".join(settings))
    check(sys.executable, "-m", "mypy", "--cache-dir", code / ".mypy_cache", ".", folder=code)


@pytest.mark.slow
def test_pyright_accepts_every_example(code: Path) -> None:
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (code / "pyrightconfig.json").write_text(json.dumps(settings))
    check(
        Path(sys.executable).with_name("basedpyright"),
        "--pythonpath",
        sys.executable,
        "--project",
        ".",
        folder=code,
    )


def test_types_are_added_where_the_reader_leaves_them_out() -> None:
    text = "    async def start(self, most=(1)):\n        yield most\n\n    def parse(self, response): ...\n"
    module = as_module(Block("python", text))
    assert "async def start(self, most: Any=(1)) -> AsyncIterator[Any]:" in module
    assert "def parse(self, response: Response) -> Any: ..." in module
    assert "    result = await crawl(Shop)" in as_module(Block("python", "result = await crawl(Shop)\n"))
