"""Forms: what a browser would send (HTML standard, "constructing the entry list")."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from gossamer.parse.selectors import Selector

_UNSENT = frozenset({"submit", "image", "button", "reset", "file"})
_FIELDS = "input, select, textarea, button"
MAX_FIELDS = 1000


class PageForm(NamedTuple):
    """One form of a page, with what is filled in already."""

    action: str  # as written; empty: the page itself
    method: str  # ``GET`` or ``POST``
    fields: list[tuple[str, str]]  # names and values, in their order
    asks_password: bool


def read_forms(root: Selector, css: str = "form") -> list[PageForm]:
    """The forms of a page that match ``css``, or that hold what does."""
    forms = root.css(css)
    if not forms and css != "form":
        return []
    return [_read_form(root, form) for form in forms if _tag_of(form) == "form"]


def choose_form(forms: list[PageForm], names: Collection[str]) -> PageForm | None:
    """The form that a person would fill in: the one that has most of the fields, of equals the first.

    If some ask for a password, and a field of no form decides, it is the first of those.
    """
    wanted = set(names)
    return max(
        forms,
        key=lambda form: (len(wanted & {name for name, _ in form.fields}), form.asks_password),
        default=None,
    )


def _read_form(root: Selector, form: Selector) -> PageForm:
    attributes = form.attrib
    method = attributes.get("method", "").strip().upper()
    fields: list[tuple[str, str]] = []
    asks_password = has_button = False
    for field in _fields_of(root, form, attributes.get("id", "")):
        said = field.attrib
        kind = said.get("type", "").strip().lower()
        asks_password = asks_password or kind == "password"
        name = said.get("name", "")
        if not name or "disabled" in said or len(fields) >= MAX_FIELDS:
            continue
        tag = _tag_of(field)
        if _is_submit(tag, kind):
            if not has_button:  # what is sent by the Enter key
                has_button = True
                fields.append((name, said.get("value", "")))
        elif tag == "select":
            fields += [(name, value) for value in _selected_in(field, is_multiple="multiple" in said)]
        elif tag == "textarea":
            fields.append((name, "".join(field.css("::text").getall()).removeprefix("\n")))
        elif kind in ("checkbox", "radio"):
            if "checked" in said:
                fields.append((name, said.get("value", "on")))
        elif tag == "input" and kind not in _UNSENT:
            fields.append((name, said.get("value", "")))
    return PageForm(
        attributes.get("action", ""), "POST" if method == "POST" else "GET", fields, asks_password
    )


def _fields_of(root: Selector, form: Selector, form_id: str) -> Iterator[Selector]:
    """The fields in a form, and those elsewhere that name it; not those in it that name another."""
    yield from (field for field in form.css(_FIELDS) if field.attrib.get("form", form_id) == form_id)
    if form_id:
        inside = {id(field.root) for field in form.css("[form]")}
        for field in root.css("[form]"):
            is_field = _tag_of(field) in ("input", "select", "textarea", "button")
            if is_field and field.attrib["form"] == form_id and id(field.root) not in inside:
                yield field


def _selected_in(field: Selector, *, is_multiple: bool) -> list[str]:
    """What is chosen in a list; without a choice it is the first option, where only one may be."""
    options = [option for option in field.css("option") if "disabled" not in option.attrib]
    chosen = [option for option in options if "selected" in option.attrib]
    if not is_multiple:
        chosen = chosen[-1:] or options[:1]
    return [option.attrib.get("value", "".join(option.css("::text").getall()).strip()) for option in chosen]


def _is_submit(tag: str, kind: str) -> bool:
    return kind == "submit" if tag == "input" else tag == "button" and kind in ("", "submit")


def _tag_of(selector: Selector) -> str:
    return str(selector.xpath("name()").get("")).lower()
