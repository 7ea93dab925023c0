"""A site of documentation, generated here, so that all its reachable pages are known.

It has chapters in folders, links of every spelling, pages in Latin-1 and UTF-8, names with blanks and percent
signs, broken links, external links, links to folders without the slash, and pages without links to them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

CHAPTERS = 12
SECTIONS = 20
START = "/index.html"


@dataclass(frozen=True)
class DocsTruth:
    """Paths of everything that a crawl from ``START`` finds, by kind."""

    pages: frozenset[str]
    missing: frozenset[str]
    redirects: frozenset[str]
    texts: frozenset[str]

    @property
    def attempts(self) -> int:
        """Requests that one crawl makes, robots.txt aside."""
        return len(self.pages) + len(self.missing) + len(self.redirects) + len(self.texts)


def make_docs(folder: Path) -> DocsTruth:
    """Write the site into a folder."""
    chance = random.Random(11)
    names = {chapter: [_section(chapter, n) for n in range(SECTIONS)] for chapter in range(CHAPTERS)}
    paths = [f"/c{chapter}/{quote(name)}" for chapter, own in names.items() for name in own]
    missing, redirects, texts = set(), set(), set()
    _write(folder / "index.html", "Contents", "".join(_link(f"c{c}/index.html") for c in range(CHAPTERS)))
    for chapter, own in names.items():
        here, after = folder / f"c{chapter}", (chapter + 1) % CHAPTERS
        toc = "".join(_link(quote(name)) + _link(quote(name) + "#top") for name in own)
        toc += f'<a href="../c{after}">next</a><a href="/">home</a><a href=mailto:a@docs.example>us</a>'
        redirects.add(f"/c{after}")
        _write(here / "index.html", f"Chapter {chapter}", toc)
        _write(here / "draft.html", "Nobody links here", _link("index.html"))
        (here / "notes.txt").write_text("notes\n")
        for n, name in enumerate(own):
            links = _link(chance.choice(paths)) + _link(f"http://docs.example{chance.choice(paths)}")
            links += f'<a href="../c{chapter}/./{quote(own[(n + 1) % SECTIONS])}?#x">next</a>'
            links += '<a href="index.html">up</a><a href="javascript:void(0)">fold</a><a href="">here</a>'
            if n % 7 == 0:
                links += _link(f"../gone/c{chapter}-{n}.html")
                missing.add(f"/gone/c{chapter}-{n}.html")
            if n % 9 == 0:
                links += _link("notes.txt")
                texts.add(f"/c{chapter}/notes.txt")
            _write(here / name, f"Section {chapter}.{n}", links, "latin-1" if n % 2 else "utf-8")
    # An empty query is a URL of its own, a redirect leads to the folder itself.
    queries = {f"{path}?" for path in paths}
    folders = {f"/c{chapter}/" for chapter in range(CHAPTERS)}
    indexes = {f"/c{chapter}/index.html" for chapter in range(CHAPTERS)}
    pages = frozenset({START, "/", *paths, *queries, *folders, *indexes})
    return DocsTruth(pages, frozenset(missing), frozenset(redirects), frozenset(texts))


def _section(chapter: int, number: int) -> str:
    return f"{('plain', 'with blank', '50%', 'über')[number % 4]}-{chapter}-{number}.html"


def _link(target: str) -> str:
    return f'<li><a class="reference" href="{escape(target)}">{escape(target)}</a></li>\n'


def _write(file: Path, title: str, links: str, encoding: str = "utf-8") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = " ".join(f"Wörter of {title}, sentence {n}." for n in range(60))
    page = (
        f'<!DOCTYPE html><html><head><meta charset="{encoding}"><title>{title}</title></head>'
        f'<body><h1 id="top">{title}</h1><p>{text}</p><ul>{links}</ul></body></html>'
    )
    file.write_bytes(page.encode(encoding))
