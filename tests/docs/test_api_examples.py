"""The reference of the Python API has an example for each public name, and every example works."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

import gossamer
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.page_runner import blocks
from kit.scripts import script_module

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/reference/api").glob("*.md"))
EXAMPLES = [
    pytest.param(block.text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page.read_text()))
    if block.kind == "python"
]


@pytest.fixture(scope="module")
def shop_url() -> Iterator[str]:
    with serve_in_thread(Shop(products=20)) as site:
        yield site.url


@pytest.fixture
def script() -> Iterator[ModuleType]:
    with script_module("reference_api") as module:
        yield module


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_works(text: str, shop_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "example_of_the_reference"
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    source = text.replace("http://127.0.0.1:8085", shop_url)
    code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(code, CodeType)
    result = eval(code, vars(module))
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_every_public_name_has_a_section_and_an_example(script: ModuleType) -> None:
    sections = [
        title for page in PAGES for title in re.findall(r"^## (\w+)$", page.read_text(), re.MULTILINE)
    ]
    named = {name for name in gossamer.__all__ if not name.endswith("Event")} - {*script.ELSEWHERE}
    assert len(sections) == len({*sections})
    assert named <= {*sections}
    assert {*script.read_examples()} == {*sections}


def test_a_name_without_words_or_without_an_example_is_an_error(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_of = {name: file for file, page in script.PAGES.items() for name in page.names}
    with pytest.raises(script.Undocumented, match="Spider is on no page"):
        script.check_names({name: file for name, file in page_of.items() if name != "Spider"})
    monkeypatch.setitem(script.HOMES, "Spider", "gossamer.spiders.login")
    with pytest.raises(script.Undocumented, match="does not define Spider"):
        script.read_entry("Spider")
    examples = script.read_examples()
    monkeypatch.setattr(script, "read_examples", lambda: {**examples, "view": (("view",), "nothing")})
    with pytest.raises(script.Undocumented, match="the example of view does not show it"):
        script.check_names(page_of)


def test_an_argument_that_is_not_described_is_an_error(script: ModuleType) -> None:
    [node] = ast.parse('def fetch(url, *, retries=3):\n    """Fetch ``url``."""').body
    with pytest.raises(script.Undocumented, match="retries"):
        script._read_function(node, "fetch", is_method=False)
