"""Read a spider in TOML; errors name the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from gossamer.config.names import canonical_name, is_section, suggest_name
from gossamer.config.settings import find_field
from gossamer.core.errors import UsageError
from gossamer.items.item import Item
from gossamer.spiders.declarative.document import SpiderDocument
from gossamer.spiders.declarative.fields import read_default
from gossamer.spiders.query import compile_query
from gossamer.spiders.spider import Spider

MOST_PROBLEMS = 10
"""Problems of one file that are listed."""

_WORDS = frozenset({"document", "item_classes", "paginates", "source_file"})
"""Attributes of a spider in TOML beyond those of every spider."""

_SAYINGS = {
    "missing": "missing",
    "too_short": "it must not be empty",
    "string_type": "it must be a text in quotes",
    "int_type": "it must be a whole number",
    "bool_type": "it must be true or false",
    "list_type": "it must be a list",
    "dict_type": 'it must be a table: { name = "..." }',
    "model_type": 'it must be a table: { name = "..." }',
}
"""Messages in terms of TOML, by pydantic's error types."""

KeyPlace = tuple[str | int, ...]
"""The keys that lead to a place in the file."""
_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\[\]]+?)\s*\]\]?\s*(#.*)?")
_KEY = re.compile(r"""\s*(?P<name>(?:[\w-]+|"[^"]*")(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")


def read_document(path: Path) -> SpiderDocument:
    """The spider of a file. Raises ``UsageError`` with all that is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    if path.name == "gossamer.toml":
        raise UsageError(
            f"{path} has the settings of a project; a spider is a file of its own, in the folder spiders/"
        )
    return parse_document(text, content, str(path))


def parse_document(text: str, content: dict[str, Any], name: str) -> SpiderDocument:
    """Return the spider in a parsed text; ``name`` is the file's name in errors."""
    try:
        document = SpiderDocument.model_validate(content)
    except ValidationError as error:
        found = [
            (problem["loc"], _describe_problem(problem))
            for problem in error.errors(include_url=False, include_context=False)
        ]
    else:
        found = [*_find_loose_ends(document)]
        if not found:
            return document
    lines = [_format_problem(name, text, place, message) for place, message in found[:MOST_PROBLEMS]]
    raise UsageError("\n".join(dict.fromkeys(lines)))


def _format_problem(name: str, text: str, place: KeyPlace, message: str) -> str:
    line = find_line(text, place)
    where = f"{name}, line {line}" if line else name
    return f"{where}: {_spell_place(place)}{message}"


def _spell_place(place: KeyPlace) -> str:
    spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    return f"{spelled}: " if spelled else ""


# --------------------------------------------------------------------------- errors


def _describe_problem(problem: Any) -> str:
    kind, message = problem["type"], str(problem["msg"]).removeprefix("Value error, ")
    if kind == "extra_forbidden":
        *around, wrong = problem["loc"]
        model = _model_at(around)
        known = [*model.model_fields] if model else []
        return f"unknown key{_suggest(str(wrong), known)}"
    if kind in _SAYINGS:
        return _SAYINGS[kind]
    return message.removeprefix("Input ").replace("should be a valid", "must be a")


def _suggest(wrong: str, known: Sequence[str]) -> str:
    """Return the nearest name, and all allowed ones."""
    close = get_close_matches(wrong, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (allowed: {', '.join(known) or 'none'})"


def _model_at(place: Sequence[str | int]) -> type[BaseModel] | None:
    """Return the part of the document whose key is at a place."""
    annotation: Any = SpiderDocument
    for part in place:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field else None
        else:
            annotation = next(reversed(get_args(annotation)), None)
        annotation = _bare_type(annotation)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _bare_type(annotation: Any) -> Any:
    """Return the type without annotations and without ``None``."""
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return parts[0] if type(None) in get_args(annotation) and parts else annotation


def _find_loose_ends(document: SpiderDocument) -> Iterator[tuple[KeyPlace, str]]:
    """Yield unknown names, and names that are taken."""
    pages = [*document.pages]
    if document.start is not None and document.start not in pages:
        yield ("start",), f"unknown page type {document.start!r}{_suggest(document.start, pages)}"
    for name in pages:
        if (hasattr(Spider, name) and name != "parse") or name in _WORDS:
            yield ("pages", name), f"{name!r} is a word of every spider; give the page type another name"
        yield from _find_page_ends(document, name)
    for name in document.items:
        yield from _find_item_ends(document, name)
    yield from _find_unknown_settings(document.settings, ())


def _find_page_ends(document: SpiderDocument, name: str) -> Iterator[tuple[KeyPlace, str]]:
    pages, items, page = [*document.pages], [*document.items], document.pages[name]
    for number, follow in enumerate(page.follow):
        if follow.page is not None and follow.page not in pages:
            place = ("pages", name, "follow", number, "page")
            yield place, f"unknown page type {follow.page!r}{_suggest(follow.page, pages)}"
    for number, use in enumerate(page.items):
        if use.type not in items:
            place = ("pages", name, "items", number, "type")
            yield place, f"unknown item type {use.type!r}{_suggest(use.type, items)}"
        elif use.each is not None and (lost := _find_lost_field(document, use.type, use.each)):
            where = ("items", use.type, "fields", lost)
            yield where, f"it finds nothing in a block of {use.each!r}: one is JSON, and the other one is not"


def _find_lost_field(document: SpiderDocument, kind: str, each: str) -> str | None:
    """A field none of whose selectors can be asked of a block: of JSON, or of a page."""
    is_json = compile_query(each).kind == "json"
    return next(
        (
            name
            for name, field in document.items[kind].fields.items()
            if field.select and all((compile_query(text).kind == "json") != is_json for text in field.select)
        ),
        None,
    )


def _find_item_ends(document: SpiderDocument, name: str) -> Iterator[tuple[KeyPlace, str]]:
    item = document.items[name]
    fields = [*item.fields]
    for wanted in item.key:
        if wanted not in fields:
            yield ("items", name, "key"), f"unknown field {wanted!r}{_suggest(wanted, fields)}"
    for own, field in item.fields.items():
        place = ("items", name, "fields", own)
        if hasattr(Item, own):
            yield place, f"{own!r} is a word of every item; give the field another name"
        if (field.select is None) == (field.page is None):
            yield place, "say where the value is: either select, or page"
        try:
            read_default(field)
        except ValueError as error:
            yield (*place, "default"), str(error)


def _find_unknown_settings(
    values: Mapping[str, Any], around: tuple[str, ...]
) -> Iterator[tuple[KeyPlace, str]]:
    """Settings that are none; their values are checked with those of all other layers."""
    for own, value in values.items():
        name = canonical_name(".".join((*around, own)))
        if is_section(name) and isinstance(value, Mapping):
            yield from _find_unknown_settings(value, (*around, own))
        elif not is_section(name) and find_field(name) is None:
            yield ("settings", *around, own), f"unknown setting{suggest_name(name)}"


# --------------------------------------------------------------------------- where it is


def find_line(text: str, place: KeyPlace) -> int | None:
    """Return the line of a place in the file, or of its surroundings; ``None`` if neither is found.

    tomllib does not say where anything was; keys are looked for as they are usually written.
    """
    names = tuple(str(part) for part in place if not isinstance(part, int))
    best, line_of_best = 0, None
    for number, line, keys, numbered in _walk_lines(text):
        if keys[: len(names)] == names and len(keys) > len(names) and best < 1:
            best, line_of_best = 1, number  # the first line of a table that has no line of its own
        if names[: len(keys)] != keys or not _has_numbers(place, numbered):
            continue
        is_within = _mentions(line, names[len(keys) :])
        if not is_within and not (_HEADER.fullmatch(line) or _KEY.match(line)):
            continue
        depth = 2 * len(keys) + is_within
        if depth > best:
            best, line_of_best = depth, number
    return line_of_best


def _walk_lines(text: str) -> Iterator[tuple[int, str, tuple[str, ...], dict[tuple[str, ...], int]]]:
    """Each line with its number, the keys that it is under, and to which elements of lists it belongs."""
    table: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    numbered: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            table = keys = _split_name(header["name"])
            if line.lstrip().startswith("[["):
                numbered[keys] = numbered.get(keys, -1) + 1
        elif key := _KEY.match(line):
            keys = (*table, *_split_name(key["name"]))
            numbered.pop(keys, None)
        elif line.lstrip().startswith("{"):  # an element of a list of tables, each in a line of its own
            numbered[keys] = numbered.get(keys, -1) + 1
        yield number, line, keys, dict(numbered)


def _has_numbers(place: KeyPlace, numbered: Mapping[tuple[str, ...], int]) -> bool:
    """Whether the elements that a line belongs to are those that a place names."""
    names: tuple[str, ...] = ()
    for part in place:
        if isinstance(part, int):
            if numbered.get(names, part) != part:
                return False
        else:
            names = (*names, part)
    return True


def _mentions(line: str, names: Sequence[str]) -> bool:
    """Whether the last of some keys is set within a line: in a table in braces."""
    return bool(names) and re.search(rf"[{{,]\s*{re.escape(names[-1])}\s*=", line) is not None


def _split_name(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip('"') for part in re.split(r"\s*\.\s*", text))
