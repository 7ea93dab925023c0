"""Count idioms that make the project's English hard to read: `python scripts/plain_words.py [--lines]`.

The figures are per 10,000 words of one kind of text, with the limits that a test holds.
`docs/contributing/style.md` says how to write instead.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Idiom:
    """A way of writing to avoid, and how often it may stand in 10,000 words."""

    name: str
    pattern: re.Pattern[str]
    limit: float = 1.0


_VERBS = "is|was|are|were|has|had|have|does|do|may|must|can|comes?|goes|stands?|waits?|fails?|gets?|lasts?"

IDIOMS = (
    Idiom("what is, what a ...", re.compile(rf"\b[Ww]hat (?:{_VERBS}|an?|the|it|they|one|you|else)\b"), 5.0),
    Idiom(
        "is no X",
        re.compile(r"\b(?:is|are|was|were) no (?!longer\b|more than\b|need\b|way\b|default\b)\w+"),
        6.0,
    ),
    Idiom(
        "begins with What, Who or Of",
        re.compile(r"(?:(?<=[.!?] )|(?<=\n)|(?<=# )|\A)(?:What|Who|Whoever|Of)\b(?![^.!?\n]*\?)"),
    ),
    Idiom("is told, is had, is said", re.compile(r"\b(?:is|are|was|were|be|been) (?:told|had|said)\b")),
    Idiom("goes on", re.compile(r"\b(?:go|goes|went|going) on\b")),
    Idiom("nobody, somebody, whoever", re.compile(r"\b(?:nobody|somebody|who(?:m)?ever)\b", re.IGNORECASE)),
    Idiom("so many, so long as", re.compile(r"\bso (?:many|long as|few|much as)\b(?! that)", re.IGNORECASE)),
    Idiom("..., too", re.compile(r", too\b")),
)


@dataclass(frozen=True)
class Hit:
    """One place where an idiom stands."""

    path: Path
    words: str


def prose_of_page(page: str) -> str:
    """Return a Markdown page without its code."""
    return re.sub(r"`[^`\n]*`", "x", re.sub(r"(?s)```.*?```|<!--.*?-->", "", page))


def prose_of_module(source: str) -> list[str]:
    """Return three texts: a module's docstrings, the sentences in its other strings, and its comments."""
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    docstrings = [str(node.value) for node in strings if id(node) in documented]
    messages = [
        str(node.value) for node in strings if id(node) not in documented and str(node.value).count(" ") > 2
    ]
    comments = re.findall(r"(?m)(?:^|\s)# (.*)$", source)
    return [
        "\n".join(re.sub(r"``[^`]*``", "x", text) for text in kind)
        for kind in (docstrings, messages, comments)
    ]


def texts(root: Path = ROOT) -> dict[str, dict[Path, str]]:
    """Return the prose of the project by kind and file."""
    pages = [*root.glob("*.md"), *root.glob("changes/*.md"), *sorted((root / "docs").rglob("*.md"))]
    found: dict[str, dict[Path, str]] = {
        "pages": {path: prose_of_page(path.read_text()) for path in pages},
        "docstrings": {},
        "help and messages": {},
        "comments": {},
    }
    for path in sorted((root / "src").rglob("*.py")):
        parts = prose_of_module(path.read_text())
        for kind, prose in zip(("docstrings", "help and messages", "comments"), parts, strict=True):
            found[kind][path] = prose
    return found


def hits(prose: Mapping[Path, str], idiom: Idiom) -> Iterator[Hit]:
    """Yield each place of an idiom with the words around it."""
    for path, text in prose.items():
        for match in idiom.pattern.finditer(text):
            yield Hit(path, " ".join(text[max(0, match.start() - 30) : match.end() + 50].split()))


def words_in(prose: Mapping[Path, str]) -> int:
    """Return the number of words, at least one."""
    return sum(len(text.split()) for text in prose.values()) or 1


def main() -> None:
    """Print the figures by kind of text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", action="store_true", help="also print each place")
    show_lines = parser.parse_args().lines
    for kind, prose in texts().items():
        total = words_in(prose)
        print(f"{kind}: {total:,} words")
        for idiom in IDIOMS:
            places = list(hits(prose, idiom))
            rate = 10_000 * len(places) / total
            print(f"  {idiom.name:28} {len(places):6} {rate:8.1f}  at most {idiom.limit:g}")
            for place in places if show_lines else ():
                print(f"      {place.path.relative_to(ROOT)}: {place.words}")


if __name__ == "__main__":
    main()
