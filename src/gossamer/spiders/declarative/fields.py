"""Convert the results of selectors into values of fields.

An unreadable value stays text: the pipeline then drops the item and names the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pydantic import TypeAdapter, ValidationError, create_model

from gossamer.items.helpers import parse_date, parse_number, parse_price, parse_quantity, squeeze
from gossamer.items.item import FileRef, Item, key
from gossamer.parse.selectors import Selector
from gossamer.spiders.declarative.document import FieldDocument, ItemDocument
from gossamer.spiders.query import PageQuery, compile_query, text_of
from gossamer.spiders.response import Response

_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "decimal": Decimal,
    "price": Decimal,
    "date": date,
    "datetime": datetime,
    "bool": bool,
    "url": str,
    "file": FileRef,
    "html": str,
    "json": Any,
}
_FALSE = frozenset({"", "0", "false", "no", "off", "none", "null", "n", "nein", "non"})
_CLEANERS: Mapping[str, Callable[[str], str]] = {
    "squeeze": squeeze,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
}


def make_item_class(name: str, document: ItemDocument, module: str) -> type[Item]:
    """The class of a type of items. Raises ``ValueError`` for fields that cannot be."""
    fields: dict[str, Any] = {}
    for own, field in document.fields.items():
        annotation = _annotation_of(field)
        is_free = field.optional or field.default is not None
        default = read_default(field) if is_free else ...
        if field.optional:
            annotation |= None
        if own in document.key:
            fields[own] = (annotation, key(default) if is_free else key())
        else:
            fields[own] = (annotation, default)
    made: type[Item] = create_model(name, __base__=Item, __module__=module, **fields)
    return made


def _annotation_of(field: FieldDocument) -> Any:
    """The type of a field's values."""
    annotation = _TYPES[field.kind]
    return list[annotation] if field.is_list else annotation  # type: ignore[valid-type]


def read_default(field: FieldDocument) -> Any:
    """The value of a field where there is none, in its type. Raises ``ValueError`` if it does not fit."""
    if field.default is None:
        return None
    try:
        return TypeAdapter(_annotation_of(field)).validate_python(field.default)
    except ValidationError:
        raise ValueError(f"{field.default!r} is not of the type of the field, {field.type}") from None


def read_fields(source: Any, fields: Mapping[str, FieldDocument], response: Response) -> dict[str, Any]:
    """Read the values of an item from a response, a block of it, or a value of its JSON.

    Missing fields are omitted.
    """
    values: dict[str, Any] = {}
    parsed: list[Any] = []  # the page's JSON, once
    for name, field in fields.items():
        found = _find_values(source, field, response, parsed)
        read = [value for one in found if (value := _read_value(one, field, response)) is not None]
        if field.is_list:
            if read or not (field.optional or field.default is not None):
                values[name] = read
        elif field.kind == "bool":
            values[name] = bool(read and read[0]) if found or field.default is None else field.default
        elif read:
            values[name] = read[0]
    return values


def _find_values(source: Any, field: FieldDocument, response: Response, parsed: list[Any]) -> list[Any]:
    """Return the results of the first of a field's selectors that finds anything."""
    if field.page is not None:
        return [_page_value(response, field.page)]
    for text in field.select or ():
        query = compile_query(text)
        if source is not response and (query.kind == "json") == isinstance(source, Selector):
            continue  # a block of a page has no JSON, and a value of JSON no elements
        where = source
        if query.kind == "json" and source is response:
            if not parsed:
                parsed.append(query.document_of(response))
            where = parsed[0]
        if found := _take_apart(query, query.find_in(where), is_list=field.is_list):
            return found
    return []


def _take_apart(query: PageQuery, found: list[Any], *, is_list: bool) -> list[Any]:
    """A list in JSON is its elements, for a field that is a list."""
    if query.kind == "json" and is_list and len(found) == 1 and isinstance(found[0], list):
        return found[0]
    return found


def _page_value(response: Response, what: str) -> Any:
    if what == "url":
        return response.url
    page = response.page
    if what == "text":
        return page.main_text()
    return page.title if what == "title" else page.description


# --------------------------------------------------------------------------- one value


def _read_value(found: Any, field: FieldDocument, response: Response) -> Any:
    """One value of a field; ``None``: there is none."""
    kind = field.kind
    if kind == "html":
        return found.get() if isinstance(found, Selector) else str(found)
    if not isinstance(found, Selector | str):  # JSON has values of its own
        if kind == "json" or isinstance(found, dict | list) or (isinstance(found, bool) and kind == "bool"):
            return found
        if isinstance(found, int | float) and not isinstance(found, bool) and kind not in ("str", "url"):
            return Decimal(str(found)) if kind in ("decimal", "price") else found
        found = str(found)
    text = _text_in(found, kind)
    is_element = isinstance(found, Selector) and not isinstance(found.root, str)
    if field.re is not None:
        match = re.search(field.re, text)
        if match is None:
            return None
        text = (match[1] if match.re.groups else match[0]) or ""
    for name in field.clean:
        text = _CLEANERS[name](text)
    text = text.strip()
    if kind == "bool":
        return (not text and is_element) or text.lower() not in _FALSE
    return _READERS.get(kind, _read_text)(text, field, response) if text else None


def _text_in(found: Any, kind: str) -> str:
    """A text as it is; of an element its text in one line, or where it leads."""
    if not isinstance(found, Selector):
        return str(found)
    if isinstance(found.root, str):
        return found.root
    if kind in ("url", "file"):
        attributes = found.attrib
        place = attributes.get("href") or attributes.get("src") or attributes.get("content")
        if place:
            return place
    return squeeze(text_of(found))


def _read_text(text: str, field: FieldDocument, response: Response) -> Any:
    return text


def _read_url(text: str, field: FieldDocument, response: Response) -> Any:
    try:
        return response.urljoin(text)
    except ValueError:
        return None


def _read_number(text: str, field: FieldDocument, response: Response) -> Any:
    number = parse_quantity(text, field.unit) if field.unit else parse_number(text, field.decimal_mark)
    if number is None:
        return text
    if field.kind == "float":
        return float(number)
    if field.kind == "int":
        return int(number) if number == number.to_integral_value() else text
    return number


def _read_price(text: str, field: FieldDocument, response: Response) -> Any:
    price = parse_price(text)
    return text if price is None else price.amount


def _read_date(text: str, field: FieldDocument, response: Response) -> Any:
    """By the format, else as ISO 8601 has it, else as people write it (extra ``clean``)."""
    found: datetime | None = None
    try:
        found = datetime.strptime(text, field.format) if field.format else datetime.fromisoformat(text)
    except ValueError:
        if not field.format:
            found = parse_date(text)
    if found is None:
        return text
    return found.date() if field.kind == "date" else found


_READERS: Mapping[str, Callable[[str, FieldDocument, Response], Any]] = {
    "url": _read_url,
    "file": _read_url,
    **dict.fromkeys(("int", "float", "decimal"), _read_number),
    "price": _read_price,
    **dict.fromkeys(("date", "datetime"), _read_date),
}
