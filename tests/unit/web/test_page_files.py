"""The files of the page: nothing in them parses HTML, comes from elsewhere, or is too large to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gossamer

STATIC = Path(gossamer.__file__).parent / "web" / "static"
SCRIPTS = sorted(STATIC.rglob("*.js"))
SHEETS = sorted(STATIC.rglob("*.css"))
LINES = 400
PARSES = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|"
    r"createContextualFragment|srcdoc|setHTML"
)
NAMES = re.compile(r"^import {([^}]*)} from", re.MULTILINE)
EXPORTS = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
IMPORT = re.compile(r'(?:from|import) "(\./|\.\./)([^"]+)"')


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_script_is_small_says_what_it_is_for_and_parses_no_html(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("// "), "the first line says what it is for"
    assert text.count("\n") <= LINES
    assert not PARSES.findall(text.replace("Nothing here, or anywhere in the page, parses HTML.", ""))
    for before, name in IMPORT.findall(text):
        assert (script.parent / before / name).is_file(), name
    taken = [name for names in NAMES.findall(text) for name in re.findall(r"\w+", names)]
    assert [name for name in taken if len(re.findall(rf"\b{name}\b", text)) < 2] == []


def test_what_is_imported_is_exported() -> None:
    for script in SCRIPTS:
        for names, before, path in re.findall(r'import {([^}]*)} from "(\.\.?/)([^"]+)"', script.read_text()):
            given = EXPORTS.findall((script.parent / before / path).read_text())
            assert set(re.findall(r"\w+", names)) <= {*given}, (script.name, path)


def test_every_script_and_every_sheet_is_used() -> None:
    page = (STATIC / "index.html").read_text()
    used = {STATIC / name for name in re.findall(r'(?:src|href)="/static/([^"]+)"', page)}
    found = [path for path in used if path.suffix == ".js"]
    while found:
        script = found.pop()
        for before, name in IMPORT.findall(script.read_text()):
            path = (script.parent / before / name).resolve()
            if path not in used:
                used.add(path)
                found.append(path)
    assert used == {*SCRIPTS, *SHEETS}


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    assert re.findall(r'(?:src|href)="(?!/static/)([^"]+)"', page) == ["data:,"]
    for sheet in SHEETS:
        assert not re.findall(r"@import|url\(", sheet.read_text()), sheet.name


# --------------------------------------------------------------------------- contrast

TOKEN = re.compile(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)")
READ, SEEN = 4.5, 3.0
"""The least contrast, by WCAG 2: of text, and of what has to be seen to be understood."""
PAIRS = [
    *((name, "ground", READ) for name in ("ink", "ink-2", "ink-3", "act", "held", "dead")),
    *((name, "ground", SEEN) for name in ("edge", "act-2", "held-mark", "dead-mark")),
    *(("ink-3", name, 4.4) for name in ("wash", "wash-2", "rail", "raised")),
    *(("ink", name, READ) for name in ("act-wash", "held-wash", "dead-wash", "heat-1", "heat-2")),
    ("act", "act-wash", READ),
    ("held", "held-wash", READ),
    ("dead", "dead-wash", READ),
    ("held-mark", "held-wash", SEEN),
    ("dead-mark", "dead-wash", SEEN),
    ("on-act", "act", READ),
    ("on-dead", "dead", READ),
    ("on-toast", "toast", READ),
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_can_be_read_on_its_ground(theme: str) -> None:
    found = TOKEN.findall((STATIC / "css" / "base.css").read_text())
    colours = {name: light if theme == "light" else dark for name, light, dark in found}
    weak = {
        (above, below): round(_contrast(colours[above], colours[below]), 2)
        for above, below, least in PAIRS
        if _contrast(colours[above], colours[below]) < least
    }
    assert weak == {}


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
